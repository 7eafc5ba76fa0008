"""How much each kind of edges tells about the classes, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import counted
from nodecopy.graph import Graph
from nodecopy.posterior.averaging import entropy
from nodecopy.run import LabelledGraph

_MOST = 20  # kinds that are listed


def kind_sentences(result: LabelledGraph) -> list[str]:
    """Return a sentence on each kind of edges, the one that tells most first; none without kinds.

    Classes are the predicted ones.
    """
    dataset = result.table.dataset
    if not dataset.graph.kinds:
        return []
    classes = np.asarray(result.classifier.model_.probabilities).argmax(1)  # of every kind of node
    told = {name: _told(kind, classes) for name, kind in dataset.graph.kinds.items()}
    order = sorted(told, key=lambda name: -told[name][0])
    sentences = []
    for name in order[:_MOST]:
        information, equal, by_chance = told[name]
        directed = ", directed" * dataset.graph.kinds[name].directed
        sentences.append(
            f"{name}: {counted(dataset.graph.kinds[name].num_edges, 'edge')}{directed}; the class "
            f"of one end tells {information:.0%} of the class of the other; {equal:.0%} join equal "
            f"classes, {by_chance:.0%} would by chance"
        )
    return [*sentences, *([f"and {len(told) - _MOST:,} more"] if len(told) > _MOST else [])]


def _told(graph: Graph, classes: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return the mutual information of the classes of two ends as a share of the entropy of one.

    Corrected for chance in few edges (Miller and Madow); then the share of edges that join equal
    classes, and the share to expect.
    """
    k = int(classes.max()) + 1
    pairs = np.bincount(classes[graph.row_of_entry()] * k + classes[graph.indices], minlength=k * k)
    total = max(int(pairs.sum()), 1)
    joint = pairs.reshape(k, k) / total
    rows, columns = joint.sum(1), joint.sum(0)
    chance = (
        (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * graph.num_edges or 1)
    )
    information = float(entropy(rows) + entropy(columns) - entropy(joint.ravel())) - chance
    share = max(information, 0.0) / max(float(entropy(columns)), 1e-12)
    return share, float(np.trace(joint)), float(rows @ columns)
