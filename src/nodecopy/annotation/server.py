"""The page's server: a few addresses behind a token, for this machine and this page alone.

Whoever is on the machine could reach it, and so could any page in the same browser. So every
address begins with a random token; the Host must be the loopback address, which a name that
somebody else owns is not; and a request that another site made is refused.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from nodecopy.annotation.page import label_page, page_policy
from nodecopy.annotation.session import Session
from nodecopy.errors import InputError, NodecopyError, RunError
from nodecopy.report.labelled.folder import REPORT

_LARGEST = 64 * 1024  # bytes of a request
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


def create_app(session: Session, token: str, port: int) -> ASGIApp:
    """Return the application.

    Args:
        session: what the page talks to.
        token: what every address begins with.
        port: that the server listens on.
    """
    routes = [
        Route(f"/{token}/", _page),
        Route(f"/{token}/report", _report(session)),
        Route(f"/{token}/api/state", _state(session)),
        Route(f"/{token}/api/node", _node(session)),
        Route(f"/{token}/api/search", _search(session)),
    ]
    changes: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "answer": lambda body: _answer(session, body),
        "undo": lambda body: _undo(session),
        "class": lambda body: {"added": session.add_class(_text(body, "name"))},
        "finish": lambda body: _finish(session),
    }
    routes += [
        Route(f"/{token}/api/{name}", _change(session, change), methods=["POST"])
        for name, change in changes.items()
    ]
    return _Guard(Starlette(routes=routes), token, port)


class _Guard:
    """Refuses what does not come from the page, and says how answers are to be treated."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(Request(scope))

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                held = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in _HEADERS.items()
                    if name.lower().encode() not in held
                ]
            await send(message)

        answer = self._app if refusal is None else PlainTextResponse(refusal, 403)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> str | None:
        """Return why a request is refused; None where it is not."""
        if request.headers.getlist("host") not in [[host] for host in self._hosts]:
            return _OTHER_HOST
        _, given, *rest = [*request.url.path.split("/"), ""]
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return _NO_TOKEN
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._origins:
            return _OTHER_SITE
        site = request.headers.get("sec-fetch-site", "same-origin")
        # A link to the page may stand anywhere; it leads a person here, and changes nothing.
        opened = request.headers.get("sec-fetch-dest") == "document" and rest[:1] == [""]
        if site != "same-origin" and not (opened and request.method == "GET"):
            return _OTHER_SITE
        return None


def _page(request: Request) -> Response:
    return Response(
        label_page(), media_type="text/html", headers={"Content-Security-Policy": page_policy()}
    )


def _report(session: Session) -> Callable[[Request], Response]:
    def report(request: Request) -> Response:
        file = session.folder / REPORT
        if not file.is_file():
            return PlainTextResponse("There is no report yet: finish first.\n", 404)
        return FileResponse(file, headers={"Content-Security-Policy": "frame-ancestors 'none'"})

    return report


def _state(session: Session) -> Callable[[Request], Response]:
    def state(request: Request) -> Response:
        session.refresh()
        if request.query_params.get("stamp") == str(session.stamp):
            return Response(status_code=204)
        return JSONResponse(session.state())

    return state


def _node(session: Session) -> Callable[[Request], Response]:
    def node(request: Request) -> Response:
        return _told(lambda: session.view(request.query_params.get("id", "")))

    return node


def _search(session: Session) -> Callable[[Request], Response]:
    def search(request: Request) -> Response:
        return JSONResponse({"ids": session.search(request.query_params.get("q", ""))})

    return search


def _change(
    session: Session, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a request that changes something: then the state, and the next node."""
    from starlette.concurrency import run_in_threadpool

    def changed(body: dict[str, Any]) -> dict[str, Any]:
        said = change(body)
        state = session.state()
        following = said.get("ask") or next(iter(state["next"]), None)
        view = None if following is None else session.view(following)
        return {**said, "state": state, "view": view}

    async def respond(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "a request must be JSON"}, 415)
        raw = b""
        async for part in request.stream():
            raw += part
            if len(raw) > _LARGEST:
                return JSONResponse({"error": "the request is too large"}, 413)
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return JSONResponse({"error": "a request must be a JSON object"}, 400)
        return await run_in_threadpool(_told, lambda: changed(body))

    return respond


def _told(work: Callable[[], dict[str, Any]]) -> Response:
    """Return what was found as JSON, or in one line why it was not."""
    try:
        return JSONResponse(work())
    except NodecopyError as error:
        return JSONResponse({"error": str(error)}, 500 if isinstance(error, RunError) else 409)


def _answer(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    id, do = _text(body, "id"), _text(body, "do")
    if do == "label":
        seen = None if body.get("seen") is None else _text(body, "seen")
        session.label(id, _text(body, "label"), seen)
    else:
        session.put_aside(id, do)
    return {}


def _undo(session: Session) -> dict[str, Any]:
    undone = session.undo()
    if undone is None:
        raise InputError("there is nothing to undo")
    return {"ask": undone[0], "note": undone[1]}


def _finish(session: Session) -> dict[str, Any]:
    """Begin to write the folder; the state says when it is done."""
    if session.state()["finish"]["state"] != "writing":
        threading.Thread(target=_write, args=(session,), name="finish").start()
    return {}


def _write(session: Session) -> None:
    try:
        session.finish()
    except NodecopyError:
        return  # the state says why


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InputError(f"a request needs the text {name}")
    return value
