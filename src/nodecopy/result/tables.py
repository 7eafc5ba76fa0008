"""Predictions as a table, and as bars of a notebook, of each kind of target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Posterior
from nodecopy.features.tag_values import join_tags, split_tags
from nodecopy.predictions import COLOURS, CONFIDENCE, KNOWN, PREDICTED, Columns, Predictions
from nodecopy.stack.tags import TagPosterior

# Classes or tags that a notebook shows, pixels of the longest bar, and what a sure prediction has.
_SHOWN, _WIDTH, SURE = 12, 240, 0.9
# Opacity of a bar's second part: predictions that are not sure.
_PALE = 0.3


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


@dataclass(frozen=True, eq=False)
class NumberPredictions(Predictions):
    """Predicted numbers with intervals.

    Attributes:
        known: the numbers that the model was given, NaN for none [N].
        values: predicted [N].
        intervals: where they begin and end [N, 2]; None where no label was held out.
        coverage: of the intervals.
    """

    known: NDArray[np.float64]
    values: NDArray[np.float64]
    intervals: NDArray[np.float64] | None
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


@dataclass(frozen=True, eq=False)
class TagPredictions(Predictions):
    """Predicted tags with probabilities.

    In a file, the tags of a node are one cell: ``cat|dog``, and ``[]`` where it has none.

    Attributes:
        known: the tags that the model was given, as such cells, "" where they are unknown [N].
        names: the tags that are predicted [T].
        posterior: probabilities [N, T] and uncertainty of the nodes.
        predicted: which tags are predicted [N, T].
    """

    known: NDArray[np.object_]
    names: NDArray[np.str_]
    posterior: TagPosterior
    predicted: NDArray[np.bool_]

    def columns(self, rows: slice = slice(None), *, text: bool = True) -> Columns:
        """Return the columns; tags are one string in files, and else tuples."""
        posterior, known = self.posterior.take(rows), self.known[rows].tolist()
        predicted = [tuple(self.names[own].tolist()) for own in self.predicted[rows]]
        cells = np.empty((2, len(known)), object)
        if text:
            cells[0], cells[1] = known, list(map(join_tags, predicted))
        else:
            cells[0][:] = [split_tags(one) if one else None for one in known]
            cells[1][:] = predicted
        columns = super().columns(rows) | {KNOWN: cells[0], PREDICTED: cells[1]}
        columns |= {
            "entropy": posterior.entropy,
            "mutual_information": posterior.mutual_information,
        }
        p = posterior.probabilities
        return columns | {f"p_{name}": p[:, t] for t, name in enumerate(self.names.tolist())}


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
    head = "class", "known", "predicted", f"of them {SURE:.0%} sure"
    return _most_common(head, names, counts, counts[:, 2])


def tag_bars(names: Sequence[str], known: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> str:
    """Return HTML for a notebook: for each tag a bar as long as it has predicted nodes.

    Of many tags, those that are predicted most often are shown.
    """
    counts = np.stack([known.sum(0), predicted.sum(0)], 1)  # [T, 2]
    return _most_common(("tag", "known", "predicted"), names, counts, counts[:, 1])


def number_bars(known: NDArray[np.float64], values: NDArray[np.float64]) -> str:
    """Return HTML for a notebook: how often numbers of each range are known, and predicted."""
    ends = np.linspace(values.min(), values.max(), _SHOWN + 1)
    if ends[0] == ends[-1]:
        return ""
    counts = np.stack([np.histogram(own, ends)[0] for own in (known, values)], 1)
    names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(ends)]
    colours = [COLOURS[0]] * _SHOWN
    return _bars(("number", "known", "predicted"), names, counts, counts[:, 1], colours)


def _most_common(
    head: Sequence[str], names: Sequence[str], counts: NDArray[Any], solid: NDArray[Any]
) -> str:
    """Return the bars of the classes or tags that are predicted most often."""
    order = np.argsort(-counts[:, 1], kind="stable")[:_SHOWN]
    colours = [COLOURS[k % len(COLOURS)] for k in order.tolist()]
    shown = [names[k] for k in order.tolist()]
    return _bars(head, shown, counts[order], solid[order], colours, len(names) - len(shown))


def _bars(
    head: Iterable[str],
    names: Sequence[str],
    counts: NDArray[Any],
    solid: NDArray[Any],
    colours: Sequence[str],
    more: int = 0,
) -> str:
    """Return a table of counts, known and predicted, with a bar for the second, partly pale."""
    scale, rows = _WIDTH / max(int(counts[:, 1].max(initial=1)), 1), []
    for name, own, sure, colour in zip(
        names, counts.tolist(), solid.tolist(), colours, strict=True
    ):
        style = f"display:inline-block;height:0.8em;background:{colour};width"
        widths = f"{scale * sure:.0f}px", f"{scale * (own[1] - sure):.0f}px;opacity:{_PALE}"
        bar = "".join(f'<i style="{style}:{width}"></i>' for width in widths)
        cells = (escape(name), *(f"{count:,}" for count in own), bar)
        rows.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    rows += [f"<tr><td>and {more:,} more</td></tr>"] if more else []
    titles = "".join(f"<th>{title}</th>" for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
