"""The command line: what it prints, its exit codes, and what it imports."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nodecopy
import nodecopy.run.fit
from nodecopy import cli
from nodecopy.core.errors import DatasetError
from tests.waiting import LIMIT


@pytest.fixture(autouse=True)
def terminal_of_known_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def failing_command(monkeypatch):
    """Make `nodecopy inspect` raise the exception given."""

    def arrange(error: BaseException) -> list[str]:
        def read_source(*given: object) -> None:
            raise error

        monkeypatch.setattr(nodecopy.run.fit, "read_source", read_source)
        return ["inspect", "--edges=e.csv"]

    return arrange


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"nodecopy {nodecopy.__version__}\n"


@pytest.mark.parametrize("args", [["--help"], []])
def test_help_lists_the_commands(args, capsys):
    assert cli.main(args) == 0
    captured = capsys.readouterr()
    assert "inspect" in _plain(captured.out)
    assert "--debug" in _plain(captured.out)


def test_the_installed_command_and_python_dash_m_pass_the_exit_code_on():
    installed = [Path(sys.executable).with_name("nodecopy"), "--version"]
    fine = subprocess.run(installed, capture_output=True, text=True, timeout=LIMIT)
    assert (fine.returncode, fine.stdout) == (0, f"nodecopy {nodecopy.__version__}\n")
    module = [sys.executable, "-m", "nodecopy", "inspet"]
    assert subprocess.run(module, capture_output=True, timeout=LIMIT).returncode == 2


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["inspet"], "error: No such command 'inspet'. Did you mean 'inspect'?"),
        (["inspect", "--clases"], "error: No such option: --clases"),
        (["inspect", "extra"], "error: Got unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(args, expected, capsys):
    assert cli.main(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(expected)
    assert captured.err.endswith("--help')\n")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (DatasetError("unknown dataset;\n did you mean…"), 2, "error: unknown dataset; did you"),
        (ZeroDivisionError("boom"), 1, "internal error: ZeroDivisionError: boom; run again"),
        (EOFError("gone"), 1, "internal error: EOFError: gone; run again"),
        (OSError(errno.ENAMETOOLONG, "boom", "some/file"), 2, "error: [Errno"),
        (OSError(errno.ENOSPC, "boom", "some/file"), 1, "error: [Errno"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_a_failure_is_one_line_and_an_exit_code(error, code, line, failing_command, capsys):
    assert cli.main(failing_command(error)) == code
    err = capsys.readouterr().err.strip()
    assert err.startswith(line)
    assert "\n" not in err
    if code != 130:
        assert cli.main(["--debug", *failing_command(error)]) == code
        assert "Traceback (most recent call last):\n" in capsys.readouterr().err


def test_training_that_diverges_is_one_line_and_exit_code_2(tmp_path, capsys):
    for name, text in (
        ("edges", "source,target\na,b\nb,c\n"),
        ("labels", "id,label\na,x\nb,y\n"),
        ("nodes", "id,f\na,3e38\nb,-3e38\nc,3e38\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    files = [f"--{name}={tmp_path}/{name}.csv" for name in ("edges", "labels", "nodes")]
    words = ["fit", *files, "--normalise=none", f"--out={tmp_path}/run"]
    assert cli.main([*words, "--method=paper"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: the loss of member 0 ")
    assert err.endswith("check the scale of the features\n")
    assert not (tmp_path / "run").exists()
    assert cli.main(words) == 0  # rows have length one, whatever their scale


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("\udcff", "error: names and values must be UTF-8; got '--out="),
        ("x" * 300, "error: "),
    ],
)
def test_a_name_that_cannot_be_is_one_line_and_exit_code_2(name, expected, tmp_path, capsys):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "labels.csv").write_text("id,label\na,x\nb,y\n")
    files = [f"--{what}={tmp_path}/{what}.csv" for what in ("edges", "labels")]
    assert cli.main(["fit", *files, f"--out={tmp_path}/{name}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(expected)
    assert err.count("\n") == 1


def test_help_imports_nothing_heavy():
    code = "import sys; from nodecopy.cli import main; main(['--help']); print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert not {"numpy", "scipy", "torch"} & set(run.stdout.split())


def _plain(text: str) -> str:
    """Drop the colour codes that some environments force on."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
