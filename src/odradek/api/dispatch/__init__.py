"""What runs a handler: the registry, the context of a request, the services it may use, error responses, forwarding."""
