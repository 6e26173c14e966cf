"""Observability shared by nodes and consumer services: pages over HTTP, histograms."""
