"""The figures of a fit, for other programs: summary.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.labelling import LabelledGraph

# From this probability on, a label is more likely wrong than right.
LIKELY = 0.5


def figures_json(found: LabelledGraph) -> str:
    """Return the figures of a fit as JSON; null where no label was held out."""
    return json.dumps(figures(found), indent=2, allow_nan=False) + "\n"


def figures(found: LabelledGraph) -> dict[str, Any]:
    """Return counts, the estimated accuracy, and how large sets are, of nodes without a label."""
    labels, sizes = found.table.dataset.labels, set_sizes(found)
    confidence = found.posterior.probabilities.max(1)[_without_label(found)]
    return {
        "nodes": len(labels),
        "known_labels": int(np.count_nonzero(labels >= 0)),
        "classes": len(found.class_names),
        "mean_confidence": round(float(confidence.mean()), 6),
        "hidden_labels": _hidden_labels(found),
        "estimated_accuracy": None if found.accuracy is None else asdict(found.accuracy),
        "sets": None
        if sizes is None
        else {"coverage": found.settings.coverage, "mean_size": round(float(sizes.mean()), 6)},
        "suspect_labels": None
        if found.suspect_labels is None
        else {
            "contradicted": len(found.suspect_labels.nodes),
            "probably_wrong": probably_wrong(found),
        },
        "suspect_edges": len(found.suspects.nodes),
    }


def _hidden_labels(found: LabelledGraph) -> dict[str, Any] | None:
    """Return how many labels were hidden in turn, and which share each method predicted rightly."""
    if found.validation is None:
        return None
    right = {"nodecopy": found.validation.right, **{r.name: r.right for r in found.rivals}}
    shares = {name: round(float(hits.mean()), 6) for name, hits in right.items()}
    return {"labels": len(found.validation.nodes), "right": shares}


def set_sizes(found: LabelledGraph) -> NDArray[np.int64] | None:
    """Return how many classes the sets of the nodes without a label hold [n]."""
    if found.sets is None:
        return None
    sizes: NDArray[np.int64] = found.sets.sum(1)[_without_label(found)]
    return sizes


def probably_wrong(found: LabelledGraph) -> int:
    """Return how many known labels are more likely wrong than right."""
    suspects = found.suspect_labels
    return 0 if suspects is None else int(np.count_nonzero(suspects.probability >= LIKELY))


def _without_label(found: LabelledGraph) -> NDArray[np.bool_]:
    """Return a mask of the nodes without a label; of all, where each has one [N]."""
    without: NDArray[np.bool_] = found.table.dataset.labels < 0
    return without if without.any() else ~without
