"""This process: memory, garbage collection, file descriptors."""
