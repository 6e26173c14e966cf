"""Dispatch of requests: the registry, the context of a request, services, error responses, forwarding."""
