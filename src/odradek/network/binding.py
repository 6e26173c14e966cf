"""Bound sockets: one for each address that a host stands for."""

import asyncio
import errno
import socket

_UNKNOWN_FAMILY = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)


async def bound_sockets(
    host: str, port: int, receive_buffer_bytes: int = -1, send_buffer_bytes: int = -1
) -> list[socket.socket]:
    """Nobody listens on them yet. An empty `host` is every address; -1 leaves a buffer to the system. Raises OSError.

    Connections inherit what is set here. A receive buffer is set before a connection is made, or the window that the
    two ends agree on is too small for it.
    """
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, socket_type, protocol, _, address in dict.fromkeys(addresses):
            try:
                opened = socket.socket(family, socket_type, protocol)
            except OSError as error:
                if error.errno in _UNKNOWN_FAMILY:
                    continue
                raise
            sockets.append(opened)
            _set_options(opened, receive_buffer_bytes, send_buffer_bytes)
            # With any free port, all get the same.
            bound_port = port or (sockets[0].getsockname()[1] if len(sockets) > 1 else 0)
            opened.bind((address[0], bound_port, *address[2:]))
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, f"{host} has no address of a family that this machine knows")
    except BaseException:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def _set_options(opened: socket.socket, receive_buffer_bytes: int, send_buffer_bytes: int) -> None:
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if opened.family == socket.AF_INET6:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if receive_buffer_bytes > 0:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    if send_buffer_bytes > 0:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
