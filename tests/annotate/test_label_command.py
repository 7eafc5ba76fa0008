"""nodecopy label in a terminal: what Ctrl-C says, writes and leaves."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nodecopy import cli
from tests.annotate.conftest import Tables
from tests.waiting import LIMIT


@contextmanager
def labelling(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run nodecopy label; yield the program when its page is there."""
    command = [sys.executable, "-m", "nodecopy", "label", *words, "--no-browser"]
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
            assert any("Ctrl-C ends." in line for line in iter(program.stdout.readline, ""))
            yield program
        finally:
            program.kill()


def words(tables: Tables, *more: str) -> list[str]:
    files = {"edges": "edges", "features": "features", "labels": "given"}
    named = [f"--{key}={tables.folder / name}.csv" for key, name in files.items()]
    return [*named, f"--out={tables.run}", *more]


def test_ctrl_c_says_what_is_written_where_and_then_that_it_is_done(tables: Tables) -> None:
    with labelling(*words(tables, "--method=fast")) as program:
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=LIMIT)
    assert program.returncode == 0
    assert out.splitlines() == [
        "",
        f"Writing the results of 9 labels to {tables.run}: predictions, report, model and "
        "settings. Ctrl-C again leaves without them; the labels stay in "
        f"{tables.run / 'labels.csv'}.",
        f"Done: {tables.run} holds predictions, report, model and settings.",
    ]
    assert (tables.run / "predictions.csv").is_file()


def test_a_second_ctrl_c_leaves_without_the_results(tables: Tables) -> None:
    with labelling(*words(tables)) as program:
        assert program.stdout is not None
        program.send_signal(signal.SIGINT)
        assert any("Ctrl-C again" in line for line in iter(program.stdout.readline, ""))
        program.send_signal(signal.SIGINT)
        out, errors = program.communicate(timeout=LIMIT)
    assert program.returncode == 130
    assert out == ""
    assert errors == "interrupted\n"
    assert len(tables.labels()) == 9
    held = {"answers.sqlite", "config.toml", "labels.csv"}
    assert {file.name for file in tables.run.iterdir()} == held


def test_without_labels_to_fit_to_ctrl_c_says_where_they_are(tables: Tables) -> None:
    (tables.folder / "given.csv").write_text("id,label\np00,ash\n")
    with labelling(*words(tables)) as program:
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=LIMIT)
    assert program.returncode == 0
    assert out == f"\nDone: 1 label in {tables.run / 'labels.csv'}.\n"


@pytest.mark.parametrize("refused", [False, True], ids=["in use", "not allowed"])
def test_a_port_that_cannot_be_had_is_one_line_and_exit_code_2(
    tables: Tables,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    refused: bool,
) -> None:
    def refuse(link: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = 80 if refused else taken.getsockname()[1]
        if refused:  # whoever runs the tests may be allowed to
            monkeypatch.setattr(socket.socket, "bind", refuse)
        assert cli.main(["label", *words(tables, "--no-browser", f"--port={port}")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: cannot listen on port {port}")
    assert err.count("\n") == 1
    assert len(tables.labels()) == 9
