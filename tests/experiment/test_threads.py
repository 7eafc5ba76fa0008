"""Threads: one for a fit, unless the user says how many."""

from __future__ import annotations

import os

import pytest

from nodecopy import cli
from nodecopy.experiment.threads import ONE_THREAD


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
