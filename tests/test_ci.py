"""Continuous integration: the browser it installs, and the skipped tests it accepts."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT

CI = Path(__file__).parents[1] / ".ci"
TOOLS = ("bash", "dirname", "env", "id", "make", "mktemp", "rm", "sh", "timeout")
NO_BROWSER = "Chromium is not installed"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our continuous integration, whose only check is one test."""
    shutil.copytree(CI, tmp_path / ".ci")
    run_tests = ".venv/bin/python -m pytest -q -p no:cacheprovider"
    (tmp_path / "Makefile").write_text(f"test:\n\t@{run_tests}\n")
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or pytest.fail(tool))
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    # A symlink would not do: Python looks for its packages next to it.
    add_program(tmp_path / ".venv", "python", f'exec {sys.executable} "$@"')
    return tmp_path


def add_program(folder: Path, name: str, script: str) -> None:
    program = folder / "bin" / name
    program.unlink(missing_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def run(project: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run it on a test with this body, with only the programs of the project on the path."""
    (project / "test_one.py").write_text(f"import pytest\n\ndef test_one():\n    {body}\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    env = {**kept, **plugins, "PATH": str(project / "bin"), "PYTHONPATH": ""}
    return subprocess.run(
        [str(project / ".ci" / "run")], env=env, capture_output=True, text=True, timeout=LIMIT
    )


@pytest.mark.parametrize(
    ("body", "code", "shown"),
    [
        ("pass", 0, "0 tests skipped"),
        ("pytest.skip('needs a CUDA device')", 0, "1  needs a CUDA device"),
        ("pytest.skip('of a headache')", 1, "of a headache  (not allowed)"),
        (f"pytest.skip('{NO_BROWSER}')", 1, f"{NO_BROWSER}  (not allowed)"),
        ("assert False", 2, "0 tests skipped"),
    ],
    ids=["passes", "allowed reason", "other reason", "browser is installed", "fails"],
)
def test_reasons_are_printed_and_others_fail(
    project: Path, body: str, code: int, shown: str
) -> None:
    for name in ("chromium", "chromedriver"):
        add_program(project, name, "exit 0")
    done = run(project, body)
    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines()[-1].endswith(shown)


def test_every_allowed_reason_is_given_by_a_test() -> None:
    tests = [
        path.read_text() for path in CI.parent.glob("tests/**/*.py") if path.name != "test_ci.py"
    ]
    allowed = runpy.run_path(str(CI / "skipped.py"))["ALLOWED"]
    assert {reason for reason in allowed if not any(reason in text for text in tests)} == set()
