"""Prediction sets hold the label as often as was asked for, with few labels, too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodecopy.core.rng import stream
from nodecopy.stack.temperature import Temperature
from nodecopy.trust.sets import fit_sets


def sample(nodes: int, *names: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Random probabilities [nodes, 5], and labels drawn from them."""
    rng = stream(0, "sets", *names)
    p = rng.dirichlet(np.full(5, 0.35), nodes)
    return p, (rng.random((nodes, 1)) > np.cumsum(p, 1)[:, :-1]).sum(1)


def coverage_of(labels: int, asked: float, temperature: float = 1.0) -> tuple[float, float]:
    """Return the mean coverage and size over draws of labels."""
    covered, size, draws = 0.0, 0.0, 150
    for draw in range(draws):
        p, y = sample(400 + labels, labels, draw)
        p = Temperature(temperature).apply(p)
        sets = fit_sets(p[:labels], y[:labels], p[labels:]).sets(p[labels:], asked)
        covered += sets[np.arange(400), y[labels:]].mean() / draws
        size += sets.sum(1).mean() / draws
    return covered, size


@pytest.mark.parametrize("labels", [0, 15, 35, 140])
@pytest.mark.parametrize("asked", [0.8, 0.9])
def test_calibrated_probabilities_cover_what_is_asked_for(labels: int, asked: float) -> None:
    covered, size = coverage_of(labels, asked)
    assert asked - 0.005 < covered < asked + 0.05  # the node that is asked about counts as a miss
    assert 1 < size < 3


def test_labels_correct_probabilities_that_are_wrong() -> None:
    sharp = [coverage_of(labels, 0.9, temperature=0.4)[0] for labels in (0, 35, 140, 600)]
    assert sharp[0] < 0.8  # the model alone promises too much
    assert sharp == sorted(sharp)
    assert sharp[-1] == pytest.approx(0.9, abs=0.01)


def test_the_threshold_is_the_conformal_quantile_where_labels_are_many() -> None:
    p, y = sample(5_000, "many")
    scores = np.sort(1 - p[np.arange(5_000), y])
    conformal = scores[int(np.ceil(5_001 * 0.9)) - 1]
    assert fit_sets(p, y, p).threshold(0.9) == pytest.approx(conformal, abs=0.005)


def test_more_coverage_than_labels_can_tell_asks_for_every_class() -> None:
    p, y = sample(15, "few")
    sets = fit_sets(p, y, p)
    assert sets.threshold(0.999) == np.inf
    assert sets.sets(p, 0.999).all()
    assert sets.threshold(0.97) < 1  # 1 - 1 / 36 can still be told


def test_known_classes_are_covered_more_where_others_cannot_be() -> None:
    p, y = sample(300, "missing")
    thresholds = [fit_sets(p, y, p, missing).threshold(0.8) for missing in (0.0, 0.1, 0.2, 0.9)]
    assert thresholds[0] < thresholds[1] < thresholds[2] == thresholds[3] < 1
    assert thresholds[1] == fit_sets(p, y, p).threshold(0.8 / 0.9)


@settings(max_examples=50)
@given(st.integers(0, 40), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_sets_grow_with_coverage_and_hold_the_most_probable_class(
    labels: int, one: float, other: float, draw: int
) -> None:
    p, y = sample(60, draw)
    fitted = fit_sets(p[:labels], y[:labels], p)
    small, large = (fitted.sets(p, level) for level in sorted((one, other)))
    assert np.all(large >= small)
    assert np.all(small[np.arange(60), p.argmax(1)])
