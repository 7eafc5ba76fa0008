"""Files in: `read_tables` reads a `Problem` from tables of edges, labels and nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, counted, listed
from nodecopy.core.progress import Show, progress_steps
from nodecopy.features.columns import ColumnType, NodeColumns
from nodecopy.features.encoding import (
    Encoder,
    NodeTypes,
    encode_columns,
    plain_columns,
    spans,
    without_labels,
)
from nodecopy.features.label_values import EncodedLabels
from nodecopy.features.matrix import NO_FEATURES
from nodecopy.problem.problem import Problem
from nodecopy.read.columns import quoted
from nodecopy.read.conversion import GRAPH_FORMATS
from nodecopy.read.database import (
    IN_EDGES,
    SHOWN,
    Database,
    Ids,
    isolated_nodes,
    number_nodes,
    same_but_case,
    set_fitted,
)
from nodecopy.read.edges import build_graph, fetch_edges, load_edges
from nodecopy.read.formats import PathLike, format_of, paths_of, sheet_of, stem_of
from nodecopy.read.labels import BOTH, load_labels, number_labels
from nodecopy.read.node_types import assign_node_types
from nodecopy.read.nodes import NodeTable, described, open_nodes, read_nodes
from nodecopy.read.options import NA_WORDS, TableOptions
from nodecopy.read.readings import as_text

# What is done with files, and how long it takes compared with the rest.
_STEPS = {
    "reading nodes": 1,
    "reading edges": 2,
    "numbering nodes": 2,
    "reading columns": 7,
    "numbering edges": 2,
    "encoding columns": 16,
}


def read_tables(
    edges: PathLike | Sequence[PathLike],
    labels: PathLike | Sequence[PathLike] | None = None,
    nodes: PathLike | Sequence[PathLike] | None = None,
    *,
    encoder: Encoder | None = None,
    node_types: Sequence[str] | None = None,
    fitted: Ids | None = None,
    threads: int | None = None,
    progress: Show = False,
    **options: Any,
) -> Problem:
    r"""Read a graph, labels and columns of nodes from tables, workbooks or graph files.

    Ids are compared as they are written: ``007`` is not ``7``. The nodes are the ids of the edges
    and of the tables of nodes. docs/tables.md has examples.

    Args:
        edges: two ids in each row, and perhaps a weight and a relation; one file, or one for each
            relation. A graph file (GraphML, GEXF, GML) is a table of its nodes, too. The graph is
            undirected and simple: an edge counts in both directions and once, self-loops are
            dropped. With relations or ``directed=True``, ``graph.relations`` has the edges of each
            relation.
        labels: an id and a label in each row, empty where unknown; None where nothing is known.
            Of several files one may say what another leaves open; they must not disagree.
        nodes: an id and columns of any type in each row, or id, feature and value; one file or
            several, of the same nodes or of several types (`nodecopy.read.node_types`). Without
            them there are no features, and a fit takes `structural_features`.
        encoder: how a model was fitted to columns; None fits a new one to these. A column that
            ``predict`` names is then not read.
        node_types: of nodes that a model was fitted to, in order, none where there was one; None
            finds them.
        fitted: ids of the graph of a model, where the tables hold only what is new in it: edges may
            name these nodes, and rows that describe them are left out. ``edges`` may then be empty.
        threads: how many DuckDB may use; None for one per core.
        progress: show how far it is, see `nodecopy.core.progress.progress_bar`.
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
    predicted = settings.predict
    if encoder is not None:
        settings = replace(settings, predict=None)
    nodes = _node_files(edges, nodes)
    if not paths_of(edges) and (fitted is None or not nodes):
        raise DatasetError("`edges` names no file")
    _check_files(settings, labels=bool(labels), nodes=bool(nodes))
    if encoder is not None and node_types is None:
        node_types = tuple(filter(None, encoder.encoders))

    with progress_steps(_STEPS, progress) as begin:
        with Database(settings, threads=threads) as db:
            if fitted is not None:
                set_fitted(db, fitted)
            begin("reading nodes")
            sources = open_nodes(db, nodes, encoder, node_types or ())
            begin("reading edges")
            directed = load_edges(db, edges)
            load_labels(db, labels, sources)
            of_fitted = _without_fitted(db, sources) if db.fitted_ids else []
            sizes, sources, of_types = assign_node_types(db, sources, node_types)
            if settings.label_type is not None and node_types is None and not sizes:
                raise DatasetError(
                    f"`label_type` {settings.label_type}: there is one node type; `nodes` FILE for "
                    "each, with different ids"
                )
            sources = _predicting(sources, sizes, settings.predict)
            begin("numbering nodes")
            ids = number_nodes(db, [source.name for source in sources], by_type=bool(sizes))
            if fitted is not None and not len(ids):
                raise DatasetError("none of the nodes is new: all are nodes of the fit")
            known = number_labels(db, len(ids))
            begin("reading columns")
            columns = _read_columns(db, sources, sizes, ids) if sources else {}
            begin("numbering edges")
            rows = fetch_edges(db)
            of_files = list(dict.fromkeys(chain(*(table.notes for table, _ in db.loaded.values()))))
            of_ids = _node_notes(db, sources, ids, of_types=bool(sizes))
            of_files += [*of_fitted, *of_types, *of_ids]
        model = encoder
        held: dict[str, ColumnType] = {}
        if model is None:
            values = EncodedLabels(known.labels, known.classes).values()
            kept, target = settings.settled_types, known.target
            columns, held = without_labels(columns, sizes, values, kept, target)
        begin("encoding columns")
        features, encoder, texts = encode_columns(columns, sizes, model) if columns else (None,) * 3
    of_sources = (one.read(columns[one.node_type], encoder, held, predicted) for one in sources)
    words = {"number": "number to predict", "tags": "tags"}.get(known.target, "class")
    rows_read = chain(db.read, *of_sources)
    read = [(file, name, words if text == "class" else text) for file, name, text in rows_read]
    files = [path.name for path in paths_of(edges)]
    notes = _unused_notes(read)
    if settings.directed is not None:
        directed = settings.directed
    elif directed:
        notes.append(f"{', '.join(files)}: edges are directed, as the file says (`directed`)")
    graph, changes = build_graph(len(ids), rows, settings.repeated_edges, directed=directed)
    of_edges = [f"{', '.join(files)}: {one}" for one in changes.notes(settings.repeated_edges)]
    of_nodes = [NO_FEATURES] if encoder is None else []
    return Problem(
        stem_of([*paths_of(edges), *nodes][0]),
        graph,
        features,
        known.labels,
        known.classes,
        names=ids,
        titles=_titles(columns, sizes),
        node_types=sizes,
        encoder=encoder,
        plain=plain_columns(columns, sizes),
        texts=texts,
        suggested=known.suggested,
        target=known.target,
        read=tuple(read),
        notes=(*of_edges, *notes, *of_files, *known.notes, *of_nodes),
    )


def candidate_column(
    edges: PathLike | Sequence[PathLike],
    nodes: PathLike | Sequence[PathLike] | None = None,
    **options: Any,
) -> str | None:
    """Return the one column of tables of nodes that is filled in part; None for none or several."""
    with Database(TableOptions(**options)) as db:
        tables = open_nodes(db, _node_files(edges, nodes), None, ())
        counts = {
            table.title(cell): db.rows(
                f"SELECT count({as_text(cell, db.options).sql}), count(*) FROM {table.name}"
            )[0]
            for table in tables
            for cell in table.cells * (not table.triples)
        }
    partly = [column for column, (filled, rows) in counts.items() if 0 < filled < rows]
    return partly[0] if len(partly) == 1 else None


def places_in(ids: Ids, among: Ids) -> NDArray[np.int64]:
    """Return the place of each id among others, -1 where it is not there [n].

    >>> places_in(np.array(["b", "7", "a"], object), np.array([6, 7])).tolist()
    [-1, 1, -1]
    """
    place = {str(id): at for at, id in enumerate(among.tolist())}
    return np.array([place.get(str(id), -1) for id in ids.tolist()], np.int64)


def _without_fitted(db: Database, sources: Sequence[NodeTable]) -> list[str]:
    """Drop rows of nodes of the fit, and return notes on them.

    Raises:
        DatasetError: edges name nodes that are neither of the fit nor in a table of nodes.
    """
    if not sources:
        return []
    unknown = f"SELECT DISTINCT id FROM ({IN_EDGES}) ANTI JOIN ({described(db, sources)})"
    if ids := db.column(f"{unknown} USING (id) ORDER BY id"):
        raise DatasetError(
            f"{db.loaded['edges'][0].path} names {_first(ids)}: neither in a file of nodes nor in "
            "the graph of the fit"
        )
    notes = []
    for source in sources:
        count = db.value(f"DELETE FROM {source.name} WHERE id IN ({db.fitted_ids})")
        rows = f"{source.table.path.name}: {counted(count, 'row')} of nodes of the fit"
        notes += [f"{rows}: their columns stay as they were"] if count else []
    return notes


def _node_files(
    edges: PathLike | Sequence[PathLike], nodes: PathLike | Sequence[PathLike] | None
) -> list[Path]:
    """Return the files of nodes, those of graphs first, which hold edges, too."""
    graphs = [path for path in paths_of(edges) if format_of(sheet_of(path)[0]) in GRAPH_FORMATS]
    return [*graphs, *(path for path in paths_of(nodes) if path not in graphs)]


def _check_files(settings: TableOptions, **given: bool) -> None:
    """Refuse options on files that are not given, and labels that are given twice."""
    if settings.predict is not None and given["labels"]:
        raise DatasetError(BOTH)
    needed = {"label_columns": "labels", "column_types": "nodes", "predict": "nodes"}
    for option, files in needed.items():
        if getattr(settings, option) is not None and not given[files]:
            raise DatasetError(f"`{option}` is given, but no file of {files} (`{files}`)")


def _predicting(sources: list[NodeTable], sizes: NodeTypes, column: str | None) -> list[NodeTable]:
    """Return the tables; a column of the first node type has the labels, and is not a feature."""
    if column is None:
        return sources
    first = next(iter(sizes), sources[0].node_type)
    having = {source.node_type for source in sources if column in source.titles}
    if first not in having:
        names = ", ".join(sorted(having))
        raise DatasetError(f"`predict`: {first} has no column {column!r}; these have one: {names}")
    return [
        one.predicting(column) if one.node_type == first and column in one.titles else one
        for one in sources
    ]


def _read_columns(
    db: Database, sources: Sequence[NodeTable], sizes: NodeTypes, ids: Ids
) -> dict[str, NodeColumns | None]:
    """Return the columns of each node type that has a table."""
    columns: dict[str, NodeColumns | None] = {}
    for node_type, own in spans(sizes or {sources[0].node_type: len(ids)}).items():
        own_tables = [source for source in sources if source.node_type == node_type]
        if own_tables:
            columns[node_type] = read_nodes(db, own_tables, ids, own)
    return columns


def _titles(
    columns: Mapping[str, NodeColumns | None], sizes: NodeTypes
) -> NDArray[np.object_] | None:
    """Return what people call each node, empty where nothing says it; None if it never does."""
    known = {t: own.names for t, own in columns.items() if own and own.names is not None}
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
        bare = db.column(
            f"SELECT id FROM nodes ANTI JOIN ({described(db, sources)}) USING (id) ORDER BY i"
        )
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


def _unused_notes(read: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return which columns of edges and nodes do not count, and why."""
    groups: dict[tuple[str, str], list[str]] = {}
    for file, title, text in read:
        if text.startswith("not used,"):
            text = "not used; `relation` and `edge_columns` name what counts"
        elif not text.startswith("left out: "):
            continue
        elif "`" not in text and "model" not in text:
            text += "; `column_types` NAME=TYPE settles it"
        groups.setdefault((file, text), []).append(title)
    return [f"{file}: {_first(titles)} {text}" for (file, text), titles in groups.items()]


def _first(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names[:SHOWN]], len(names))
