"""Planted wrong labels are suspects, and their probability is honest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nodecopy.core.rng import stream
from nodecopy.stack.temperature import Temperature
from nodecopy.trust.label_errors import suspect_labels, wrong_probabilities


def planted(n: int, share: float, draw: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return calibrated probabilities [n, 5], given labels, and which of these are wrong."""
    rng = stream(0, "wrong", n, draw)
    p = rng.dirichlet(np.full(5, 0.15), n)
    truth = (rng.random((n, 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)
    wrong = rng.random(n) < share
    return p, np.where(wrong, (truth + rng.integers(1, 5, n)) % 5, truth), wrong


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("temperature", [1.0, 1.8])
def test_the_probability_is_that_of_a_wrong_label(share: float, temperature: float) -> None:
    p, given, wrong = planted(20_000, share)
    suspects, estimated = wrong_probabilities(Temperature(temperature).apply(p), given)
    assert estimated == pytest.approx(share, abs=0.025)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        within = (suspects >= low) & (suspects < high)
        if within.sum() > 100:
            assert suspects[within].mean() == pytest.approx(wrong[within].mean(), abs=0.05)


def test_the_most_suspect_come_first_with_what_they_may_be() -> None:
    p, given, wrong = planted(400, 0.1)
    suspects = suspect_labels(np.arange(1000, 1400), given, p)
    assert np.all(np.diff(suspects.probability) <= 0)
    np.testing.assert_array_equal(suspects.known, given[suspects.nodes - 1000])
    np.testing.assert_array_equal(suspects.predicted, p[suspects.nodes - 1000].argmax(1))
    assert np.all(suspects.predicted != suspects.known)
    assert len(suspects.nodes) == np.count_nonzero(p.argmax(1) != given)
    assert wrong[suspects.nodes[:20] - 1000].mean() >= 0.8


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.01), (0.1, 0.07, 0.11)])
def test_probabilities_add_up_to_how_many_are_wrong(share: float, least: float, most: float):
    draws = [planted(35, share, draw) for draw in range(30)]
    expected = np.mean([wrong_probabilities(p, given)[0].mean() for p, given, _ in draws])
    assert least <= expected <= most


def test_confirmed_labels_lower_the_doubt_about_others_and_mistakes_raise_it() -> None:
    sure = np.array([[0.96, 0.04]] * 36 + [[0.02, 0.98]] * 4)
    known, confirmed = np.zeros(40, int), np.arange(40) >= 38

    def doubt(**given: Any) -> float:
        return float(wrong_probabilities(sure, known, **given)[0][36])

    assert doubt(confirmed=confirmed) < 0.5 < doubt() < doubt(mistakes=3)
    assert wrong_probabilities(sure, known, confirmed)[0][38] == 0


def test_no_labels_and_one_class_are_no_problem() -> None:
    empty = suspect_labels(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3)))
    assert len(empty.nodes) == 0
    assert 0 < empty.share < 0.2  # the mean of its prior
    single = suspect_labels(np.arange(3), np.zeros(3, int), np.ones((3, 1)))
    assert len(single.nodes) == 0
