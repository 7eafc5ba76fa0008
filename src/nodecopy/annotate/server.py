"""The labelling page and its server, for this machine and this page alone.

Whoever is on the machine could reach it, and so could any page in the same browser. So every
address begins with a random token; the Host must be the loopback address, which a name that
somebody else owns is not; and a request that another site made is refused. Connections that ask for
nothing are closed, the oldest first, so that they cannot keep the page out.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import threading
from contextlib import suppress
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nodecopy.annotate.session import Session
from nodecopy.core.errors import InputError, NodecopyError, RunError
from nodecopy.report.page import asset, drawing_libraries, filled, policy
from nodecopy.run.folder import REPORT, incomplete_run

ADDRESS = "127.0.0.1"
_STOP_SECONDS = 30.0
_MAX_BODY = 2**20
# Connections at a time, and seconds until one has sent a request: a browser takes six, and less.
_CONNECTIONS, _REQUEST_SECONDS = 100, 10.0
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NO_TOKEN = "Open the address that nodecopy label printed: this one lacks its token.\n"
_OTHER_HOST = "This server answers on the loopback address alone.\n"
_OTHER_SITE = "Requests of other sites are refused.\n"
_REDIRECT = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}"><title>Label nodes</title>
<a href="{url}">Label nodes</a>
"""
_SHARED = (
    *("text", "packed", "marks", "charts", "plain_table"),
    *("waterfall", "neighbourhood", "node", "theme"),
    *("map_discs", "map_view", "map_colours", "map"),
)
_OWN = ("question", "question_map", "progress", "dialogs", "label")


class Served:
    """A session, served as long as the block lasts.

    Args:
        session: what the page talks to.
        port: to listen on; 0 takes any that is free.

    Attributes:
        url: the address of the page, token included.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        try:
            self._socket = socket.create_server((ADDRESS, port))
        except OSError as error:
            raise InputError(
                f"cannot listen on port {port}: {error}; --port 0 takes any"
            ) from error
        self.port = int(self._socket.getsockname()[1])
        token = secrets.token_urlsafe(24)
        self.url = f"http://{ADDRESS}:{self.port}/{token}/"
        self._redirect = session.folder / ".label.html"
        config = uvicorn.Config(
            create_app(session, token, self.port),
            access_log=False,
            backlog=_CONNECTIONS // 2,  # so many are accepted before the first is looked at
            http=_Connection,
            lifespan="off",
            log_config=None,
            log_level="error",
            loop="asyncio",
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="none",
        )
        self._server = uvicorn.Server(config)
        sockets = {"sockets": [self._socket]}
        self._thread = threading.Thread(target=self._server.run, kwargs=sockets, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()  # connections that come earlier wait in the socket
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(_STOP_SECONDS)
        self._socket.close()
        self._redirect.unlink(missing_ok=True)

    def redirect(self) -> str:
        """Return the address of a file that leads to the page, for the command line of a browser.

        Everybody on the machine can see that, so the token must not be in it; the file is readable
        by its owner alone, and removed in the end.
        """
        self._redirect.unlink(missing_ok=True)  # of a server that was killed
        handle = os.open(self._redirect, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(_REDIRECT.format(url=escape(self.url)))
        return self._redirect.absolute().as_uri()


def create_app(session: Session, token: str, port: int) -> ASGIApp:
    """Return the application.

    Args:
        session: what the page talks to.
        token: what every address begins with.
        port: that the server listens on.
    """

    def page(request: Request) -> Response:
        html, rules = label_page()
        return HTMLResponse(html, headers={"Content-Security-Policy": rules})

    def report(request: Request) -> Response:
        file, line = session.folder / REPORT, incomplete_run(session.folder)
        if not file.is_file():
            return PlainTextResponse(f"No report yet: finish first. {line}\n", 404)
        html = file.read_text(encoding="utf-8")
        if line:
            html = html.replace("<main>", f"<main><p class='box warning'>{escape(line)}.</p>", 1)
        return HTMLResponse(html, headers={"Content-Security-Policy": "frame-ancestors 'none'"})

    def state(request: Request) -> Response:
        session.refresh()
        if request.query_params.get("stamp") == str(session.stamp):
            return JSONResponse({"doing": session.doing})
        return JSONResponse(session.state())

    def node(request: Request) -> Response:
        return JSONResponse(session.view(request.query_params.get("id", "")))

    def search(request: Request) -> Response:
        return JSONResponse({"nodes": session.search(request.query_params.get("q", ""))})

    async def change(request: Request) -> Response:
        body = await _json_body(request)
        result = await run_in_threadpool(_change, session, request.path_params["change"], body)
        return JSONResponse(result)

    routes = [
        Route("/", page),
        Route("/report", report),
        Route("/api/state", state),
        Route("/api/node", node),
        Route("/api/map", lambda request: JSONResponse(session.map())),
        Route("/api/search", search),
        Route("/api/{change}", change, methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {
        HTTPException: lambda _, error: _problem(error.status_code, error.detail),
        ClientDisconnect: lambda _, error: _problem(400, "the request broke off"),
        NodecopyError: lambda _, error: _problem(409, error),
        RunError: lambda _, error: _problem(500, error),
        Exception: lambda _, error: _problem(500, f"the server failed: {error!r}"),
    }
    app = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return _Guard(app, token, port)


@cache
def label_page() -> tuple[str, str]:
    """Return the page as HTML, and its content security policy: two scripts, and this server.

    All that the page shows comes later, as JSON, and is shown as text.
    """
    shared, library = [asset(f"assets/{name}.js") for name in _SHARED], drawing_libraries()
    script = '"use strict";\n' + "".join([*shared, *(_own(f"{name}.js") for name in _OWN)])
    style = asset("assets/page.css") + _own("label.css")
    html = filled(_own("label.html"), {"style": style, "library": library, "script": script})
    return html, f"{policy(library, script)}; connect-src 'self'; frame-ancestors 'none'"


class _Connection(H11Protocol):
    """A connection that is closed if it asks for nothing, at the latest when others need room."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        self.loop.call_later(_REQUEST_SECONDS, self._close_unless_asked)
        idle = [one for one in self.connections if isinstance(one, _Connection) and one.idle]
        if len(self.connections) > _CONNECTIONS and idle:
            oldest = min(idle, key=lambda one: (one.scope is not None, one.since))
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _close_unless_asked(self) -> None:
        if self.scope is None:
            self.transport.abort()


class _Guard:
    """Refuses what does not come from the page, and adds headers to every response."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                held = {name for name, _ in message["headers"]}
                headers = [(k.lower().encode(), v.encode()) for k, v in _HEADERS.items()]
                message["headers"] += [pair for pair in headers if pair[0] not in held]
            await send(message)

        refusal = self._refusal(Request(scope))
        closing = {"Connection": "close"}
        app = self._app if refusal is None else PlainTextResponse(refusal, 403, closing)
        await app(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> str | None:
        """Return why a request is refused; None where it is not."""
        if request.headers.getlist("host") not in [[host] for host in self._hosts]:
            return _OTHER_HOST
        given, _, path = request.url.path[1:].partition("/")
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return _NO_TOKEN
        if request.headers.get("origin") not in (None, *self._origins):
            return _OTHER_SITE
        # A link, or an address typed in a new tab, leads a person here and changes nothing.
        opened = request.headers.get("sec-fetch-dest") == "document" and request.method == "GET"
        same = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return None if same or (opened and path in ("", "report")) else _OTHER_SITE


def _problem(status: int, error: object) -> Response:
    return JSONResponse({"error": str(error)}, status)


async def _json_body(request: Request) -> dict[str, Any]:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _MAX_BODY:
            raise HTTPException(413, f"a request may have {_MAX_BODY:,} bytes")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "a request must be a JSON object")
    return body


def _change(session: Session, change: str, body: dict[str, Any]) -> dict[str, Any]:
    """Do what a page asks for; return that, the state, and what is known of the next node."""
    result: dict[str, Any] = {}
    if change == "answer" and body.get("do") == "label":
        seen = None if body.get("seen") is None else _text(body, "seen")
        session.label(_text(body, "id"), _text(body, "label"), seen)
    elif change == "answer":
        session.put_aside(_text(body, "id"), _text(body, "do"))
    elif change == "undo":
        result["ask"] = session.undo()
    elif change == "class":
        result["added"] = session.add_class(_text(body, "name"))
    elif change == "finish":
        _finish(session)
    else:
        raise HTTPException(404, "there is no such address")
    state = session.state()
    following = result.get("ask") or next(iter(state["next"]), None)
    view = None if following is None else session.view(following)
    return {**result, "state": state, "view": view}


def _finish(session: Session) -> None:
    """Begin to write the folder; the state says when it is done, or why it is not."""

    def write() -> None:
        with suppress(NodecopyError):  # the state says why
            session.finish()

    if session.state()["finish"]["state"] != "writing":
        threading.Thread(target=write, name="finish").start()


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InputError(f"a request needs the string {name}")
    return value


def _own(name: str) -> str:
    return files("nodecopy.annotate").joinpath(f"assets/{name}").read_text(encoding="utf-8")
