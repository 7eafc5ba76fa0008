"""Numbers in words: on the terminal, in summary.json, on the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import counted
from nodecopy.graph import Graph
from nodecopy.result.tables import SHADES, number_bars
from nodecopy.result.words import Rows, Words, packed
from nodecopy.trust.components import ComponentScore
from nodecopy.trust.number_explanation import NumberExplanation

if TYPE_CHECKING:
    from nodecopy.result.numbers import NumberResult

# Ranges of like numbers that have a colour on the page, and points of a chart at most.
RANGES, _POINTS = 7, 2_000


class NumberWords(Words):
    """Numbers in words."""

    _of: NumberResult
    noun, label, given, score = "numbers", "known number", "a number", "error"

    def line_rows(self) -> Rows:
        """Return the range of the numbers, the scale, and the estimated error."""
        known = self._of.known[self._of.labels >= 0]
        scale = ", fitted by their logarithm" * (self._of.model.scale.name == "logarithm")
        low, middle, high = (number(value) for value in np.quantile(known, [0, 0.5, 1]))
        return [
            ("numbers", f"known from {low} to {high}, median {middle}{scale}"),
            ("error", self.estimated_line()),
        ]

    def trust_rows(self) -> Rows:
        """Return the width of intervals."""
        if self._of.held_out is None:
            return []
        width = number(float(np.median(self._widths())))
        return [(f"{100 * self._of.coverage:.10g}% intervals", f" {width} wide, in the median")]

    def own_numbers(self) -> dict[str, Any]:
        """Return quantiles, and what held-out labels tell; null where none were."""
        result, intervals = self._of, None
        if result.held_out is not None:
            width = float(np.median(self._widths()))
            intervals = {"coverage": result.coverage, "median_width": width}
        known = result.known[result.labels >= 0]
        return {
            "target": "number",
            "scale": result.model.scale.name,
            "known": _quantiles(known),
            "predicted": _quantiles(result.values),
            "estimated_error": None if result.estimate is None else asdict(result.estimate),
            "intervals": intervals,
        }

    def component_score(self, component: ComponentScore) -> dict[str, Any]:
        """Return its root mean squared error."""
        return {"held_out_rmse": _rmse(component.held_out)}

    def quality(self) -> tuple[str, str]:
        """Say how far predictions should be off."""
        error = self._of.estimate
        return (
            f"± {number(error.error)}",
            f"is how far predictions should be off on average (95% interval {number(error.low)} to "
            f"{number(error.high)}), going by {counted(error.num_labels, 'held-out label')}. "
            f"{max(error.r2, 0):.0%} of the variance is predicted"
            f"{self._on_scale()}.",
        )

    def doubt(self) -> tuple[str, str]:
        """Say how wide intervals are, and where they are widest."""
        if self._of.held_out is None:
            return "unknown", f"There are no intervals: {self._of.why_not_estimated}."
        width, values = self._widths(), self._of.values[self._of.without_label]
        where = " They are as wide for all nodes."
        if self._of.model.scale.name == "logarithm":
            most = float(np.quantile(width, 0.9))
            where = (
                f" The larger a number, the wider: above {number(most)} for a tenth of the nodes, "
                f"those predicted above {number(float(np.quantile(values, 0.9)))}."
            )
        coverage = f"{100 * self._of.coverage:.10g}%"
        return (
            number(float(np.median(width))),
            f"is the median width of {coverage} intervals.{where}",
        )

    def known(self) -> str:
        """Return the range of the known numbers."""
        known = self._of.known[self._of.labels >= 0]
        return f"from {number(float(known.min()))} to {number(float(known.max()))}"

    def trust(self) -> str:
        """Say how far predictions of held-out numbers are off."""
        return (
            f"Each of {counted(len(self._of.checked_held_out.nodes), 'known number')} was predicted"
            " without being seen; the root mean squared error was "
            f"{number(self._of.estimate.rmse)}. It holds for nodes like the labelled ones, if the "
            "known numbers are right."
        )

    def predicted(self) -> str:
        """Say what predictions of skewed numbers are."""
        scale = ""
        if self._of.model.scale.name == "logarithm":
            scale = (
                " As they are skewed, they were fitted by their logarithm: a prediction is a median"
                " rather than a mean, and errors multiply."
            )
        return f"a predicted number and an interval.{scale}"

    def sections(self) -> dict[str, Any]:
        """Return ranges, and predictions beside held-out numbers; absent where none were."""
        sections: dict[str, Any] = {"classes": self._ranges()}
        if (held_out := self._of.held_out) is None:
            return sections
        truth, predicted = self._of.held_out_values
        some = np.arange(len(truth))[:: max(len(truth) // _POINTS, 1)]
        inside = float(self._of.right.mean())
        sentence = (
            f"Each point is a known number, and what was predicted for its node without it, with "
            f"its {100 * self._of.coverage:.10g}% interval; on the dashed line the two are equal. "
            f"{inside:.0%} of {counted(len(truth), 'number')} are within their interval. The rate "
            "is an average over nodes, if labels were drawn at random."
        )
        half = self._of.half_width()
        ends = [self._of.model.scale.inverse(held_out.values + sign * half) for sign in (-1, 1)]
        columns = truth[some], predicted[some], ends[0][some], ends[1][some]
        return sections | {
            "scatter": {
                "sentence": sentence,
                "coverage": f"{100 * self._of.coverage:.10g}%",
                "logarithm": self._of.model.scale.name == "logarithm" and bool(truth.min() > 0),
                "points": [[float(f"{v:.6g}") for v in row] for row in zip(*columns, strict=True)],
            },
            "components": self._components(),
        }

    def _ranges(self) -> dict[str, Any]:
        """Return ranges of like numbers, from low to high, and how many nodes are in each."""
        ends = self._ends()
        known, values = self._of.known[self._of.labels >= 0], self._of.values
        counts = [
            np.bincount(self.ranges_of(own), minlength=len(ends) + 1) for own in (known, values)
        ]
        low = [float(values.min()), *ends.tolist()]
        high = [*ends.tolist(), float(values.max())]
        return {
            "names": [f"{number(a)} to {number(b)}" for a, b in zip(low, high, strict=True)],
            "known": counts[0].tolist(),
            "predicted": counts[1].tolist(),
        }

    def _ends(self) -> NDArray[np.float64]:
        """Return where one range of predicted numbers ends and the next begins."""
        inner = np.quantile(self._of.values, np.arange(1, RANGES) / RANGES)
        return np.unique(inner)

    def ranges_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the range that each number is in [n]."""
        return np.searchsorted(self._ends(), values)

    def node_columns(self, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """Return numbers, intervals, and the range that gives a node its colour."""
        result, (own, other, at) = self._of, self.places(nodes)
        values, known = result.values[at], result.known_values(result.given, nodes)
        bins = np.where(np.isnan(known), -1, self.ranges_of(np.nan_to_num(known)))
        columns = {
            "known": packed(bins, np.int16),
            "predicted": packed(np.where(own, self.ranges_of(values), -other), np.int16),
            "knownValue": packed(known, np.float32),
            "value": packed(values, np.float32),
        }
        if result.held_out is not None:
            low, high = result.intervals(None, result.posterior.take(at)).T
            columns |= {"low": packed(low, np.float32), "high": packed(high, np.float32)}
        return columns

    def evidence(self, why: NumberExplanation) -> dict[str, Any]:
        """Return the number that is explained, and whether pieces multiply."""
        return {"value": why.value, "mean": why.mean, "multiplies": why.multiplies}

    def relation(self, relation: Graph) -> tuple[float, str]:
        """Say how much the predicted numbers of two ends correlate."""
        values = self._of.model.posterior.values
        a, b = values[relation.row_of_entry()], values[relation.indices]
        varies = len(a) > 1 and a.std() > 0 and b.std() > 0
        correlation = float(np.corrcoef(a, b)[0, 1]) if varies else 0.0
        return abs(correlation), f"numbers of the two ends have a correlation of {correlation:.2f}"

    def shades(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[str, float]]]:
        """Return colours from low to high."""
        own = nodes < self._of.given.num_classified
        ranges = self.ranges_of(self._of.values[np.where(own, nodes, 0)])
        shades = [(SHADES[at], 1.0) for at in range(RANGES)]
        return np.where(own, ranges, RANGES), [*shades, ("#7d8893", 0.6)]

    def notebook_chart(self) -> str:
        """Return a bar for each range of numbers."""
        return number_bars(self._of.known[self._of.labels >= 0], self._of.values)

    def _widths(self) -> NDArray[np.float64]:
        """Return the width of the interval of each node without a label [n]."""
        return np.diff(self._of.intervals()[self._of.without_label])[:, 0]

    def _on_scale(self) -> str:
        return ", of logarithms" * (self._of.model.scale.name == "logarithm")

    def estimated(self) -> str:
        """Return the estimated error with its interval."""
        error = self._of.estimate
        return (
            f"about {number(error.error)} on average (95 % interval {number(error.low)} to "
            f"{number(error.high)}), from {error.num_labels:,} known numbers, each held out in "
            f"turn; {max(error.r2, 0):.0%} of the variance is predicted{self._on_scale()}"
        )

    def _components(self) -> dict[str, Any]:
        """Say what the pool is made of; give weight and error of each component, ours first."""
        components, held = self._of.components, self._of.held_out
        if not components:
            return self.pool("", [])
        best = min(components, key=lambda one: _rmse(one.held_out) or np.inf)
        ours = _rmse(held.residuals)
        more = (
            f"Its root mean squared error for {counted(len(held.nodes), 'held-out number')} was "
            f"{ours:.3g}, and that of the component that did best, {best.name}, "
            f"{_rmse(best.held_out):.3g}{self._on_scale()}."
        )
        return self.pool(
            more, [{"error": _rmse(one.held_out)} for one in components], {"error": ours}
        )


def number(value: float) -> str:
    """Return a number in few digits, large ones whole.

    >>> number(1234567.8), number(12.3456), number(0.00123456)
    ('1,234,568', '12.3', '0.00123')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _quantiles(values: NDArray[np.float64]) -> dict[str, float]:
    names = ("smallest", "lower_quartile", "median", "upper_quartile", "largest")
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return dict(zip(names, quartiles, strict=True))


def _rmse(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2))) if len(errors) else 0.0
