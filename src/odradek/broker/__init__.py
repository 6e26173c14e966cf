"""A broker's conversation with the controllers, as cores without clock, sockets or files."""
