"""Trials: that they repeat, and what they measure."""

from __future__ import annotations

import dataclasses
import resource
import sys

import numpy as np
import pytest

from nodecopy.classifiers import GivenProbabilities
from nodecopy.core.errors import DatasetError, ModelError, SplitError
from nodecopy.paper.experiment import paired_outcomes, run_trial
from nodecopy.paper.methods import METHODS, Method
from nodecopy.paper.store import Trial
from nodecopy.posterior import BayesianGCN
from nodecopy.problem.dataset import load_dataset
from nodecopy.problem.splits import chosen_split
from nodecopy.weights import MCDropout, TrainConfig

TRIAL = Trial("cora", "fixed", 5, "label-propagation", 0)


def test_a_trial_scores_the_test_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    cora = load_dataset("cora")
    test = chosen_split(cora, "fixed", 5, 0).test
    guess = cora.labels.copy()
    guess[test[:250]] = (guess[test[:250]] + 1) % 7
    given = GivenProbabilities(np.eye(7)[guess])
    monkeypatch.setitem(METHODS, "given", Method("given", lambda *_: given))
    result = run_trial(dataclasses.replace(TRIAL, method="given"))
    assert result.accuracy == 0.75
    assert result.brier == pytest.approx(0.5)
    assert [count for *_, count in result.reliability][-1] == len(test) == 1000
    assert result.reliability[-1][:2] == (1.0, 0.75)
    assert result.reliability[0] == (None, None, 0)
    assert result.outcomes == {}


def test_degree_groups_split_at_the_median() -> None:
    truth, degrees = np.zeros(6, int), np.array([1, 2, 2, 2, 7, 9])
    before, after = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, 0, 0])
    low, high = paired_outcomes(before, after, truth, degrees).values()
    assert low == dict.fromkeys(("both_right", "corrected", "broken", "both_wrong"), 0.25)
    assert high == {"both_right": 0.5, "corrected": 0.5, "broken": 0.0, "both_wrong": 0.0}


def test_outcomes_compare_with_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    base = GivenProbabilities(np.eye(7)[load_dataset("cora").labels])
    model = BayesianGCN(base=base, n_zeta=1, n_weights=1, weights=MCDropout(TrainConfig(epochs=2)))
    monkeypatch.setitem(METHODS, "spoils", Method("spoils", lambda *_: model))
    result = run_trial(dataclasses.replace(TRIAL, method="spoils"))
    for shares in result.outcomes.values():
        assert shares["corrected"] == shares["both_wrong"] == 0  # the base is always right
        assert shares["broken"] > 0
        assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget a peak")
def test_a_trial_measures_its_cost_and_not_that_of_what_ran_before() -> None:
    assert len(bytearray(b"x") * (400 << 20)) > 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert before > 400
    result = run_trial(TRIAL)
    assert 1 < result.peak_megabytes < before - 300
    assert result.cpu_seconds > 0
    assert result.wall_seconds > 0
    assert {"nodecopy", "numerics", "torch", "processor"} <= set(result.versions)


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(SplitError, match="'fixd'; did you mean 'fixed'"):
        Trial("cora", "fixd", 5, "gcn", 0)
    with pytest.raises(ModelError, match="'copyng'; did you mean 'copying'"):
        run_trial(Trial("cora", "fixed", 5, "copyng", 0))
    with pytest.raises(DatasetError, match="'corra'; did you mean 'cora'"):
        run_trial(Trial("corra", "fixed", 5, "gcn", 0))
