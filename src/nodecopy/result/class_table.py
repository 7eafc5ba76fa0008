"""Predicted classes as a table, and as bars of a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.predictions import COLOURS, CONFIDENCE, KNOWN, PREDICTED, Columns, Predictions

# Classes that a notebook shows, pixels of the longest bar, and what a sure prediction has.
_SHOWN, _WIDTH, SURE = 12, 240, 0.9


@dataclass(frozen=True, eq=False)
class ClassPredictions(Predictions):
    r"""Predicted classes with probabilities.

    In a file, a prediction set is one column of text: ``set_90`` holds ``cat|dog`` for a set of two
    classes, in the order of their probability. A ``|`` or ``\`` within a name has a ``\`` in front.

    Attributes:
        known: the labels that the model was given, as numbers of classes, -1 for none [N].
        classes: the labels that the classes stand for [K].
        posterior: probabilities [N, K] and uncertainty of the nodes.
        sets: which classes the prediction set of each node holds [N, K]; None without sets.
        coverage: that the sets were made for.
        novelty: how probable none of the classes is [N]; None where it is not known.
        max_novelty: from which novelty on nothing is predicted; None always predicts.
    """

    known: NDArray[np.int64]
    classes: NDArray[Any]
    posterior: Posterior
    sets: NDArray[np.bool_] | None = None
    coverage: float = 0.9
    novelty: NDArray[np.float64] | None = None
    max_novelty: float | None = None

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns; sets are one string in files, and else tuples."""
        posterior = self.posterior.take(rows)
        p = posterior.probabilities
        values = [str(value) if text else value for value in self.classes.tolist()]
        labels, predicted = np.array([*values, "" if text else None], object), p.argmax(1)
        columns = super().columns(rows)
        columns |= {KNOWN: labels[self.known[rows]], PREDICTED: self.classes[predicted]}
        if text or self.max_novelty is not None:
            columns[PREDICTED] = labels[np.where(self._abstains(rows), -1, predicted)]
        columns[CONFIDENCE] = p.max(1)
        if self.sets is not None:
            cells = set_cells(self.sets[rows], p, _joined(values) if text else _tuple_of(values))
            columns[f"set_{100 * self.coverage:.10g}"] = cells
        if self.novelty is not None:
            columns["novelty"] = self.novelty[rows]
        columns |= {
            "entropy": posterior.entropy,
            "mutual_information": posterior.mutual_information,
        }
        return columns | {f"p_{value}": p[:, k] for k, value in enumerate(values)}

    def _abstains(self, rows: slice) -> NDArray[np.bool_] | bool:
        """Tell for which nodes nothing is predicted, as they are likely of no known class."""
        if self.novelty is None or self.max_novelty is None:
            return False
        return self.novelty[rows] >= self.max_novelty


def set_cells(
    sets: NDArray[np.bool_],
    probabilities: NDArray[np.floating],
    cell: Callable[[Sequence[int]], Any],
) -> NDArray[np.object_]:
    r"""Return the set of each node as a cell of a table, the most probable class first [N].

    >>> p = np.array([[0.2, 0.7, 0.1], [0.0, 0.0, 1.0]])
    >>> set_cells(p > 0.15, p, _joined(("a", "b|c", "d"))).tolist()
    ['b\\|c|a', 'd']
    """
    ones = np.empty(sets.shape[1], object)
    for k in range(len(ones)):
        ones[k] = cell([k])
    cells = ones[sets.argmax(1)]  # right where there is one class
    many = np.flatnonzero(sets.sum(1) != 1)
    order = np.argsort(-probabilities[many], axis=1, kind="stable")  # [n, K]
    ranked = np.where(np.take_along_axis(sets[many], order, 1), order, -1)
    different, which = np.unique(ranked, axis=0, return_inverse=True)
    several = np.empty(len(different), object)
    for at, row in enumerate(different.tolist()):
        several[at] = cell([k for k in row if k >= 0])
    cells[many] = several[which.ravel()]
    return cells


def _joined(names: Sequence[str]) -> Callable[[Sequence[int]], str]:
    escaped = [re.sub(r"([\\|])", r"\\\1", name) for name in names]
    return lambda classes: "|".join(escaped[k] for k in classes)


def _tuple_of(values: Sequence[Any]) -> Callable[[Sequence[int]], tuple[Any, ...]]:
    return lambda classes: tuple(values[k] for k in classes)


def class_bars(
    names: Sequence[str], probabilities: NDArray[np.floating], known: NDArray[np.int64]
) -> str:
    """Return HTML for a notebook: for each class a bar as long as it has predicted nodes.

    Its solid part are nodes with a confidence of 90 % or more. Of many classes, those that are
    predicted most often are shown.
    """
    predicted, sure, k = probabilities.argmax(1), probabilities.max(1) >= SURE, len(names)
    kept = known[known >= 0], predicted, predicted[sure]
    counts = np.stack([np.bincount(own, minlength=k) for own in kept], 1)  # [K, 3]
    scale, rows = _WIDTH / max(int(counts[:, 1].max(initial=1)), 1), []
    for c in np.argsort(-counts[:, 1], kind="stable")[:_SHOWN].tolist():
        solid, rest = scale * counts[c, 2], scale * (counts[c, 1] - counts[c, 2])
        style = f"display:inline-block;height:0.8em;background:{COLOURS[c % len(COLOURS)]};width"
        bar = (
            f'<i style="{style}:{solid:.0f}px"></i><i style="{style}:{rest:.0f}px;opacity:0.3"></i>'
        )
        cells = (escape(names[c]), *(f"{count:,}" for count in counts[c].tolist()), bar)
        rows.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    more = f"<tr><td>and {k - _SHOWN:,} more</td></tr>" if k > _SHOWN else ""
    head = f"<th>class</th><th>known</th><th>predicted</th><th>of them {SURE:.0%} sure</th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}{more}</tbody></table>"
