"""Connections to nodes: the wire, channels, the network client, metadata, coordinators and bootstrap servers."""
