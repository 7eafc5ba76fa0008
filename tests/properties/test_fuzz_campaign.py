"""A small part of the fuzz campaign of benchmarks/fuzz.py: all that the command reads, damaged."""

from __future__ import annotations

import warnings

from benchmarks.fuzz import campaign


def test_damaged_input_gives_an_answer_or_one_clear_line():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = dict(campaign(runs=60, seed=12))
    assert not [(number, end) for number, end in ends.items() if end.wrong]
    assert {end.code for end in ends.values()} == {0, 2}
