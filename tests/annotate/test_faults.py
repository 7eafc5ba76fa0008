"""The fault campaign, in small: kills, two servers, a fit meanwhile, a full disk, a lost table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT


@pytest.mark.parametrize("target", ["class", "tags"])
def test_no_acknowledged_answer_is_lost(target: str) -> None:
    command = [sys.executable, "-m", "benchmarks.faults", "--fast", f"--target={target}"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "acknowledged answers" in done.stdout
