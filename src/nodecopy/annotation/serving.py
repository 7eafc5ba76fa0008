"""A server in the background, on the loopback address, with a token that nobody can guess."""

from __future__ import annotations

import secrets
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn

from nodecopy.annotation.server import create_app
from nodecopy.annotation.session import Session
from nodecopy.errors import InputError, RunError

ADDRESS = "127.0.0.1"
_PATIENCE = 30.0  # seconds to start, and to stop


class Served:
    """A session, served as long as the block lasts.

    Args:
        session: what the page talks to.
        port: to listen on; 0 takes any that is free.

    Attributes:
        url: the address of the page, token included.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        self._socket = _listening(port)
        self.port = int(self._socket.getsockname()[1])
        token = secrets.token_urlsafe(24)
        self.url = f"http://{ADDRESS}:{self.port}/{token}/"
        config = uvicorn.Config(
            create_app(session, token, self.port),
            access_log=False,
            http="h11",
            lifespan="off",
            log_config=None,
            log_level="error",
            loop="asyncio",
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        # Connections that come before the server accepts them wait in the socket.
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
    except OverflowError:
        listener.close()
        raise InputError(f"--port must be from 0 to 65535; got {port}") from None
    except OSError as error:
        listener.close()
        raise RunError(f"cannot listen on port {port}: {error}; --port 0 takes any") from error
    return listener
