"""A server for the app: uvicorn, one process, stopped by SIGTERM or SIGINT after what waits is committed."""

from __future__ import annotations

import logging
import signal
import socket
from typing import TYPE_CHECKING

from fairarm.errors import OptionError
from fairarm.optional import require

if TYPE_CHECKING:
    import uvicorn

    from fairarm.service.guards import Guards

GRACE = 30
"""Seconds in which requests under way are answered after a stop was asked for."""


def run(app: Guards, at: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT: then nothing new is taken, what is under way is answered, and the call returns."""
    made = server(app)
    before = {kind: signal.signal(kind, signal.SIG_IGN) for kind in (signal.SIGTERM, signal.SIGINT)}
    try:  # uvicorn raises the signal once more at its end, for the handlers before its own: nobody is killed then
        made.run(sockets=[at])
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def server(app: Guards) -> uvicorn.Server:
    """A server that is not running yet; `run` runs one, tests run theirs in a thread."""
    require("uvicorn", "service")
    import uvicorn

    from fairarm.service.logs import ServerLines

    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [ServerLines(app.lines)], False
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=GRACE,
        backlog=1024,
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    found = None
    try:
        kind = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it the body of an answer waits 40 ms
        found = socket.socket(kind[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(kind[4])
        found.listen(1024)
    except OSError as error:
        if found is not None:
            found.close()
        text = f"--host {host} --port {port} cannot be listened at: {error.strerror or error}. Is it in use? Try another --port."
        raise OptionError(text) from None
    return found
