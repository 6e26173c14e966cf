"""Shared parts of commands: options, connections, output, errors, completion."""
