"""The forecast of what more labels bring, on curves whose end is known."""

from __future__ import annotations

import numpy as np
import pytest

from nodecopy.annotation.forecasting import Forecast, forecast


def simulated(rng: np.random.Generator) -> tuple[list[int], list[float], float]:
    """Return a curve of estimates, as a growing sample gives them, and what 20 more bring."""
    beta, floor = abs(rng.normal(0.4, 0.2)), rng.uniform(0, 0.9)
    now, n0 = rng.uniform(0.1, 0.6), int(rng.integers(20, 100))

    def error(n: int) -> float:
        return now * (floor + (1 - floor) * (n / n0) ** -beta)

    counts = list(range(max(n0 // 3, 8), n0 + 1, 3))
    draws = rng.random(n0)
    wrong = [np.sum(draws[:n] < error(n)) + 20 * error(n) for n in counts]
    estimates = [float(1 - w / (n + 20)) for n, w in zip(counts, wrong, strict=True)]
    return counts, estimates, error(counts[-1]) - error(counts[-1] + 20)


def test_the_interval_holds_what_comes_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held, pairs = [], []
    for _ in range(60):
        counts, estimates, gain = simulated(rng)
        said = forecast(counts, estimates)
        held.append(said.low <= gain <= said.high)
        pairs.append((said.gain, gain))
    assert 0.7 <= np.mean(held) <= 0.95
    said, came = np.array(pairs).T
    assert np.corrcoef(said, came)[0, 1] > 0.8
    assert abs(np.mean(said - came)) < 0.01


def test_a_curve_that_is_flat_says_stop_and_a_steep_one_go_on():
    flat = forecast(range(20, 200, 2), [0.9] * 90)
    assert flat.high < 0.01
    assert "a good place to stop" in flat.words
    counts = list(range(6, 40, 3))
    steep = forecast(counts, [1 - 0.8 * (n / 6) ** -0.6 for n in counts])
    assert steep.low > 0.02
    assert steep.words.endswith("It is worth going on.")
    assert f"20 more labels would bring about {100 * steep.gain:.1f} points" in steep.words


def test_little_is_known_at_first_and_that_is_said():
    none, one = forecast([], []), forecast([10], [0.5])
    assert "cannot be told before the first estimate" in none.words
    assert "That is a guess" in one.words
    many = forecast(list(range(10, 60, 5)), [1 - 0.5 * (n / 10) ** -0.4 for n in range(10, 60, 5)])
    assert one.high - one.low > 2 * (many.high - many.low)


def test_of_several_estimates_with_as_many_labels_the_last_counts():
    assert forecast([10, 12, 12], [0.5, 0.1, 0.6]) == forecast([10, 12], [0.5, 0.6])
    assert forecast([10, 12, 10], [0.5, 0.6, 0.5]).estimates == 2


@pytest.mark.parametrize(
    ("gain", "high", "words"),
    [(0.01, 0.03, "1.0 point of"), (0.004, 0.03, "You may stop here"), (0.02, 0.03, "2.0 points")],
)
def test_words(gain: float, high: float, words: str):
    assert words in Forecast(20, gain, 0.0, high, 5).words
