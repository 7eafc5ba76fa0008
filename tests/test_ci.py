"""What continuous integration does about a browser, and about tests that are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT

CI = Path(__file__).parents[1] / ".ci"
TOOLS = ("bash", "dirname", "env", "id", "make", "mktemp", "rm", "sh", "timeout")
BROWSERLESS = "Chromium is not installed"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our continuous integration, whose only check is one test."""
    shutil.copytree(CI, tmp_path / ".ci")
    run_tests = ".venv/bin/python -m pytest -q -p no:cacheprovider"
    (tmp_path / "Makefile").write_text(f"test:\n\t@{run_tests}\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    # A link would do if Python did not look for its packages beside it.
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or pytest.fail(tool))
    return tmp_path


def add_program(project: Path, name: str, script: str) -> None:
    program = project / "bin" / name
    program.unlink(missing_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def run(project: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run it on a test with this body, with no programs but those of the project."""
    (project / "test_one.py").write_text(f"import pytest\n\ndef test_one():\n    {body}\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env = {**kept, "PATH": str(project / "bin"), "PYTHONPATH": ""}
    return subprocess.run(
        [str(project / ".ci" / "run")], env=env, capture_output=True, text=True, timeout=LIMIT
    )


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("pass", 0, "== 0 tests skipped"),
        ("pytest.skip('needs a CUDA device')", 0, "    1  needs a CUDA device"),
        ("pytest.skip('of a headache')", 1, "    1  of a headache  (an unknown reason)"),
        (f"pytest.skip('{BROWSERLESS}')", 1, f"    1  {BROWSERLESS}  (an unknown reason)"),
        ("assert False", 2, "== 0 tests skipped"),
    ],
    ids=["passes", "known reason", "unknown reason", "a browser that is there", "fails"],
)
def test_reasons_are_printed_and_unknown_ones_fail(
    project: Path, body: str, code: int, line: str
) -> None:
    for name in ("chromium", "chromedriver"):
        add_program(project, name, "exit 0")
    done = run(project, body)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, line), done.stderr
    assert "Chromium" not in done.stdout.splitlines()[0]


@pytest.mark.parametrize("user", [0, 1000])
def test_where_no_browser_can_be_installed_its_tests_may_be_skipped(
    project: Path, user: int
) -> None:
    add_program(project, "id", f"echo {user}")
    add_program(project, "apt-get", f'echo "$@" >> {project / "asked"}; exit 100')
    done = run(project, f"pytest.skip('{BROWSERLESS}')")
    assert done.returncode == 0, done.stderr
    assert "none can be installed here: its tests are skipped" in done.stdout
    assert (project / "asked").exists() == (user == 0)


def test_a_browser_is_installed_where_that_is_possible(project: Path) -> None:
    programs = " ".join(str(project / "bin" / name) for name in ("chromium", "chromedriver"))
    add_program(project, "id", "echo 0")
    made = f"for p in {programs}; do echo '#!/bin/sh' > $p; /bin/chmod +x $p; done"
    add_program(project, "apt-get", f'case "$*" in *"install -y"*) {made} ;; esac')
    done = run(project, f"pytest.skip('{BROWSERLESS}')")
    assert done.stdout.startswith("== installing Chromium")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"    1  {BROWSERLESS}  (an unknown reason)"
