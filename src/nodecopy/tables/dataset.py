"""TableDataset: a dataset read from files, and `read_tables`, which reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.structural import NO_FEATURES, structural_features
from nodecopy.errors import DatasetError, counted, listed
from nodecopy.machine import usable_memory
from nodecopy.progress import Progress
from nodecopy.tables.database import SHOWN, Database
from nodecopy.tables.edges import build_graph, fetch_edges, load_edges
from nodecopy.tables.features import FeatureMatrix, FeatureTable, open_features
from nodecopy.tables.formats import PathLike
from nodecopy.tables.ids import Ids, isolated_nodes, number_nodes
from nodecopy.tables.labels import load_labels, number_labels
from nodecopy.tables.options import RepeatedEdges, TableOptions

_STAGES = 4


@dataclass(frozen=True, eq=False)
class TableDataset:
    """A dataset, and what became of the files it was read from.

    Attributes:
        dataset: graph, features and labels; the label is -1 where it is unknown.
        ids: the id of each node as the files have it [N]: int64 where every id is a plain integer
            of 64 bits, else strings (an object array).
        feature_names: of the columns [D]; without features, the ids of the nodes they stand for.
        notes: what was changed or assumed, in sentences.
        repeated_edges: weight of an edge with several rows, see `TableOptions`.
        filled: what replaced missing numbers, by the name of the feature.
    """

    dataset: NodeDataset
    ids: Ids
    feature_names: tuple[str, ...]
    notes: tuple[str, ...]
    repeated_edges: RepeatedEdges = "largest"
    filled: Mapping[str, float] = field(default_factory=dict)


def read_tables(
    edges: PathLike,
    labels: PathLike | Sequence[PathLike] | None = None,
    features: PathLike | None = None,
    *,
    means: Mapping[str, float] | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> TableDataset:
    r"""Read a graph, labels and features from CSV, TSV or Parquet files.

    Ids are compared as they are written: ``007`` is not ``7``. The nodes are the ids of the edges
    and of the features. docs/tables.md has examples.

    Args:
        edges: two ids in each row, and perhaps a weight. The graph is undirected and simple:
            an edge counts in both directions and once, self-loops are dropped.
        labels: an id and a label in each row, empty where unknown; None where nothing is known.
            Of several files one may say what another leaves open; they must not disagree.
        features: an id and its numbers in each row; or id, feature and value. None takes
            `structural_features`.
        means: replacements for missing features, by the name of the feature, where a model was
            fitted with some; other columns are replaced by their means.
        threads: how many DuckDB may use; None for one per core.
        max_memory: bytes that the arrays may take; more is refused. None is half of what this
            process may use.
        progress: called with how much is done.
        options: fields of `TableOptions`, such as ``edge_columns``.

    Raises:
        DatasetError: files lack what is needed, or do not fit together.
        FormatError: files are damaged or of an unknown format.
        RunError: more memory or disk is needed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edges, labels = Path(folder, "edges.csv"), Path(folder, "labels.csv")
    ...     _ = edges.write_text("from,to\nann,bob\nbob,eve\nbob,bob\n")
    ...     _ = labels.write_text("id,label\neve,red\nann,blue\n")
    ...     table = read_tables(edges, labels)
    >>> table.ids.tolist(), table.dataset.labels.tolist(), table.dataset.class_names
    (['ann', 'bob', 'eve'], [0, -1, 1], ('blue', 'red'))
    >>> table.notes[1]
    'edges.csv: dropped 1 self-loop'
    """
    settings = TableOptions(**options)
    for kind, columns, files in (
        ("label", settings.label_columns, labels),
        ("feature", settings.feature_columns, features),
    ):
        if columns is not None and not files:
            raise DatasetError(f"{kind}_columns are named, but no file of {kind}s is given")
    most = usable_memory() // 2 if max_memory is None else max_memory
    source: FeatureTable | None = None
    matrix: FeatureMatrix | None = None

    def done(stage: int) -> None:
        if progress is not None:
            progress(stage, _STAGES)

    with Database(settings, threads=threads) as db:
        with db.collected():
            load_edges(db, edges, most)
        if features is not None:
            with db.collected():
                source = open_features(db, features)
                source.load(db)
        load_labels(db, labels)
        done(1)
        db.raise_problems()
        ids = number_nodes(db)
        done(2)
        known = number_labels(db, len(ids))
        if source is not None:
            with db.collected():
                matrix = source.fetch(db, ids, means or {})
        db.raise_problems()
        rows = fetch_edges(db)
        notes = [note for table, _ in db.loaded.values() for note in table.notes]
        notes += _isolation(db, ids) if source is not None else []
        edge_path = db.loaded["edges"][0].path
    done(3)
    graph, of_edges = build_graph(len(ids), rows, settings.repeated_edges)
    of_edges = [f"{edge_path.name}: {note}" for note in of_edges]
    if matrix is None:
        values, hubs = structural_features(graph)
        matrix = FeatureMatrix(values, tuple(str(ids[hub]) for hub in hubs), (NO_FEATURES,))
    done(4)
    name = edge_path.name.split(".")[0] or edge_path.name
    return TableDataset(
        NodeDataset(name, graph, matrix.values, known.labels, known.class_names),
        ids,
        matrix.names,
        (*of_edges, *notes, *known.notes, *matrix.notes),
        settings.repeated_edges,
        matrix.filled,
    )


def _isolation(db: Database, ids: Ids) -> list[str]:
    """Return a note on nodes that are in no edge."""
    isolated = isolated_nodes(db)
    if not len(isolated):
        return []
    file = db.loaded["features"][0].path.name
    first = listed([repr(str(ids[node])) for node in isolated[:SHOWN]], len(isolated))
    return [f"{file}: {counted(len(isolated), 'id')} in no edge, kept as isolated nodes: {first}"]
