"""What a fit found, as tables: predictions, what to label, what to doubt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.data.tables import TableDataset
from nodecopy.errors import FormatError, InputError
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.labelling import FitSettings, LabelledGraph
from nodecopy.labelling.built_in import truth_of
from nodecopy.labelling.evaluation import ID, KNOWN, PREDICTED, PROBABILITY, read_columns
from nodecopy.labelling.pair_evidence import shared_neighbours
from nodecopy.labelling.set_column import column_name, set_texts
from nodecopy.labelling.settings import Formulas
from nodecopy.posterior import Posterior
from nodecopy.progress import Progress
from nodecopy.report.labelled.table_files import BLOCK, Columns, Target, write_table
from nodecopy.whole_file import replacing

_FORMATS = (".csv", ".parquet")


class Sets(NamedTuple):
    """Prediction sets of nodes: which classes each holds [N, K], and the coverage asked for."""

    held: NDArray[np.bool_]
    coverage: float


def sets_of(
    classifier: NodeCopyClassifier, posterior: Posterior, coverage: float | None
) -> Sets | None:
    """Return the sets of nodes of a graph that a model was applied to.

    Args:
        classifier: the model.
        posterior: what it says of the nodes.
        coverage: of the sets; None takes 0.9, and gives none where no label was held out.
    """
    if coverage is None and classifier.held_out_ is None:
        return None
    asked = FitSettings.coverage if coverage is None else coverage
    return Sets(classifier.assessment().sets.sets(posterior.probabilities, asked), asked)


def check_predictions_file(path: str) -> Path:
    """Return a file that may be written: a new one, or one that holds predictions."""
    target = Path(os.path.realpath(path))
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"--out must be a file in a folder that is there; got {path}")
    if target.exists() and not _may_be_replaced(target):
        raise InputError(f"{path} holds something else than predictions and is not overwritten")
    if target.suffix.casefold() not in _FORMATS:
        raise InputError(f"--out must be a file that ends in {' or '.join(_FORMATS)}; got {path}")
    return target


def write_predictions(
    rows: PredictionRows,
    target: Path,
    formulas: Formulas = "keep",
    progress: Progress | None = None,
) -> None:
    """Write predictions to a file as its name says, CSV or Parquet; nobody sees half of it."""
    text = target.suffix.casefold() == ".csv"
    with replacing(target) as part:
        file = Target(part, target)
        write_table(
            rows.blocks(),
            file if text else None,
            None if text else file,
            formulas=formulas,
            num_rows=len(rows.table.ids),
            progress=progress,
        )


def _may_be_replaced(target: Path) -> bool:
    """Tell whether a file is empty, or one that holds predictions."""
    if not target.is_file():
        return False
    if target.stat().st_size == 0:
        return True
    try:
        return read_columns(target)[:3] == [ID, KNOWN, PREDICTED]
    except FormatError:
        return False


@dataclass(frozen=True, eq=False)
class PredictionRows:
    """A row for each node: what is known, what is predicted, and how surely.

    Attributes:
        table: the nodes, the classes, and the labels that the model was given.
        posterior: of the nodes.
        sets: prediction sets; None where there are none, and no column of them.
    """

    table: TableDataset
    posterior: Posterior
    sets: Sets | None = None

    def blocks(self, size: int = BLOCK) -> Iterator[Columns]:
        """Yield the rows of some nodes at a time, column by column."""
        count = len(self.table.ids)
        for start in range(0, count, size):
            yield self._block(slice(start, min(start + size, count)))

    def _block(self, nodes: slice) -> Columns:
        posterior, data = self.posterior.take(nodes), self.table.dataset
        p, names = posterior.probabilities, np.array([*data.class_names, ""], object)
        held = {}
        if self.sets is not None:
            texts = set_texts(self.sets.held[nodes], p, data.class_names)
            held = {column_name(self.sets.coverage): texts}
        return {
            ID: self.table.ids[nodes],
            KNOWN: names[data.labels[nodes]],
            PREDICTED: names[p.argmax(1)],
            "confidence": p.max(1),
            **held,
            "entropy": posterior.entropy,
            "graph_information": posterior.graph_information,
            "weight_information": posterior.weight_information,
            "model_information": posterior.model_information,
            **{f"{PROBABILITY}{name}": p[:, k] for k, name in enumerate(data.class_names)},
        }


def next_labels_table(found: LabelledGraph) -> Columns:
    """Return the nodes most worth labelling, the best first, with a column to fill in.

    `nodecopy fit` takes the file beside the other labels: ``--labels labels.csv --labels …``.
    """
    nodes, p = found.next_labels.nodes, found.posterior.probabilities
    return {
        "rank": np.arange(1, len(nodes) + 1),
        ID: found.table.ids[nodes],
        PREDICTED: _classes(found)[p[nodes].argmax(1)],
        "confidence": p[nodes].max(1),
        "gain": found.next_labels.gain,
        "label": np.full(len(nodes), "", object),
    }


def suspect_edges_table(found: LabelledGraph) -> Columns:
    """Return the edges that may be wrong, the most suspect first; most probable labels."""
    p, names = found.posterior.probabilities, _classes(found)
    source, target = found.suspects.nodes.T
    graph = found.table.dataset.graph.symmetrise().without_self_loops()
    shared = shared_neighbours(graph, found.suspects.nodes)
    return {
        "source": found.table.ids[source],
        "target": found.table.ids[target],
        "source_label": names[p[source].argmax(1)],
        "target_label": names[p[target].argmax(1)],
        "source_confidence": p[source].max(1),
        "target_confidence": p[target].max(1),
        "shared_neighbours": shared.round().astype(np.int64),
        "surprise": found.suspects.surprise,
    }


def suspect_labels_table(found: LabelledGraph) -> Columns:
    """Return the known labels that are contradicted, the most suspect first; none may be."""
    suspects, names = found.suspect_labels, _classes(found)
    none = np.zeros(0, np.int64)
    nodes, given, suggested = (
        (none, none, none)
        if suspects is None
        else (suspects.nodes, suspects.given, suspects.suggested)
    )
    return {
        ID: found.table.ids[nodes],
        "given": names[given],
        "suggested": names[suggested],
        "probability": np.zeros(0) if suspects is None else suspects.probability,
    }


def truth_table(settings: FitSettings) -> Columns:
    """Return the true labels of the test nodes of a built-in dataset."""
    nodes, names = truth_of(settings)
    return {ID: nodes, "label": names}


def _classes(found: LabelledGraph) -> NDArray[np.object_]:
    return np.array(found.class_names, object)
