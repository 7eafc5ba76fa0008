"""nodecopy label in a terminal: what Ctrl-C says, writes and leaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Iterator

import pytest

from nodecopy import cli
from tests.annotate.conftest import Tables
from tests.waiting import LIMIT


def words(tables: Tables, *more: str) -> list[str]:
    files = {"edges": "edges", "nodes": "features", "labels": "given"}
    named = [f"--{key}={tables.folder / name}.csv" for key, name in files.items()]
    return [*named, f"--out={tables.run}", *more]


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Press Ctrl-C as soon as the page would open in the browser."""
    monkeypatch.setattr(webbrowser, "open", lambda url: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_says_what_is_written_where_and_then_that_it_is_done(
    tables: Tables, ctrl_c: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["label", *words(tables, "--method=fast")]) == 0
    writing, done = capsys.readouterr().out.splitlines()[-2:]
    assert writing.startswith(f"Writing the results of 9 labels to {tables.run}")
    assert str(tables.run / "answers.sqlite") in writing
    assert done.startswith(f"Done: {tables.run} holds predictions")
    assert (tables.run / "predictions.csv").is_file()


def test_a_second_ctrl_c_leaves_without_the_results(tables: Tables) -> None:
    command = [sys.executable, "-m", "nodecopy", "label", *words(tables), "--no-browser"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever started the tests in the background may have had interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as program:
        try:
            assert program.stdout is not None
            for expected in ("Ctrl-C ends.", "Ctrl-C again"):
                lines = iter(program.stdout.readline, "")
                assert any(expected in line for line in lines)
                program.send_signal(signal.SIGINT)
            out, errors = program.communicate(timeout=LIMIT)
        finally:
            program.kill()
    assert program.returncode == 130
    assert (out, errors) == ("", "interrupted\n")
    assert len(tables.labels()) == 9
    held = {"answers.sqlite", "config.toml", "labels.csv"}
    assert {file.name for file in tables.run.iterdir()} == held


def test_a_port_that_cannot_be_had_is_one_line_and_exit_code_2(
    tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        more = ("--no-browser", "--method=fast", f"--port={port}")
        assert cli.main(["label", *words(tables, *more)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: cannot listen on port {port}")
    assert err.count("\n") == 1
    assert len(tables.labels()) == 9


def test_labels_of_a_file_come_in_by_name_and_a_fit_changes_no_answer(
    tables: Tables, ctrl_c: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["label", *words(tables, "--method=fast")]) == 0
    held = tables.labels()
    first, second, *_ = held
    edited = tables.folder / "edited.csv"
    edited.write_text(f"id,label\n{first},cedar\np80,ash\n")
    capsys.readouterr()
    assert cli.main(["label", str(tables.run), f"--labels={edited}"]) == 0
    assert "1 label added, 1 changed" in capsys.readouterr().out
    assert tables.labels() == held | {first: "cedar", "p80": "ash"}
    assert cli.main(["label", str(tables.run), "--edges=x.csv"]) == 2
    edited.write_text(f"id,label\n{first},ash\n{second},beech\np81,beech\n")
    capsys.readouterr()
    fit = ["fit", f"--edges={tables.folder}/edges.csv", f"--labels={edited}", "--method=fast"]
    assert cli.main([*fit, f"--out={tables.run}"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "stay as they are" in line]
    assert f"nodecopy label {tables.run} --labels" in line
    assert tables.labels() == held | {first: "cedar", "p80": "ash"}
