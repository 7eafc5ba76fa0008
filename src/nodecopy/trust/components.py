"""What each component of a pool weighs, and how well it predicts the labels that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.stack.base import FittedStack

# What the components of the default learn from.
_SOURCES = {
    "copied": "columns of neighbours",
    "features": "own columns",
    "graph": "labels of neighbours",
    "two hops": "columns of neighbours",
    "label propagation": "labels of neighbours",
    "places": "similar nodes",
    "blocks": "edges between classes",
    "student": "columns of neighbours",
    "roles": "degree and clustering",
    "class shares": "class shares",
    "class descriptions": "words for the classes",
    "linear": "own columns",
    "linear with neighbours": "columns of neighbours",
    "linear with places": "columns and labels of neighbours",
    "mean": "the mean of the labels",
}
# Weights from which a source is named.
_MOST, _SOME = 0.5, 0.1


@dataclass(frozen=True, eq=False)
class ComponentScore:
    """A component of a pool.

    Attributes:
        name: as in the method.
        source: what it learns from, in words.
        weight: of the pool; the weights sum to one.
        held_out: whether it predicts each held-out label, fitted without it, or by how much it is
            off where labels are numbers [n].
    """

    name: str
    source: str
    weight: float
    held_out: NDArray[Any]

    def gap(self, right: NDArray[np.bool_]) -> tuple[float, float]:
        """Return by how much the pool is more accurate, and the standard error of that."""
        gap = right.astype(np.float64) - self.held_out
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.inf
        return float(gap.mean()), float(error)


def component_scores(model: Fitted, has_columns: bool = True) -> tuple[ComponentScore, ...]:
    """Return the components of a pool, the largest weight first; none of a single one.

    Args:
        model: fitted.
        has_columns: whether nodes have columns; else they are described by whom they are tied to.
    """
    if not isinstance(model, FittedStack) or len(model.components) < 2:
        return ()
    scores = list[ComponentScore]()
    per_label = getattr(model, model.per_label)
    for name, weight, right in zip(model.names, model.pool.weights, per_label, strict=True):
        source = _SOURCES.get(name.partition(", ")[0], name)
        source = source if has_columns else source.replace("columns", "ties")
        scores.append(ComponentScore(name, source, weight, right))
    return tuple(sorted(scores, key=lambda one: -one.weight))


def weights_in_words(scores: tuple[ComponentScore, ...]) -> str:
    """Return what the pool learns from, in a few words.

    >>> right = np.ones(3, bool)
    >>> weights_in_words(
    ...     (
    ...         ComponentScore("label propagation", "labels of neighbours", 0.6, right),
    ...         ComponentScore("features", "own columns", 0.35, right),
    ...         ComponentScore("roles", "degree and clustering", 0.05, right),
    ...     )
    ... )
    'mostly labels of neighbours (60%), some own columns (35%), little else'
    """
    weights: dict[str, float] = {}
    for one in scores:
        weights[one.source] = weights.get(one.source, 0.0) + one.weight
    order = sorted(weights, key=lambda source: -weights[source])
    named = {source: weights[source] for source in order if weights[source] >= _SOME}
    words = [
        f"{'mostly' if weight >= _MOST else 'some'} {source} ({weight:.0%})"
        for source, weight in named.items()
    ]
    return ", ".join([*words, *(["little else"] if len(named) < len(weights) else [])])
