"""Why a node has its predicted number: pieces that add up to it, on the scale of the fit.

A pool of linear regressors is linear: its prediction is the sum of w_c times the terms of each
component (`nodecopy.nn.evidence`), exactly. On a scale of logarithms the pieces multiply.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.nn.evidence import Contrast, Source, Terms
from nodecopy.problem.problem import Problem
from nodecopy.stack.numbers import FittedNumberStack
from nodecopy.trust.explainer import add_terms, named_views, node_name, parts_of
from nodecopy.trust.explanation import Row, Waterfall

_TITLES: dict[Source, tuple[str, str]] = {
    "column": ("words and columns", "Its own words and columns make"),
    "neighbour": ("neighbours", "Its {n} neighbours, with the nodes behind them, make"),
    "own label": ("its own label", "Its own known number makes"),
    "position": ("position in the graph", "Where it is in the graph, whatever its columns, makes"),
    "not explained": ("not divided", "What cannot be divided makes"),
}


@dataclass(frozen=True)
class NumberExplanation(Waterfall):
    """Why a node has its number.

    All rows of `evidence` add up to what the number is above the mean of the labels, on the scale
    of the fit: as it is, or its logarithm. They are exact, but for the division of numeric columns
    that go through a kernel.

    Attributes:
        node: name or number.
        value: the predicted number.
        mean: of the labels, as the components have it.
        multiplies: whether that is a logarithm, so that pieces multiply.
        evidence: the largest first.
        labels: the same by the labelled nodes that the model learnt from.
    """

    node: Hashable
    value: float
    mean: float
    multiplies: bool
    evidence: tuple[Row, ...]
    labels: tuple[Row, ...] = ()

    unit = "effect"
    axis = "what pieces add, on the scale of the fit"
    sum_title = "together"
    favourable = "raise it"
    bar_titles = _TITLES

    @property
    def total(self) -> float:
        """What the number is above the mean, on the scale of the fit."""
        return sum(row.log_odds for row in self.evidence)

    @property
    def title(self) -> str:
        """The number."""
        pieces = "pieces multiply" if self.multiplies else "pieces add"
        return f"{self.value:,.6g}; from the mean of the labels, {self.mean:,.6g}, {pieces}"

    def effect(self, value: float) -> str:
        """Say what pieces do to the number."""
        if self.multiplies:
            return f"it {float(np.exp(value)):,.3g} times as large"
        return f"it {abs(value):,.4g} {'larger' if value >= 0 else 'smaller'}"

    def piece(self, value: float) -> str:
        """Return what a piece adds, or multiplies by."""
        return f"×{float(np.exp(value)):.3g}" if self.multiplies else f"{value:+.4g}"

    def written(self, value: float) -> str:
        """Return what a bar adds."""
        return self.piece(value)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        scale = "natural logarithm of the number" if self.multiplies else "the number"
        node = self.node if isinstance(self.node, (str, int, float)) else str(self.node)
        return {
            "node": node,
            "value": self.value,
            "mean": self.mean,
            "scale": scale,
            "effect": self.total,
            **self.plain_bars(),
        }

    @property
    def telling(self) -> float:
        """A hundredth of the largest piece."""
        return 0.01 * max((abs(row.log_odds) for row in self.evidence), default=0.0)


class NumberExplainer:
    """Explanations of the nodes of a fit; what they share is computed once.

    Args:
        given: the nodes, as the model was fitted to them.
        model: the fitted stack.
    """

    def __init__(self, given: Problem, model: FittedNumberStack) -> None:
        self._given, self._model = given, model
        self._parts = parts_of(model, given.graph, given.scaled)

    def explain(self, nodes: Sequence[int]) -> list[NumberExplanation]:
        """Return why nodes have their number, given their numbers."""
        at = np.array(nodes, np.int64)
        return [
            self._named(int(node), *views) for node, views in zip(at, self._views(at), strict=True)
        ]

    def _views(self, nodes: NDArray[np.int64]) -> list[tuple[Terms, Terms]]:
        """Return the sum of the terms of all components; and by labels."""
        totals: list[tuple[Terms, Terms]] = [({}, {}) for _ in nodes]
        first = np.zeros_like(nodes)
        for part in self._parts:
            if part.weight == 0:
                continue
            of = Contrast(nodes, first, first + 1, part.probabilities)
            values = np.asarray(part.probabilities)[nodes, 0].tolist()
            each = part.fitted.terms(part.near, of)
            for both, terms, value in zip(totals, each, values, strict=True):
                add_terms(both, terms, value, part.weight)
        return totals

    def _named(self, node: int, evidence: Terms, labels: Terms) -> NumberExplanation:
        """Return an explanation with everything named."""
        mean, scale = evidence.pop(_MEAN), self._model.scale
        labels.pop(_MEAN, None)
        value, start = scale.inverse(np.array([mean + sum(evidence.values()), mean])).tolist()
        rows = named_views(self._given, node, evidence, labels)
        name, multiplies = node_name(self._given, node), scale.name == "logarithm"
        return NumberExplanation(name, value, start, multiplies, *rows)


_MEAN: tuple[Source, int] = ("class prior", 0)
