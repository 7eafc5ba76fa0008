"""What held-out labels tell about the predictions, as sections of the page: words and values."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import counted
from nodecopy.core.metrics import reliability_curve, wilson_interval
from nodecopy.result import Result
from nodecopy.stack.held_out import HeldOut

# Below this many held-out labels, a reliability diagram shows chance more than calibration.
FEW_HELD_OUT = 100
# Classes that a table of mistakes has at most, and rows of the list in its place.
_MATRIX, _PAIRS = 15, 20


def held_out_sections(result: Result) -> dict[str, dict[str, Any]]:
    """Return the sections by name; without held-out labels, each says only why it is empty."""
    held_out = result.held_out
    if held_out is None:
        names = ("reliability", "baselines", "confusion", "sets")
        sentence = f"This cannot be estimated: {result.why_not_estimated}."
        return {name: {"sentence": sentence} for name in names}
    return {
        "reliability": _reliability(held_out),
        "baselines": _baselines(result, held_out),
        "confusion": _confusion(held_out, len(result.classes)),
        "sets": _sets(result),
    }


def _reliability(held_out: HeldOut) -> dict[str, Any]:
    """Say whether confidence can be taken at its word; give a point for each bin of it."""
    n = len(held_out.nodes)
    mean = float(held_out.probabilities.max(-1).mean())
    low, high = wilson_interval(held_out.scores.accuracy, n)
    if mean < low:
        verdict = "predictions are right more often than their confidence says"
    elif mean > high:
        verdict = "predictions are right less often than their confidence says"
    else:
        verdict = "the two agree within the uncertainty of so many labels"
    few = "" if n >= FEW_HELD_OUT else f" Fewer than {FEW_HELD_OUT} labels are a hint at most."
    sentence = (
        f"Over {counted(n, 'held-out label')}, mean confidence was {mean:.0%} and "
        f"{held_out.scores.accuracy:.0%} were right: {verdict}. On the dashed line, the share of "
        f"correct predictions equals their confidence; lines are 95% intervals.{few}"
    )
    curve = reliability_curve(held_out.probabilities, held_out.truth, n_bins=10)
    points = [
        {"confidence": round(float(confidence), 4), "count": int(count)} | _share(accuracy, count)
        for confidence, accuracy, count in zip(
            curve.confidence, curve.accuracy, curve.count, strict=True
        )
        if count
    ]
    return {"sentence": sentence, "points": points}


def _baselines(result: Result, held_out: HeldOut) -> dict[str, Any]:
    """Say whether simple methods do as well; give the accuracy of each method, ours first."""
    baselines = result.lists.baselines
    if not baselines:
        failed = result.lists.failures.get("baselines")
        return {"sentence": f"Simple methods were not compared: {failed or 'the graph is large'}."}
    n, right = len(held_out.nodes), held_out.right
    best = max(baselines, key=lambda baseline: float(baseline.right.mean()))
    gap, error = best.gap(right)
    if gap > 2 * error:
        verdict = "The difference is more than chance does, so nodecopy is worth it here."
    elif gap < -2 * error:
        verdict = "The difference is more than chance does: use the simple method here."
    else:
        verdict = "That is within what chance does: the simple method may do as well."
    sentence = (
        f"On the same {counted(n, 'held-out label')}, nodecopy was right in {right.mean():.0%}, "
        f"and the best of the simple methods, {best.name}, in {best.right.mean():.0%}. {verdict}"
    )
    rows = [{"name": "nodecopy", "difference": ""} | _share(right.mean(), n)]
    for baseline in baselines:
        gap, error = baseline.gap(right)
        interval = f" ± {200 * error:.1f}" if isfinite(error) else ""  # two standard errors
        difference = f"{-100 * gap:+.1f}".replace("-", "−") + interval
        share = _share(baseline.right.mean(), n)
        rows.append({"name": baseline.name, "difference": difference} | share)
    return {"sentence": sentence, "rows": rows}


def _confusion(held_out: HeldOut, k: int) -> dict[str, Any]:
    """Return counts of known labels by what was predicted; of many classes, the commonest pairs."""
    sentence = (
        f"{held_out.right.sum():,} of {len(held_out.nodes):,} held-out labels were predicted. "
        "A row is a known label, a column what was predicted in its place."
    )
    predicted = held_out.probabilities.argmax(1)
    counts = np.bincount(held_out.truth * k + predicted, minlength=k * k).reshape(k, k)
    if k <= _MATRIX:
        return {"sentence": sentence, "counts": counts.tolist()}
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[: min(_PAIRS, np.count_nonzero(counts))]
    pairs = [[int(at // k), int(at % k), int(counts.flat[at])] for at in order]
    return {"sentence": sentence, "pairs": pairs}


def _sets(result: Result) -> dict[str, Any]:
    """Say what is promised of a prediction set; count those of one class, of two, and so on."""
    sizes: NDArray[np.int64] = result.sets().sum(1)[result.without_label]
    coverage = f"{100 * result.coverage:.10g}%"
    sentence = (
        f"The set of a node holds its most probable classes, as many as it takes for {coverage} of "
        f"all sets to hold the true class; they have {sizes.mean():.2f} classes on average. The "
        "rate is an average over nodes, if labels were drawn at random; it is not promised for a "
        "single node or class, nor where somebody chose what to label."
    )
    counts = np.bincount(sizes, minlength=2)[1:].tolist()
    return {"sentence": sentence, "coverage": coverage, "counts": counts}


def _share(right: float, count: int) -> dict[str, float]:
    """Return a share of correct predictions with its interval."""
    low, high = wilson_interval(float(right), int(count))
    return {"right": round(float(right), 4), "low": round(low, 4), "high": round(high, 4)}
