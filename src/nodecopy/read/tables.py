"""Files in: `read_tables` reads a `Problem` from tables of edges, labels and nodes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted, listed
from nodecopy.features.columns import NodeColumns
from nodecopy.features.encoding import ColumnEncoder
from nodecopy.features.matrix import Features
from nodecopy.features.node_types import Encoder, NodeTypeEncoder, NodeTypes, spans
from nodecopy.features.structural import NO_FEATURES
from nodecopy.problem.problem import Problem
from nodecopy.read.columns import quoted
from nodecopy.read.database import SHOWN, Database
from nodecopy.read.edges import build_graph, fetch_edges, load_edges
from nodecopy.read.formats import PathLike, paths_of
from nodecopy.read.ids import Ids, isolated_nodes, number_nodes, same_but_case
from nodecopy.read.labels import Labelling, load_labels, number_labels
from nodecopy.read.node_types import assign_node_types, with_node_type
from nodecopy.read.nodes import NodeTable, open_nodes, read_nodes
from nodecopy.read.options import NA_WORDS, TableOptions


def read_tables(
    edges: PathLike | Sequence[PathLike],
    labels: PathLike | Sequence[PathLike] | None = None,
    nodes: PathLike | Sequence[PathLike] | None = None,
    *,
    encoder: Encoder | None = None,
    node_types: Sequence[str] | None = None,
    threads: int | None = None,
    **options: Any,
) -> Problem:
    r"""Read a graph, labels and columns of nodes from CSV, TSV or Parquet files.

    Ids are compared as they are written: ``007`` is not ``7``. The nodes are the ids of the edges
    and of the tables of nodes. docs/tables.md has examples.

    Args:
        edges: two ids in each row, and perhaps a weight and a relation; one file, or one for each
            relation. The graph is undirected and simple: an edge counts in both directions and
            once, self-loops are dropped. With relations or ``directed=True``, ``graph.relations``
            has the edges of each relation.
        labels: an id and a label in each row, empty where unknown; None where nothing is known.
            Of several files one may say what another leaves open; they must not disagree.
        nodes: an id and columns of any type in each row, or id, feature and value; one file or
            several, of the same nodes or of several types (`nodecopy.read.node_types`). Without
            them there are no features, and a fit takes `structural_features`.
        encoder: how a model was fitted to columns; None fits a new one to these.
        node_types: of nodes that a model was fitted to, in order, none where there was one; None
            finds them.
        threads: how many DuckDB may use; None for one per core.
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
    >>> table.ids.tolist(), table.labels.tolist(), table.class_names
    (['ann', 'bob', 'eve'], [0, -1, 1], ('blue', 'red'))
    >>> table.notes[1]
    'edges.csv: dropped 1 self-loop'
    """
    settings = TableOptions(**options)
    if settings.label_columns is not None and not labels:
        raise DatasetError("`label_columns` is given, but no file of labels (`labels`)")
    if settings.column_types is not None and not nodes:
        raise DatasetError("`column_types` is given, but no file of nodes (`nodes`)")
    fitted = encoder is not None
    if encoder is not None and node_types is None:
        node_types = tuple(getattr(encoder, "encoders", ()))

    with Database(settings, threads=threads) as db:
        sources = [] if nodes is None else _load_nodes(db, nodes, encoder, node_types or ())
        load_edges(db, edges)
        load_labels(db, labels)
        sizes, sources, type_notes = assign_node_types(db, sources, node_types)
        ids = number_nodes(db, [source.name for source in sources], by_type=bool(sizes))
        known = number_labels(db, len(ids))
        columns = _read_columns(db, sources, sizes, ids) if sources else {}
        notes: list[str] = []
        if encoder is None:
            columns, notes = _without_labels(columns, known, sizes, settings)
        if sources and encoder is None:
            encoder, unused = _fitted(columns, sizes)
            notes += unused
        rows = fetch_edges(db)
        tables = {table.path: table for table, _ in db.loaded.values()}
        notes += [note for table in tables.values() for note in table.notes]
        notes += [*type_notes, *_node_notes(db, sources, ids, of_types=bool(sizes))]
    directed = bool(settings.directed)
    graph, of_edges = build_graph(len(ids), rows, settings.repeated_edges, directed=directed)
    files = [path.name for path in paths_of(edges)]
    of_edges = [f"{', '.join(files)}: {note}" for note in of_edges]
    features, of_nodes = None, [NO_FEATURES]
    if columns and encoder is not None:
        features = _encoded(encoder, columns, sizes)
        of_nodes = _column_notes(sources, columns, encoder, fitted=fitted)
    name = files[0].split(".")[0] or files[0]
    return Problem(
        name,
        graph,
        features,
        known.labels,
        known.classes,
        names=ids,
        titles=_titles(columns, sizes),
        node_types=sizes,
        encoder=encoder if columns else None,
        suggested=known.suggested,
        notes=(*of_edges, *notes, *known.notes, *of_nodes),
    )


def _load_nodes(
    db: Database,
    nodes: PathLike | Sequence[PathLike],
    encoder: Encoder | None,
    node_types: Sequence[str],
) -> list[NodeTable]:
    """Load tables of nodes, of the types and with the columns of a model, if there is one."""
    of_columns: dict[str, Any] = dict(db.options.settled_types)
    if encoder is not None:
        of_columns |= encoder.types | {"*": "skip"}
    of_model = (lambda one: with_node_type(one, node_types, encoder)) if node_types else None
    return open_nodes(db, nodes, of_columns, of_model, fitted=encoder is not None)


def _read_columns(
    db: Database, sources: Sequence[NodeTable], sizes: NodeTypes, ids: Ids
) -> dict[str, NodeColumns]:
    """Return the columns of each node type that has a table."""
    columns = {}
    for node_type, own in spans(sizes or {sources[0].node_type: len(ids)}).items():
        own_tables = [source for source in sources if source.node_type == node_type]
        if own_tables:
            columns[node_type] = read_nodes(db, own_tables, ids, own)
    return columns


def _without_labels(
    columns: Mapping[str, NodeColumns],
    known: Labelling,
    sizes: NodeTypes,
    settings: TableOptions,
) -> tuple[dict[str, NodeColumns], list[str]]:
    """Leave out columns that hold the labels, unless the user names them; return also notes."""
    labels = np.array([*known.class_names, None], object)[known.labels]
    others, notes, spanned = {}, [], spans(sizes)
    for node_type, own in columns.items():
        own_labels = labels[spanned.get(node_type, slice(None))]
        held = {*own.holding(own_labels)} - {*settings.settled_types}
        others[node_type] = own.without(held)
        for name in sorted(held):
            keep = f"`column_types` {shlex.quote(f'{name}={own.types[name]}')} keeps it"
            notes.append(f"column {name!r} of the nodes: left out, as it holds the labels; {keep}")
    return others, notes


def _fitted(
    columns: Mapping[str, NodeColumns], sizes: NodeTypes
) -> tuple[Encoder | None, list[str]]:
    """Return an encoder of columns, and notes; None where no column can be used."""
    if sizes:
        return NodeTypeEncoder.fit({node_type: columns.get(node_type) for node_type in sizes}), []
    (own,) = columns.values()
    try:
        return ColumnEncoder.fit(own), []
    except DatasetError as error:
        return None, [f"file of nodes: {error}"]


def _encoded(encoder: Encoder, columns: Mapping[str, NodeColumns], sizes: NodeTypes) -> Features:
    if isinstance(encoder, NodeTypeEncoder):
        return encoder.apply(columns, sizes)
    (own,) = columns.values()
    return encoder.apply(own)


def _titles(columns: Mapping[str, NodeColumns], sizes: NodeTypes) -> NDArray[np.object_] | None:
    """Return what people call each node, empty where nothing says it; None if it never does."""
    known = {node_type: own.names for node_type, own in columns.items() if own.names is not None}
    if not known:
        return None
    none = {node_type: np.full(size, "", object) for node_type, size in sizes.items()}
    return np.concatenate(list((none | known).values()))


def _node_notes(
    db: Database, sources: Sequence[NodeTable], ids: Ids, *, of_types: bool
) -> list[str]:
    """Return notes on ids that are only in edges or only in tables, or that differ very little."""
    notes, alike = [], same_but_case(db)
    if sources and not of_types:
        described = " UNION ALL ".join(f"SELECT id FROM {source.name}" for source in sources)
        bare = db.column(f"SELECT id FROM nodes ANTI JOIN ({described}) USING (id) ORDER BY i")
        what = f"{len(bare):,} of {counted(len(ids), 'node')} in no file of nodes, without columns"
        notes += [f"{what}: {_first(bare)}"] if bare else []
    isolated = [str(ids[node]) for node in isolated_nodes(db)] if sources else []
    if isolated:
        what = f"{counted(len(isolated), 'id')} in no edge, kept as isolated nodes"
        notes.append(f"{sources[0].table.path.name}: {what}: {_first(isolated)}")
    words = ", ".join(map(quoted, NA_WORDS))
    if db.options.na_values is None:
        missing = db.column(f"SELECT id FROM nodes WHERE lower(id) IN ({words}) ORDER BY i")
        hint = "`na_values` names the words for a missing id"
        notes += [f"taken for ids of nodes: {_first(missing)}; {hint}"] if missing else []
    if alike:
        what = "ids that differ only by case or Unicode form are different nodes"
        notes.append(f"{what}: {_first(alike)}")
    return notes


def _column_notes(
    sources: Sequence[NodeTable],
    columns: Mapping[str, NodeColumns],
    encoder: Encoder,
    *,
    fitted: bool,
) -> list[str]:
    """Return which columns of each type were left out, by themselves or as a model lacks them."""
    encoders = getattr(encoder, "encoders", dict.fromkeys(columns, encoder))
    notes = []
    for node_type, own in columns.items():
        own_tables, made = [s for s in sources if s.node_type == node_type], encoders[node_type]
        if made is None:
            continue
        titles = set(own.listed_names).union(*(source.titles for source in own_tables))
        what, names = "as the model has not seen them", titles - {*made.types, *made.listed}
        if not fitted:
            what = "which `column_types` NAME=TYPE settles"
            names = {name for name, text in made.made.items() if text.startswith("left out")}
        if names:
            files = ", ".join(source.table.path.name for source in own_tables)
            notes.append(f"{files}: left out, {what}: {_first(sorted(names))}")
    return notes


def _first(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names[:SHOWN]], len(names))
