"""What running a trial reports about itself."""

from __future__ import annotations

import dataclasses
import resource
import sys

import pytest

from nodecopy.experiment import Trial, run_trial

TRIAL = Trial("cora", "fixed", 5, "label-propagation", 0)


def test_the_digest_is_computed_where_the_trial_runs() -> None:
    sent = dataclasses.replace(TRIAL)
    sent.__dict__["digest"] = "of a runner with other code or data"
    assert run_trial(sent).digest == TRIAL.digest


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget a peak")
def test_the_peak_is_of_the_trial_and_not_of_what_ran_before() -> None:
    _use(400)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert before > 400
    assert run_trial(TRIAL).peak_megabytes < before - 300


def _use(megabytes: int) -> int:
    return len(bytearray(b"x") * (megabytes << 20))
