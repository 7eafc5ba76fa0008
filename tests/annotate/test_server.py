"""The server: what the page gets, and what everybody else is refused."""

from __future__ import annotations

import http.client
import json
import resource
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from nodecopy.annotate import Session
from nodecopy.annotate.server import Served
from tests.annotate.conftest import Tables
from tests.waiting import LIMIT, wait_until

JSON = {"Content-Type": "application/json"}


class Client:
    """Asks one server, as a browser on its page does unless told otherwise."""

    def __init__(self, served: Served) -> None:
        self.port = served.port
        self.token = served.url.split("/")[3]

    def __call__(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None, token: str = ""
    ) -> tuple[int, Any, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        content = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        sent = (JSON if body is not None else {}) | (headers or {})
        verb = "GET" if body is None else "POST"
        connection.request(verb, f"/{token or self.token}/{path}", content, sent)
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        reply = json.loads(raw) if raw.startswith(b"{") else raw.decode()
        return answer.status, reply, {name.lower(): value for name, value in answer.getheaders()}


def send_raw(client: Client, *lines: str) -> bytes:
    """Send lines as they are; return the beginning of the reply."""
    with socket.create_connection(("127.0.0.1", client.port), LIMIT) as link:
        link.sendall("\r\n".join(lines).encode())
        return link.recv(100)


@pytest.fixture
def session(tables: Tables, opened: Callable[..., Session]) -> Session:
    return opened(tables.settings("given.csv"))


@pytest.fixture
def client(session: Session) -> Iterator[Client]:
    with Served(session) as served:
        yield Client(served)


def test_a_page_labels_undoes_and_finishes(client: Client, tables: Tables) -> None:
    status, page, headers = client("")
    assert status == 200
    assert "<title>Label nodes</title>" in page
    assert "script-src 'sha256-" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert wait_until(lambda: client("api/state")[1]["next"] != [])
    state = client("api/state")[1]
    assert "doing" in client(f"api/state?stamp={state['stamp']}")[1]  # alone, or with all else
    (id, *_) = state["next"]
    assert client(f"api/node?id={id}")[1]["id"] == id
    answer = {"do": "label", "id": id, "label": tables.truth[id], "seen": None}
    status, content, _ = client("api/answer", answer)
    assert status == 200
    assert content["state"]["labels"] == 10
    assert content["view"]["id"] == content["state"]["next"][0] != id
    assert tables.labels()[id] == tables.truth[id]
    assert client("api/undo", {})[1]["view"]["id"] == id
    assert id not in tables.labels()
    status, content, _ = client("api/undo", {})
    assert (status, "nothing to undo" in content["error"]) == (409, True)
    assert client("api/class", {"name": "dogwood"})[1]["added"] == "dogwood"
    assert client("api/search?q=p0")[1]["nodes"][0] == ["p00", "p00"]
    assert client("report")[0] == 404
    assert client("api/finish", {})[0] == 200
    assert wait_until(lambda: client("api/state")[1]["finish"]["state"] == "written")
    assert "Node labels" in client("report")[1]
    assert "manifest.json" not in client("report")[1]
    (tables.run / "manifest.json").unlink()
    assert "manifest.json is missing" in client("report")[1]
    assert client("api/answer", answer)[0] == 200
    assert tables.labels()[id] == tables.truth[id]


def test_without_the_token_there_is_nothing(client: Client) -> None:
    for token in ("x" * 32, client.token[:-1], client.token + "x", "."):
        for path in ("", "api/state", "report", "favicon.ico"):
            status, text, _ = client(path, token=token)
            assert (status, "lacks its token" in text) == (403, True)
    status, _, _ = client("api/answer", {"do": "skip", "id": "p00"}, token="x" * 32)
    assert status == 403
    assert client("nothing")[0] == 404


def test_another_host_is_refused(client: Client) -> None:
    for host in ("evil.example", f"evil.example:{client.port}", "127.0.0.1", "127.0.0.1:1", ""):
        status, text, _ = client("api/state", headers={"Host": host})
        assert (status, "loopback address alone" in text) == (403, True)
    assert client("api/state", headers={"Host": f"localhost:{client.port}"})[0] == 200


def test_two_hosts_are_refused(client: Client) -> None:
    hosts = f"Host: 127.0.0.1:{client.port}", "Host: evil.example"
    reply = send_raw(client, f"GET /{client.token}/ HTTP/1.1", *hosts, "Connection: close", "\r\n")
    assert reply.split()[1] in (b"400", b"403")


OTHER_SITES = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"},
]


def test_requests_of_other_sites_are_refused(client: Client, tables: Tables) -> None:
    before = tables.labels()
    answer = {"do": "label", "id": "p50", "label": "ash", "seen": None}
    for headers in OTHER_SITES:
        status, text, _ = client("api/answer", answer, headers)
        assert (status, "other sites" in text) == (403, True), headers
        assert client("api/state", headers=headers)[0] == 403, headers
    assert tables.labels() == before


BAD_REQUESTS: list[tuple[Any, int, str]] = [
    ("{", 400, "must be a JSON object"),
    ("[" * 60_000, 400, "must be a JSON object"),
    (b"\xff", 400, "must be a JSON object"),
    ("{}", 409, "needs the string id"),
    ({"id": "p50", "do": "burn"}, 409, "an answer is"),
    ({"id": "p50", "do": "label", "label": ["ash"]}, 409, "needs the string label"),
    ({"id": "nobody", "do": "skip"}, 409, "no node has the id 'nobody'"),
    ({"id": "p50", "do": "label", "label": "elm"}, 409, "unknown class 'elm'"),
]


def test_bad_requests_get_one_line(client: Client, tables: Tables) -> None:
    before = tables.labels()
    for body, status, words in BAD_REQUESTS:
        code, content, _ = client("api/answer", body)
        assert (code, words in content["error"]) == (status, True), words
    assert tables.labels() == before
    assert client("api/answer")[0] == 405


def test_an_answer_that_cannot_be_kept_is_said_and_the_page_goes_on(
    client: Client, session: Session, tables: Tables
) -> None:
    answer = {"do": "label", "id": "p50", "label": "ash", "seen": None}
    session.answers._db.execute("PRAGMA query_only = ON")
    status, content, _ = client("api/answer", answer)
    assert (status, "readonly" in content["error"]) == (500, True)
    assert "p50" not in tables.labels()
    session.answers._db.execute("PRAGMA query_only = OFF")
    assert client("api/answer", answer)[0] == 200
    assert tables.labels()["p50"] == "ash"


def test_a_fault_of_the_server_is_said_and_the_server_goes_on(
    client: Client, session: Session, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("boom")

    answer = {"do": "label", "id": "p50", "label": "ash", "seen": None}
    with monkeypatch.context() as patch:
        patch.setattr(Session, "label", fail)
        patch.setattr(Session, "view", fail)
        for reply in (client("api/answer", answer), client("api/node?id=p00")):
            assert (reply[0], "ZeroDivisionError('boom')" in reply[1]["error"]) == (500, True)
    assert client("api/answer", answer)[0] == 200
    assert tables.labels()["p50"] == "ash"


def test_idle_connections_do_not_keep_the_page_out(client: Client, capfd: Any) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    address, first = ("127.0.0.1", client.port), None
    try:
        with ExitStack() as stack:
            for number in range(1200):
                link = stack.enter_context(socket.create_connection(address, LIMIT))
                first = first or link
                if number % 2:
                    link.sendall(b"GET /")  # and no more
                if number % 200 == 0:
                    assert client("api/state")[0] == 200
            assert client("api/state")[0] == 200
            first.settimeout(10)
            with suppress(ConnectionResetError):
                assert first.recv(1) == b""  # closed to make room
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert capfd.readouterr().err == ""


def test_a_connection_that_asks_for_nothing_is_closed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodecopy.annotate.server._REQUEST_SECONDS", 0.1)
    assert send_raw(client, "GET / HTTP/1.1", "Host: ") == b""


def test_a_body_has_a_limit(client: Client, tables: Tables) -> None:
    before = tables.labels()
    status, content, _ = client("api/answer", json.dumps({"id": "x" * 2**20}))
    assert (status, "bytes" in content["error"]) == (413, True)
    assert tables.labels() == before


def test_the_command_line_of_a_browser_does_not_show_the_token(session: Session) -> None:
    with Served(session) as served:
        address = served.redirect()
        file = Path(address.removeprefix("file://"))
        assert served.url.split("/")[3] not in address
        assert served.url in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.exists()


@pytest.mark.parametrize("site", ["none", "cross-site"])  # a new tab, a link
def test_page_and_report_may_be_opened_and_no_frame_may_hold_them(
    client: Client, site: str
) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": "document"}
    status, _, page = client("", headers=headers)
    assert (status, "frame-ancestors 'none'" in page["content-security-policy"]) == (200, True)
    assert "access-control-allow-origin" not in page
    assert client("report", headers=headers)[0] == 404  # not written yet, but not refused
    for path in ("", "report"):
        assert client(path, headers=headers | {"Sec-Fetch-Dest": "iframe"})[0] == 403
    assert client("api/state", headers=headers)[0] == 403
