"""Threads: one for a fit, unless the user says how many."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nodecopy import cli
from nodecopy.experiment.threads import ONE_THREAD
from tests.waiting import LIMIT


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["1", "1", "1", "1"]),
        ({"OPENBLAS_NUM_THREADS": "3"}, ["1", "3", "1", "1"]),
        ({"OMP_NUM_THREADS": "2"}, ["2", None, None, None]),
        ({"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "1"}, ["2", None, "1", None]),
    ],
)
def test_the_users_number_of_threads_is_respected(given, expected, monkeypatch, capsys):
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["fit", "no-such-dataset"]) == 2
    assert [os.environ.get(name) for name in ONE_THREAD] == expected


@pytest.mark.parametrize(("given", "expected"), [({}, "1"), ({"OMP_NUM_THREADS": "2"}, "2")])
def test_torch_hears_of_it_before_it_is_imported(given, expected):
    program = (
        "from nodecopy import cli\n"
        "assert cli.main(['fit', 'no-such-dataset']) == 2\n"
        "import torch\n"
        "print(torch.get_num_threads())"
    )
    around = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=around | given,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stdout.split()[-1] == expected
