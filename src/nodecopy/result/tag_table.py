"""Predicted tags as a table, and as bars of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from nodecopy.features.tag_values import join_tags, split_tags
from nodecopy.predictions import COLOURS, KNOWN, PREDICTED, Columns, Predictions
from nodecopy.stack.tags import TagPosterior

# Tags that a notebook shows, and pixels of the longest bar.
_SHOWN, _WIDTH = 12, 240


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


def tag_bars(names: Sequence[str], known: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> str:
    """Return HTML for a notebook: for each tag a bar as long as it has predicted nodes.

    Of many tags, those that are predicted most often are shown.
    """
    counts = np.stack([known.sum(0), predicted.sum(0)], 1)  # [T, 2]
    scale, rows = _WIDTH / max(int(counts[:, 1].max(initial=1)), 1), []
    for t in np.argsort(-counts[:, 1], kind="stable")[:_SHOWN].tolist():
        colour, width = COLOURS[t % len(COLOURS)], scale * counts[t, 1]
        style = f"display:inline-block;height:0.8em;background:{colour};width:{width:.0f}px"
        cells = escape(names[t]), *(f"{one:,}" for one in counts[t].tolist())
        rows.append(f'<tr><td>{"</td><td>".join(cells)}</td><td><i style="{style}"></i></td></tr>')
    more = f"<tr><td>and {len(names) - _SHOWN:,} more</td></tr>" if len(names) > _SHOWN else ""
    head = "<th>tag</th><th>known</th><th>predicted</th>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}{more}</tbody></table>"
