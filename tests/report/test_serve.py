"""The live page's server: who may ask for what, and how it follows a store that is being written."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from capra.errors import InputError
from capra.folder import open_store
from capra.report import serve
from capra.report.serve import Server
from capra.runs import Outcome, RunRequest, Status
from tests.report.html.runs import HOSTILE, given, named, tuned

SETTINGS = {"strategy": "roar", "engine": "simulated", "options": {}}


@contextmanager
def serving(*runs: Path) -> Iterator[Server]:
    with Server(runs) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


def ask(server: Server, path: str = "/data/0.json", method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.body = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def document(answer: http.client.HTTPResponse) -> dict[str, Any]:
    return json.loads(answer.body)  # type: ignore[attr-defined, no-any-return]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tuned(folder, budget={"runs": 60})
    return folder


@pytest.fixture(scope="module")
def server(run: Path) -> Iterator[Server]:
    with serving(run) as made:
        yield made


def test_a_page_and_its_data(server: Server) -> None:
    page = ask(server, "/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"/data/0.json" in page.body  # type: ignore[attr-defined]
    assert document(ask(server))["name"] == HOSTILE[0]


def test_every_answer_keeps_to_itself(server: Server) -> None:
    for path in ("/", "/data/0.json", "/nowhere"):
        headers = ask(server, path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers
        assert "Python" not in headers["Server"]


def test_the_same_again_is_not_sent_again(server: Server) -> None:
    tag = ask(server).headers["ETag"]
    again = ask(server, If_None_Match=tag)
    assert (again.status, again.body) == (304, b"")  # type: ignore[attr-defined]
    assert ask(server, If_None_Match='"other"').status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:{port}", "127.0.0.1.evil.example:{port}", ""])
def test_other_hosts_are_refused(server: Server, host: str) -> None:
    """DNS rebinding: a name of somebody else's that points to us."""
    for path in ("/", "/data/0.json"):
        assert ask(server, path, Host=host.format(port=server.port)).status == 403
    assert ask(server, Host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_get_no_data(server: Server, site: str) -> None:
    assert ask(server, Sec_Fetch_Site=site).status == 403
    assert ask(server, Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize(
    "path",
    ["/../history.sqlite", "/history.sqlite", "/data/../0.json", "/data/1.json", "/%2e%2e/etc/passwd", "/data/0.json/..",
     "/data/0.json?x", "/data/%30.json", "*"],
)  # fmt: skip
def test_there_are_no_other_paths(server: Server, path: str) -> None:
    assert ask(server, path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_nothing_can_be_changed(server: Server, method: str) -> None:
    assert ask(server, "/", method).status == 501


def test_head_has_no_body(server: Server) -> None:
    head = ask(server, method="HEAD")
    assert head.status == 200
    assert int(head.headers["Content-Length"]) > 1000
    assert head.body == b""  # type: ignore[attr-defined]


def test_it_listens_on_this_machine_only(server: Server) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert server._server.socket.getsockname()[0] == "127.0.0.1"


def test_a_busy_port(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy, pytest.raises(InputError, match="cannot listen on port"):
        Server([run], busy.getsockname()[1])


def test_no_tuning(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no tuning"):
        Server([tmp_path])


def test_several_runs_side_by_side(run: Path, tmp_path: Path) -> None:
    tuned(tmp_path / "other", budget={"runs": 40})
    with serving(run, tmp_path / "other") as server:
        assert document(ask(server, "/data/1.json"))["name"] == HOSTILE[0]
        [section] = document(ask(server, "/data/compare.json"))["sections"]
        curves, standings = section["blocks"]
        assert [one["name"] for one in curves["series"]] == [run.name, "other"]
        assert [row[3] for row in standings["rows"]] == [60, 40]


def test_it_follows_a_store_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "LEAST", 0.0)
    monkeypatch.setattr(serve, "SHARE", 0.0)
    scenario = given(instances=named(HOSTILE))
    with open_store(scenario, SETTINGS, tmp_path, durability="full") as store, serving(tmp_path) as server:
        tags = set()
        for seed in range(4):
            lease = store.lease(RunRequest(scenario.default, HOSTILE[seed], seed, 100.0), "incumbent")
            store.finish(lease.assignment, 1, Outcome(Status.SUCCESS, 2.0, 100.0), float(seed))
            answer = ask(server)
            tags.add(answer.headers["ETag"])
            assert f"{seed + 1} run" in document(answer)["state"]
            assert ask(server, If_None_Match=answer.headers["ETag"]).status == 304
        assert len(tags) == 4


def test_looking_takes_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often somebody asks, the next document is made only after ten times the time that the last one took."""
    monkeypatch.setattr(serve, "SHARE", 1e6)
    scenario = given(instances=named(HOSTILE))
    with open_store(scenario, SETTINGS, tmp_path, durability="full") as store, serving(tmp_path) as server:
        assert document(ask(server))["state"] == "no runs yet"
        lease = store.lease(RunRequest(scenario.default, HOSTILE[0], 1, 100.0), "incumbent")
        store.finish(lease.assignment, 1, Outcome(Status.SUCCESS, 2.0, 100.0), 0.0)
        assert document(ask(server))["state"] == "no runs yet"


def test_a_store_that_breaks_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "LEAST", 0.0)
    monkeypatch.setattr(serve, "SHARE", 0.0)
    tuned(tmp_path, budget={"runs": 20})
    file = tmp_path / "history.sqlite"
    with serving(tmp_path) as server:
        good = file.read_bytes()
        file.write_bytes(b"x" * len(good))
        assert "damaged" in document(ask(server))["trouble"] or "holds no tuning" in document(ask(server))["trouble"]
        file.write_bytes(good)
        assert document(ask(server))["state"].endswith("20 runs")


def test_who_asks_while_it_ends_gets_an_answer(run: Path) -> None:
    with Server([run]) as server:
        source = server.sources["/data/0.json"]
        assert b"sections" in source.answer()[1]
    assert json.loads(source.answer()[1])["trouble"] == "the server has ended"


def test_a_page_that_went_away_is_no_trouble(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for error in (ConnectionResetError, BrokenPipeError):
        try:
            raise error
        except ConnectionError:
            server._server.handle_error(None, ("127.0.0.1", 1))
    assert capfd.readouterr().err == ""
    try:
        raise ValueError("a bug")
    except ValueError:
        server._server.handle_error(None, ("127.0.0.1", 1))
    assert "a bug" in capfd.readouterr().err
