"""Ctrl-C and SIGTERM at any moment: one line, an exit code, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nodecopy.interrupts import shielded
from tests.waiting import LIMIT

# What runs in place of `python -m nodecopy`: a signal comes when a module is looked for, or called.
PROGRAM = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Finder())
{more}
from nodecopy.__main__ import run
sys.exit(run())
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The words of a small fit."""
    pairs = [(r + k, r + (k + 1) % 5) for r in (0, 5) for k in range(5)]
    edges = [f"n{u},n{v}" for u, v in [*pairs, (0, 5)]]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    (tmp_path / "labels.csv").write_text("id,label\nn0,x\nn1,x\nn5,y\nn6,y\n")
    names = [f"--{name}={tmp_path / name}.csv" for name in ("edges", "labels")]
    return ["fit", *names, f"--out={tmp_path / 'run'}", "--n-zeta=1"]


def run(
    args: list[str], module: str, number: int = signal.SIGINT, more: str = ""
) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(module=module, number=int(number), more=more)
    return subprocess.run(
        [sys.executable, "-c", program, *args],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        # Whoever started the tests in the background may have had interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.parametrize(
    "module", ["typer", "nodecopy.cli.paper", "numpy._core.multiarray", "torch._utils"]
)
def test_ctrl_c_while_the_program_starts_is_one_line(files: list[str], module: str) -> None:
    done = run(files, module)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


def test_sigterm_while_the_program_starts_is_one_line(files: list[str]) -> None:
    done = run(files, "numpy", signal.SIGTERM)
    assert (done.returncode, done.stderr) == (143, "interrupted\n")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_an_import_in_the_midst_of_the_work_is_finished_first(
    files: list[str], tmp_path: Path, number: int, code: int
) -> None:
    done = run(files, "duckdb", number)
    assert (done.returncode, done.stderr) == (code, "interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "labels.csv"]


def test_an_interrupt_after_the_end_changes_nothing() -> None:
    late = (
        "import atexit, os, signal\n"
        "import nodecopy.interrupts as own\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "class Late:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.late = Late()\n"
    )
    done = run(["--version"], "none", more=late)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nodecopy ")


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    done = run(["--version"], "typer", more=ignored)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_that_is_started_under_a_shield_does_not_hear_ctrl_c() -> None:
    code = "import time; print('.', flush=True); time.sleep(600)"
    with shielded():
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"."
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGTERM)  # comes second, and is the one that ends it
        assert child.wait(LIMIT) == -signal.SIGTERM
    finally:
        child.kill()
        child.stdout.close()
