"""TableDataset: a dataset made of one's own files, and `read_tables`, which makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from nodecopy.data.dataset import NodeDataset
from nodecopy.data.structural import NO_FEATURES, structural_features
from nodecopy.data.tables.arrays import read_arrays
from nodecopy.data.tables.columns import feature_columns as feature_columns_of
from nodecopy.data.tables.database import MEMORY_LIMIT, Database, Reading
from nodecopy.data.tables.edges import (
    EdgeCounts,
    RepeatedEdges,
    build_graph,
    fetch_edges,
    load_edges,
)
from nodecopy.data.tables.features import (
    FeatureMatrix,
    FeatureSource,
    FeatureTable,
    Filling,
    MissingValues,
)
from nodecopy.data.tables.headers import settle_headers
from nodecopy.data.tables.kinds import FEATURES
from nodecopy.data.tables.labels import PathLike, load_labels, number_labels
from nodecopy.data.tables.nodes import Ids, number_nodes, without_edges
from nodecopy.data.tables.problems import Problems
from nodecopy.data.tables.sql import is_in
from nodecopy.data.tables.wording import SHOWN, counted
from nodecopy.errors import DatasetError, unknown_name
from nodecopy.machine import usable_memory
from nodecopy.progress import Progress, stages

# What it takes to read edges and features, to number ids, and to fetch features and edges; the rest
# is for the graph.
_SHARES = (3, 3, 1, 1, 1, 1)


@dataclass(frozen=True, eq=False)
class TableDataset:
    """A dataset, and what became of the files it was read from.

    Attributes:
        dataset: graph, features and labels; the label is -1 where it is unknown.
        ids: the id of each node as the files have it [N]: int64 where every id is a whole number
            of 64 bits written in the plain way, else text (an object array of ``str``).
        feature_names: of the columns [D]; without features, the ids of the nodes they stand for.
        counts: what the rows of the edge file are.
        notes: what was changed or taken for granted, in sentences.
        filled: what was written for missing numbers, by the name of the feature.
    """

    dataset: NodeDataset
    ids: Ids
    feature_names: tuple[str, ...]
    counts: EdgeCounts
    notes: tuple[str, ...]
    filled: Mapping[str, float] = field(default_factory=dict)


def read_tables(
    edges: PathLike,
    labels: PathLike | Sequence[PathLike] | None = None,
    features: PathLike | None = None,
    *,
    edge_columns: Sequence[str] | None = None,
    label_columns: Sequence[str] | None = None,
    feature_columns: Sequence[str] | None = None,
    repeated_edges: RepeatedEdges = "largest",
    missing: MissingValues = "impute",
    means: Mapping[str, float] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na_values: Sequence[str] | None = None,
    memory_limit: int = MEMORY_LIMIT,
    threads: int | None = None,
    max_memory: int | None = None,
    unpacked_limit: int | None = None,
    progress: Progress | None = None,
) -> TableDataset:
    r"""Read a graph, labels and features from CSV, TSV or Parquet files.

    Ids are compared as they are written: ``007`` is not ``7``. The nodes are the ids of the edges
    and of the features. How files are opened, and what their columns may be called:
    `nodecopy.data.tables.files` and `nodecopy.data.tables.kinds`; docs/tables.md has examples.

    Args:
        edges: two ids in each row, and perhaps a weight. The graph is undirected and simple:
            an edge counts in both directions and once, self-loops are dropped.
        labels: an id and a label in each row, empty where unknown; None where nothing is known.
            Of several files one may say what another leaves open; they must not disagree.
        features: an id and its numbers in each row; or id, feature and value; or an ``.npz`` file
            like the built-in sets. None takes `structural_features`.
        edge_columns: names of the two columns of ids and, perhaps, of the weights, where they are
            not found by themselves or the table has others; in a file without a header, numbers.
        label_columns: names of the columns of the id and of the label, likewise.
        feature_columns: name of the column of the id, and of the features unless all others are.
        repeated_edges: what the weight of an edge with several rows is: the "largest" of theirs, or
            their "sum", one each where there are no weights. Rows of both directions are added up,
            too, unless the table gives every edge in both with the same weight.
        missing: "impute" writes the mean of a column of features where a number is missing, and
            adds a column that says where that was; "refuse" makes it an error.
        means: what to write there instead, by the name of the feature, where that is known.
        encoding: of the texts, as Python calls it; None finds it: UTF-8, UTF-16 or Windows-1252.
        decimal: "." or ",", what stands before the fraction of a number; None finds it.
        na_values: words that mean missing, besides an empty cell; None is NA, n/a, null and others.
        memory_limit: bytes that DuckDB may use before it writes to temporary files.
        threads: how many DuckDB may use; None for one per core.
        max_memory: bytes that what is read may take: arrays and rows beyond that are refused before
            they are read. None is half of what this process may use.
        unpacked_limit: bytes that a text compressed by gzip may hold; None is a hundred times its
            size, or 256 MiB if that is more.
        progress: called with how much is done.

    Raises:
        DatasetError: files that do not say what is needed, or do not fit together.
        FormatError: files that are not what they should be.
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
    _check_choice("repeated_edges", repeated_edges, get_args(RepeatedEdges))
    _check_choice("missing", missing, get_args(MissingValues))
    _check_file("label", label_columns, bool(labels))
    _check_file("feature", feature_columns, features is not None)
    most = usable_memory() // 2 if max_memory is None else max_memory
    reading = Reading(memory_limit, threads, unpacked_limit, encoding, decimal, na_values)
    of_edges, of_features, of_ids, *of_rest = stages(progress, _SHARES)
    problems, notes = Problems(), list[str]()
    source: FeatureSource | None = None
    matrix: FeatureMatrix | None = None
    with Database(reading) as db:
        with problems.caught(), db.watched(of_edges):
            load_edges(db, edges, edge_columns, most, problems)
        if features is not None:
            with problems.caught(), db.watched(of_features):
                source = _open_features(db, features, feature_columns, most)
                notes += source.load(db, problems)
        load_labels(db, labels, label_columns, problems)
        problems.raise_any()
        with problems.caught():
            notes += settle_headers(db)
        with db.watched(of_ids):
            ids = number_nodes(db)
        known = number_labels(db, len(ids), problems)
        if source is not None:
            with problems.caught(), db.watched(of_rest[0]):
                matrix = source.fetch(db, len(ids), Filling(missing, means or {}))
        problems.raise_any()
        with db.watched(of_rest[1]):
            rows = fetch_edges(db)
        notes += [note for file, _ in db.loaded.values() for note in file.remarks]
        notes += _isolation(db, ids) if source is not None else []
        edge_path = db.loaded["edges"].file.path
    graph, counts = build_graph(len(ids), rows, repeated_edges)
    if matrix is None:
        values, hubs = structural_features(graph)
        matrix = FeatureMatrix(values, tuple(str(ids[hub]) for hub in hubs), (NO_FEATURES,))
    if of_rest[2] is not None:
        of_rest[2](1, 1)
    name = edge_path.name.split(".")[0] or edge_path.name
    return TableDataset(
        NodeDataset(name, graph, matrix.values, known.labels, known.class_names),
        ids,
        matrix.names,
        counts,
        (*counts.notes(edge_path.name), *notes, *known.notes, *matrix.notes),
        matrix.filled,
    )


def _check_choice(name: str, word: object, choices: Sequence[str]) -> None:
    if word not in choices:
        raise DatasetError(unknown_name(name, word, choices))


def _check_file(what: str, columns: Sequence[str] | None, given: bool) -> None:
    if columns is not None and not given:
        raise DatasetError(f"{what} columns are named, but no file of {what}s is given")


def _open_features(
    db: Database, path: PathLike, feature_columns: Sequence[str] | None, max_memory: int
) -> FeatureSource:
    if Path(path).suffix.casefold() == ".npz":
        if feature_columns is not None:
            raise DatasetError(f"{path} has no columns to name: it is an .npz file")
        return read_arrays(Path(path), max_memory)
    table = db.open(path, FEATURES, feature_columns)
    return FeatureTable(table, feature_columns_of(table))


def _isolation(db: Database, ids: Ids) -> list[str]:
    """Return a note on nodes that are in no edge."""
    isolated = without_edges(db)
    if not len(isolated):
        return []
    some = is_in("id", [str(ids[node]) for node in isolated[:SHOWN]])
    return [
        f"{db.loaded['features'].file.path.name}: {counted(len(isolated), 'id')} in no edge, kept "
        f"as isolated nodes: {db.places('features', some, ('id',), len(isolated))}"
    ]
