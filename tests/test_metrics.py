"""Metrics: by hand, against scikit-learn and torchmetrics, at their limits, and their refusals."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from torchmetrics.functional.classification import multiclass_calibration_error

from nodecopy.errors import InputError
from nodecopy.metrics import (
    PairedOutcomes,
    Scores,
    accuracy,
    brier_score,
    degree_groups,
    error_auroc,
    expected_calibration_error,
    negative_log_likelihood,
    paired_outcomes,
    reliability_curve,
    score_predictions,
)
from tests.waiting import LIMIT

# Five nodes, three classes; predicted 0, 1, 2, 0, 1; the third and the fifth are wrong.
P = [
    [0.8, 0.1, 0.1],
    [0.2, 0.7, 0.1],
    [0.2, 0.3, 0.5],
    [0.6, 0.2, 0.2],
    [0.3, 0.4, 0.3],
]
Y = [0, 1, 0, 0, 2]

Case = tuple[NDArray[np.float64], NDArray[np.int64]]


def random_case(n: int = 400, n_classes: int = 5, seed: int = 0) -> Case:
    """Return over-confident predictions: right more often than not, never on a bin's edge."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    logits = 2 * rng.standard_normal((n, n_classes))
    logits[np.arange(n), y] += 2
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True), y


CASES = [random_case(), random_case(60, 2, seed=1), random_case(1000, 10, seed=2)]


class TestByHand:
    def test_accuracy(self) -> None:
        assert accuracy(P, Y) == 0.6
        assert accuracy([0, 1, 2, 0, 1], Y) == 0.6

    def test_ties_go_to_the_first_class(self) -> None:
        assert accuracy([[0.4, 0.4, 0.2]], [0]) == 1
        assert accuracy([[0.4, 0.4, 0.2]], [1]) == 0

    def test_negative_log_likelihood(self) -> None:
        by_hand = -(math.log(0.8) + math.log(0.7) + math.log(0.2) + math.log(0.6) + math.log(0.3))
        assert negative_log_likelihood(P, Y) == pytest.approx(by_hand / 5)

    def test_a_certain_mistake_costs_36_nats_and_a_certain_truth_nothing(self) -> None:
        assert negative_log_likelihood([[1.0, 0.0]], [1]) == pytest.approx(36.0437, abs=1e-4)
        assert negative_log_likelihood([[1.0, 0.0]], [0]) == 0

    def test_brier_score(self) -> None:
        squares = [0.06, 0.14, 0.64 + 0.09 + 0.25, 0.24, 0.09 + 0.16 + 0.49]
        assert brier_score(P, Y) == pytest.approx(sum(squares) / 5)
        assert brier_score([[1.0, 0.0]], [1]) == 2
        assert brier_score([[1.0, 0.0]], [0]) == 0

    def test_calibration_in_bins_of_equal_width(self) -> None:
        # (0, .5]: .5 and .4, none right; (.5, 1]: .8, .7 and .6, all right.
        curve = reliability_curve(P, Y, n_bins=2)
        assert curve.count.tolist() == [2, 3]
        assert curve.accuracy.tolist() == [0, 1]
        assert curve.confidence.tolist() == pytest.approx([0.45, 0.7])
        by_hand = 2 / 5 * 0.45 + 3 / 5 * 0.3
        assert expected_calibration_error(P, Y, n_bins=2) == pytest.approx(by_hand)

    def test_calibration_in_bins_of_equal_mass(self) -> None:
        curve = reliability_curve(P, Y, n_bins=2, binning="mass")
        # Sorted .4 .5 .6 | .7 .8: one of three right, two of two.
        assert curve.count.tolist() == [3, 2]
        assert curve.accuracy.tolist() == pytest.approx([1 / 3, 1])
        assert curve.confidence.tolist() == pytest.approx([0.5, 0.75])
        by_hand = 3 / 5 * (0.5 - 1 / 3) + 2 / 5 * 0.25
        assert expected_calibration_error(P, Y, 2, "mass") == pytest.approx(by_hand)

    def test_empty_bins_are_nan_and_weigh_nothing(self) -> None:
        curve = reliability_curve(P, Y, n_bins=10)
        assert curve.count.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
        assert np.isnan(curve.accuracy).tolist() == (curve.count == 0).tolist()
        assert np.isnan(curve.confidence).tolist() == (curve.count == 0).tolist()
        gaps = [0.2, 0.3, 0.5, 0.4, 0.4]
        assert expected_calibration_error(P, Y, n_bins=10) == pytest.approx(sum(gaps) / 5)

    def test_a_certain_node_is_in_the_last_bin_and_an_edge_in_the_lower_one(self) -> None:
        curve = reliability_curve([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]], [0, 0, 0], n_bins=4)
        assert curve.count.tolist() == [0, 1, 1, 1]

    def test_equal_confidences_share_a_bin_of_equal_mass(self) -> None:
        p = [[0.6, 0.4]] * 3 + [[0.9, 0.1]]
        curve = reliability_curve(p, [0, 1, 1, 0], n_bins=2, binning="mass")
        assert curve.count.tolist() == [3, 1]

    def test_error_auroc(self) -> None:
        # Uncertainties .2 .3 .5 .4 .6, wrong: .5 and .6, above all the three others.
        assert error_auroc(P, Y) == 1
        # Wrong: .3 against .2, .5, .4, .6: one of four pairs in order.
        assert error_auroc(P, [0, 0, 2, 0, 1]) == 0.25

    def test_error_auroc_counts_a_tie_as_one_half(self) -> None:
        p = [[0.7, 0.3], [0.7, 0.3], [0.9, 0.1], [0.6, 0.4]]
        # Wrong: the second (.3, tied with the first) and the fourth (.4): (.5 + 1 + 1 + 1) / 4.
        assert error_auroc(p, [0, 1, 0, 1]) == 0.875
        assert error_auroc(p, [0, 1, 0, 1], score=[1, 1, 1, 1]) == 0.5

    def test_error_auroc_by_a_score_of_ones_own(self) -> None:
        assert error_auroc(P, Y, score=[5, 4, 1, 3, 2]) == 0
        assert error_auroc(P, Y, score=[0, 0, np.inf, 0, 0]) == pytest.approx(0.75)

    @pytest.mark.parametrize("y", [[0, 1, 2, 0, 1], [1, 0, 0, 1, 0]])
    def test_error_auroc_is_nan_where_every_node_is_right_or_every_node_wrong(
        self, y: list[int]
    ) -> None:
        assert math.isnan(error_auroc(P, y))

    def test_degree_groups_split_at_the_median_of_the_given_nodes(self) -> None:
        degrees = [50, 9, 2, 3, 100, 2]  # whose own median is 6
        groups = degree_groups(degrees, [5, 3, 1, 2])
        assert groups.threshold == 2.5
        assert (groups.low.tolist(), groups.high.tolist()) == ([5, 2], [3, 1])

    def test_nodes_of_the_median_degree_are_low(self) -> None:
        groups = degree_groups([1, 2, 2, 2, 7], range(5))
        assert (groups.low.tolist(), groups.high.tolist()) == ([0, 1, 2, 3], [4])
        assert degree_groups([3, 3], [0, 1]).high.tolist() == []

    def test_paired_outcomes(self) -> None:
        first, second, y = [0, 0, 1, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]
        expected = PairedOutcomes(both_right=0.4, corrected=0.2, broken=0.2, both_wrong=0.2)
        assert paired_outcomes(first, second, y) == expected
        assert paired_outcomes(P, [0, 0, 0, 0, 2], Y).corrected == 0.4

    def test_scores_are_the_functions_they_are_named_after(self) -> None:
        p, y = CASES[0]
        assert score_predictions(p, y) == Scores(
            accuracy=accuracy(p, y),
            nll=negative_log_likelihood(p, y),
            brier=brier_score(p, y),
            ece_width=expected_calibration_error(p, y, 15, "width"),
            ece_mass=expected_calibration_error(p, y, 15, "mass"),
            error_auroc=error_auroc(p, y),
        )
        assert len(set(vars(score_predictions(p, y)).values())) == 6


@pytest.mark.parametrize("case", CASES)
class TestAgreement:
    def test_accuracy_is_that_of_scikit_learn(self, case: Case) -> None:
        p, y = case
        assert accuracy(p, y) == pytest.approx(accuracy_score(y, p.argmax(axis=1)))

    def test_negative_log_likelihood_is_that_of_scikit_learn(self, case: Case) -> None:
        p, y = case
        assert negative_log_likelihood(p, y) == pytest.approx(
            log_loss(y, p, labels=range(p.shape[1]))
        )

    def test_the_clip_is_that_of_scikit_learn(self, case: Case) -> None:
        hard = np.eye(case[0].shape[1])[case[0].argmax(axis=1)]
        expected = log_loss(case[1], hard, labels=range(hard.shape[1]))
        assert negative_log_likelihood(hard, case[1]) == pytest.approx(expected)

    def test_brier_score_is_that_of_scikit_learn(self, case: Case) -> None:
        p, y = case
        labels = list(range(p.shape[1]))
        expected = brier_score_loss(y, p, labels=labels, scale_by_half=False)
        assert brier_score(p, y) == pytest.approx(expected)

    @pytest.mark.parametrize("n_bins", [1, 7, 15])
    def test_equal_width_is_that_of_torchmetrics(self, case: Case, n_bins: int) -> None:
        p, y = case
        expected = multiclass_calibration_error(
            torch.from_numpy(p), torch.from_numpy(y), p.shape[1], n_bins=n_bins, norm="l1"
        )
        assert expected_calibration_error(p, y, n_bins) == pytest.approx(float(expected), rel=1e-5)

    @pytest.mark.parametrize("n_bins", [1, 10, 20])
    def test_equal_mass_is_that_of_slices_of_the_sorted_nodes(
        self, case: Case, n_bins: int
    ) -> None:
        p, y = case
        confidence, right = p.max(axis=1), p.argmax(axis=1) == y
        slices = np.array_split(np.argsort(confidence), n_bins)
        gaps = [abs(right[s].mean() - confidence[s].mean()) * len(s) for s in slices]
        found = expected_calibration_error(p, y, n_bins, "mass")
        assert found == pytest.approx(sum(gaps) / len(y))

    @pytest.mark.parametrize("digits", [1, 2, 12])
    def test_error_auroc_is_that_of_scikit_learn(self, case: Case, digits: int) -> None:
        p, y = case
        wrong = p.argmax(axis=1) != y
        score = (p**2).sum(axis=1).round(digits)  # rounded: many ties
        assert error_auroc(p, y, score) == pytest.approx(roc_auc_score(wrong, score))
        assert error_auroc(p, y) == pytest.approx(roc_auc_score(wrong, 1 - p.max(axis=1)))

    def test_float32_and_lists_give_the_same(self, case: Case) -> None:
        p, y = case
        expected = list(vars(score_predictions(p, y)).values())
        for same in (p.tolist(), p.astype(np.float32), torch.from_numpy(p)):
            found = score_predictions(same, torch.from_numpy(y))
            assert list(vars(found).values()) == pytest.approx(expected, rel=1e-4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 40),
    n_classes=st.integers(1, 6),
    n_bins=st.integers(1, 50),
    seed=st.integers(0, 10**6),
)
def test_laws_of_the_scores(n: int, n_classes: int, n_bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few distinct rows, so that confidences tie.
    p = rng.dirichlet(np.ones(n_classes), size=3)[rng.integers(3, size=n)]
    y = rng.integers(n_classes, size=n)
    order = rng.permutation(n)
    assert 0 <= brier_score(p, y) <= 2
    shares = paired_outcomes(p, p[:, ::-1], y)
    assert sum(vars(shares).values()) == pytest.approx(1)
    assert shares.both_right + shares.broken == pytest.approx(accuracy(p, y))
    for binning in ("width", "mass"):
        curve = reliability_curve(p, y, n_bins, binning)
        assert curve.count.sum() == n
        assert len(curve.count) == len(curve.accuracy) == len(curve.confidence) == n_bins
        error = expected_calibration_error(p, y, n_bins, binning)
        assert abs(accuracy(p, y) - p.max(axis=1).mean()) - 1e-12 <= error <= 1
        moved = expected_calibration_error(p[order], y[order], n_bins, binning)
        assert moved == pytest.approx(error)
    area = error_auroc(p, y)
    assert error_auroc(p[order], y[order]) == pytest.approx(area, nan_ok=True)
    flipped = error_auroc(p, y, score=p.max(axis=1))
    assert flipped == pytest.approx(1 - area, nan_ok=True)


EVERY_SCORE: list[Callable[[Any, Any], object]] = [
    accuracy,
    negative_log_likelihood,
    brier_score,
    expected_calibration_error,
    reliability_curve,
    error_auroc,
    score_predictions,
    lambda p, y: paired_outcomes(p, p, y),
]


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([[0.5, 0.5]], [0, 1], "probabilities have 1 rows but y has 2 labels"),
        ([[0.5, 0.4]], [0], "must sum to 1; row 0 sums to 0.9"),
        ([[0.5, 0.5], [1.5, -0.5]], [0, 0], r"between 0 and 1; row 1 is \[1.5, -0.5\]"),
        ([[2.0, 3.0]], [0], r"between 0 and 1; row 0 is \[2.0, 3.0\]"),
        ([[np.nan, 1.0]], [0], r"between 0 and 1; row 0 is \[nan, 1.0\]"),
        ([[0.5, 0.5]], [2], "y holds 2; accepted: 0 to 1"),
        ([[0.5, 0.5]], [-1], "y holds -1; accepted: 0 to 1"),
        ([[0.5, 0.5]], [0.0], "y must hold integers; got float64"),
        ([[0.5, 0.5]], ["a"], "y must hold real numbers; got <U1"),
        ([[0.5, 0.5]], [[0]], r"y must have shape \[n\], n at least 1; got \[1, 1\]"),
        ([[0.5, 0.5]], [], r"y must have shape \[n\], n at least 1; got \[0\]"),
        (np.zeros((0, 2)), [], r"at least one row and one class; got \[0, 2\]"),
        (np.zeros((2, 0)), [0, 0], r"at least one row and one class; got \[2, 0\]"),
        ([[0.5, 0.5], [1.0]], [0, 0], "must be a rectangular array of numbers"),
        ([["a", "b"]], [0], "must hold real numbers; got <U1"),
    ],
)
def test_impossible_predictions_are_refused(
    score: Callable[[Any, Any], object], p: Any, y: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        score(p, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: brier_score([0.5, 0.5], [0]), r"must have shape \[n, K\].*; got \[2\]"),
        (lambda: brier_score([[0.5, 0.6]], [0]), "must sum to 1; row 0 sums to 1.1"),
        (lambda: accuracy([0, 1], [0]), "predictions are 2 but y has 1 labels"),
        (lambda: accuracy([0.0], [0]), "predictions must hold integers; got float64"),
        (lambda: accuracy([-1], [0]), "predictions holds -1; accepted: 0 and above"),
        (lambda: accuracy([], []), r"predictions must have shape \[n\], n at least 1"),
        (lambda: accuracy(np.zeros((1, 1, 1)), [0]), r"must have shape \[n\].*got \[1, 1, 1\]"),
        (lambda: error_auroc(P, Y, [1.0]), "score needs one number per node: 5; got 1"),
        (lambda: error_auroc(P, Y, [1, 1, np.nan, 1, 1]), "score of node 2 is NaN"),
        (lambda: reliability_curve(P, Y, 0), "n_bins must be 1 or more; got 0"),
        (lambda: reliability_curve(P, Y, 1.5), "n_bins must be an integer; got 1.5"),  # type: ignore[arg-type]
        (
            lambda: reliability_curve(P, Y, binning="mas"),  # type: ignore[arg-type]
            "unknown binning 'mas'; did you mean 'mass'\\? accepted: mass, width",
        ),
        (lambda: degree_groups([1, 2], [2]), "nodes holds 2; accepted: 0 to 1"),
        (lambda: degree_groups([1, 2], []), r"nodes must have shape \[n\], n at least 1"),
        (lambda: degree_groups([[1]], [0]), r"degrees must have shape \[n\]"),
        (lambda: paired_outcomes([0, 1], [0], [0, 1]), "predictions are 1 but y has 2 labels"),
    ],
)
def test_other_impossible_input_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_the_module_imports_nothing_heavy() -> None:
    program = "import sys, nodecopy.metrics; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    ).stdout.split()
    assert "numpy" in loaded
    assert not {"torch", "scipy", "sklearn", "torchmetrics"} & set(loaded)
