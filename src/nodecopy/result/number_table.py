"""Predicted numbers as a table, and as a chart of a notebook."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodecopy.predictions import KNOWN, PREDICTED, Columns, Predictions

Array = NDArray[np.float64]
_BARS, _WIDTH = 12, 240


@dataclass(frozen=True, eq=False)
class NumberPredictions(Predictions):
    """Predicted numbers with intervals.

    Attributes:
        known: the numbers that the model was given, NaN for none [N].
        values: predicted [N].
        intervals: where they begin and end [N, 2]; None where no label was held out.
        coverage: of the intervals.
    """

    known: Array
    values: Array
    intervals: Array | None
    coverage: float

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns: known, predicted, and both ends of the interval."""
        columns = super().columns(rows) | {KNOWN: self.known[rows], PREDICTED: self.values[rows]}
        if self.intervals is not None:
            name = f"{100 * self.coverage:.10g}"
            columns |= {
                f"low_{name}": self.intervals[rows, 0],
                f"high_{name}": self.intervals[rows, 1],
            }
        return columns


def number_bars(known: Array, values: Array) -> str:
    """Return HTML for a notebook: how often numbers of each range are known, and predicted."""
    ends = np.unique(np.quantile(values, np.linspace(0, 1, _BARS + 1)))
    if len(ends) < 2:
        return ""
    ends = np.linspace(ends[0], ends[-1], _BARS + 1)
    counts = [np.histogram(own, ends)[0] for own in (known, values)]
    scale, rows = _WIDTH / max(int(counts[1].max()), 1), []
    for low, high, given, count in zip(ends[:-1], ends[1:], *counts, strict=True):
        style = "display:inline-block;height:0.8em;background:#0072b2;width"
        bar = f'<i style="{style}:{scale * count:.0f}px"></i>'
        cells = (f"{low:.4g} to {high:.4g}", f"{given:,}", f"{count:,}", bar)
        rows.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    head = "<th>number</th><th>known</th><th>predicted</th><th></th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
