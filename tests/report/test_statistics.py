"""The statistics, against numbers worked out by hand and against SciPy."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from nodecopy.errors import InputError
from nodecopy.report.statistics import Summary, holm, signed_rank_test, summarise, welch_test


def test_a_summary_by_hand() -> None:
    summary = summarise([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert summary.n == 8
    assert summary.mean == 5.0
    assert summary.deviation == pytest.approx(math.sqrt(32 / 7))
    assert summary.standard_error == pytest.approx(math.sqrt(32 / 7 / 8))


def test_one_value_has_no_deviation() -> None:
    summary = summarise([3.0])
    assert (summary.n, summary.mean) == (1, 3.0)
    assert math.isnan(summary.deviation)
    assert math.isnan(summary.standard_error)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]]])
def test_what_has_no_summary(values: list) -> None:
    with pytest.raises(InputError, match=r"shape \[n\], n at least 1; got \["):
        summarise(values)


def test_welch_by_hand() -> None:
    # s²/n: 9/9 = 1 and 16/16 = 1; t = 2/√2; ν = 4 / (1/8 + 1/15) = 20.87
    test = welch_test(Summary(9, 12.0, 3.0), Summary(16, 10.0, 4.0))
    assert test.difference == 2.0
    nu, t = 4 / (1 / 8 + 1 / 15), math.sqrt(2)
    assert test.p == pytest.approx(2 * scipy.stats.t.sf(t, nu))
    margin = scipy.stats.t.ppf(0.975, nu) * math.sqrt(2)
    assert (test.low, test.high) == pytest.approx((2 - margin, 2 + margin))


@given(
    st.integers(2, 60),
    st.floats(-5, 5),
    st.floats(0.1, 9),
    st.integers(2, 60),
    st.floats(-5, 5),
    st.floats(0.1, 9),
)
def test_welch_is_that_of_scipy(
    n1: int, m1: float, s1: float, n2: int, m2: float, s2: float
) -> None:
    ours = welch_test(Summary(n1, m1, s1), Summary(n2, m2, s2))
    theirs = scipy.stats.ttest_ind_from_stats(m1, s1, n1, m2, s2, n2, equal_var=False)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-300)
    # The interval and the p-value say the same.
    assert (ours.low > 0 or ours.high < 0) == (ours.p < 0.05)


def test_welch_without_spread() -> None:
    assert welch_test(Summary(3, 1.0, 0.0), Summary(3, 1.0, 0.0)).p == 1
    assert welch_test(Summary(3, 1.5, 0.0), Summary(3, 1.0, 0.0)) == (0.5, 0.5, 0.5, 0.0)
    one_sided = welch_test(Summary(3, 1.5, 0.0), Summary(50, 1.0, 1.0))
    assert one_sided.p == pytest.approx(2 * scipy.stats.t.sf(0.5 * math.sqrt(50), 49))


def test_welch_needs_two_values() -> None:
    with pytest.raises(InputError, match="two values or more on each side; got 1"):
        welch_test(Summary(50, 1.0, 1.0), summarise([1.0]))


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.02, 0.9: times 4, 3, 2, 1, then never falling, at most 1.
    assert holm([0.02, 0.9, 0.01, 0.02]) == pytest.approx([0.06, 0.9, 0.04, 0.06])
    assert holm([0.3, 0.4, 0.6]) == pytest.approx([0.9, 0.9, 0.9])
    assert holm([]) == []


def test_tests_that_were_not_made_count_in_the_family() -> None:
    assert holm([0.0005, 0.0006], hypotheses=90) == pytest.approx([0.045, 0.0534])
    assert holm([0.5], hypotheses=90) == [1.0]
    with pytest.raises(InputError, match="a family of 1 hypotheses cannot hold 2 p-values"):
        holm([0.1, 0.2], hypotheses=1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 60))
def test_holm_lies_between_none_and_bonferroni(p_values: list[float], more: int) -> None:
    family = len(p_values) + more
    for p, adjusted in zip(p_values, holm(p_values, family), strict=True):
        assert p <= adjusted <= min(1.0, family * p)
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(holm(p_values, family))[order]) >= 0)


def test_signed_ranks_by_hand() -> None:
    # Differences 1, 2, 3, 4, -5: the negative rank is 5; of 32 sign patterns 20 are as extreme.
    test = signed_rank_test([1.0, 2.0, 3.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0, 5.0])
    assert (test.n, test.difference) == (5, 1.0)
    assert (test.wins, test.ties, test.losses) == (4, 0, 1)
    patterns = [sum(rank for rank in range(1, 6) if bits >> (rank - 1) & 1) for bits in range(2**5)]
    extreme = sum(min(total, 15 - total) <= 5 for total in patterns)
    assert test.p == pytest.approx(extreme / 32)


def test_ties_in_thousandths_are_ties() -> None:
    thousandths = np.array([553, 525, 600, 601, 602, 650, 651, 700, 555, 520, 530, 540])
    gaps = np.array([2, 2, 0, -1, -1, 3, 3, 3, 4, 4, 4, 2])
    first, second = thousandths / 10, (thousandths - gaps) / 10
    assert len(set(first - second)) > len(set(gaps))  # so says floating point
    test = signed_rank_test(first, second)
    assert (test.wins, test.ties, test.losses) == (9, 1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.stats.wilcoxon(gaps[gaps != 0]).pvalue
    assert test.p == pytest.approx(expected)
    assert test.difference == pytest.approx(gaps.mean() / 10)


def test_equal_pairs_differ_in_nothing() -> None:
    assert signed_rank_test([1.0, 2.0], [1.0, 2.0]) == (2, 0.0, 0, 2, 0, 1.0)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_is_not_paired(first: list, second: list) -> None:
    with pytest.raises(InputError, match=r"the same shape \[n\], n at least 1; got \["):
        signed_rank_test(first, second)
