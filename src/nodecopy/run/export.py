"""Export a run: its graph and predictions as files that Gephi, Neo4j, DuckDB and Excel open.

Graph and predictions are those in the folder: tables are not read again.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import InputError, RunError, counted, missing_extra, unknown_name
from nodecopy.core.files import replacing
from nodecopy.core.progress import Show, progress_steps
from nodecopy.result import Result
from nodecopy.result.tables import (
    ID,
    NAME,
    NODE_TYPE,
    PREDICTED,
    RELATION,
    SOURCE,
    TARGET,
    Columns,
    edge_columns,
    networkx_graph,
    node_columns,
    predicted_colours,
)
from nodecopy.run.folder import CONFIG, PARQUET, incomplete_run, write_table

# Characters that XML and workbooks cannot hold; the first 32 have pictures in Unicode.
_PICTURES = dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), 0xFFFD)
_PICTURES |= {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
# Rows and columns that a sheet can have.
_ROWS, _WIDTH = 2**20, 2**14
# Columns of Neo4j's header, its types, and characters that have a meaning in it.
_ROLES = {ID: "id:ID", NODE_TYPE: ":LABEL", RELATION: ":TYPE"}
_ROLES |= {SOURCE: ":START_ID", TARGET: ":END_ID"}
_TYPES, _MARKS = {"f": ":double", "i": ":long", "b": ":boolean"}, re.compile(r"[:(){}\[\]]")


def export_run(
    run: str | os.PathLike[str],
    to: str,
    out: str | os.PathLike[str] | None = None,
    progress: Show = False,
) -> tuple[Path, str, list[str]]:
    """Write the graph of a run with its predictions; return where, how much it is, and notes.

    Args:
        run: a folder that `nodecopy fit` wrote.
        to: "graphml", "gexf" or "xlsx", one file; or "parquet" or "neo4j", a folder with a table
            of nodes and one of edges.
        out: the file or folder to write, which must not exist; None is beside the run.
        progress: show how far it is, see `progress_bar`.
    """
    if to not in _WRITERS:
        raise InputError(unknown_name("format", to, _WRITERS))
    folder, (write, ending, package, extra) = Path(run), _WRITERS[to]
    target = Path(os.path.relpath(os.path.abspath(run) + ending) if out is None else out)
    if os.path.lexists(target) or not target.absolute().parent.is_dir():
        why = "exists" if os.path.lexists(target) else "is in a folder that does not exist"
        raise InputError(f"{target} {why}; --out names another file or folder to write")
    try:
        import_module(package)
    except ImportError:
        raise InputError(missing_extra(f"--to {to}", package, extra)) from None
    with progress_steps({"reading the run": 1, f"writing {target}": 2}, progress) as begin:
        begin("reading the run")
        nodes, edges = _tables(folder)
        begin(f"writing {target}")
        try:
            notes = [incomplete_run(folder), *write(to, nodes, edges, target)]
        except OSError as error:
            raise RunError(f"cannot write {target}: {error}") from error
    size = f"{counted(len(nodes[ID]), 'node')}, {counted(len(edges[SOURCE]), 'edge')}"
    return target, size, list(filter(None, notes))


def _tables(folder: Path) -> tuple[Columns, Columns]:
    """Return the nodes of a run with their predictions, and its edges."""
    import duckdb

    for name in (CONFIG, PARQUET):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}; accepted: a folder that nodecopy fit wrote")
    given = Result.load(folder).nodes("export")
    query = "FROM read_parquet(?, hive_partitioning = false)"
    try:
        with duckdb.connect() as connection:
            table = connection.execute(query, [glob.escape(str(folder / PARQUET))]).fetchnumpy()
    except duckdb.Error as error:
        raise InputError(f"cannot read {folder / PARQUET}: {error}") from error
    predicted = {
        name: np.ma.filled(column, np.nan if column.dtype.kind == "f" else "")
        for name, column in table.items()
    }
    ids = given.ids[: given.num_classified]
    if [*map(str, ids.tolist())] != [*map(str, predicted[ID].tolist())]:
        raise InputError(f"{PARQUET} and the model in {folder} are of two fits: fit again")
    return node_columns(given, predicted), edge_columns(given)


def _write_graph(form: str, nodes: Columns, edges: Columns, file: Path) -> list[str]:
    """Write XML with what Gephi and Cytoscape expect: names, numbered edges, colours in GEXF."""
    import networkx

    (nodes, edges), notes = _readable(nodes, edges)
    graph, is_gexf = networkx_graph(nodes, edges), form == "gexf"
    colours = predicted_colours(nodes)
    for node, own in graph.nodes.items():
        own["label"] = own.pop(NAME, str(node))
        if is_gexf and PREDICTED in own:
            rgb = zip("rgb", bytes.fromhex(colours[own[PREDICTED]][1:]), strict=True)
            own["viz"] = {"color": {**dict(rgb), "a": 1.0}}
    for number, own in enumerate(graph.edges.values()):
        own["id"] = str(number)
    options = {} if is_gexf else {"edge_id_from_attribute": "id"}
    with replacing(file) as part:
        getattr(networkx, f"write_{form}")(graph, part, **options)
    return notes


def _write_tables(form: str, nodes: Columns, edges: Columns, folder: Path) -> list[str]:
    """Write two tables: Parquet, or CSV with the header of `neo4j-admin database import`."""
    folder.mkdir()
    suffix = "parquet"
    if form == "neo4j":
        suffix, nodes, edges = "csv", _with_header(nodes, "Node"), _with_header(edges, "EDGE")
    for name, columns in (("nodes", nodes), ("edges", edges)):
        with replacing(folder / f"{name}.{suffix}") as part:
            write_table([columns], part, rounded=False)
    return []


def _with_header(table: Columns, otherwise: str) -> Columns:
    """Return a table with roles and types in the names of its columns, as Neo4j has them.

    Args:
        table: nodes or edges.
        otherwise: the label of all nodes, or the type of all edges, where there is one.
    """
    size, typed = len(next(iter(table.values()))), dict[str, NDArray[Any]]()
    role = NODE_TYPE if ID in table else RELATION
    for name, column in ({role: np.full(size, otherwise, object)} | table).items():
        title = _ROLES.get(name) or _MARKS.sub("_", name) + _TYPES.get(column.dtype.kind, "")
        while title in typed:
            title = f"_{title}"
        typed[title] = column
    return typed


def _write_workbook(form: str, nodes: Columns, edges: Columns, file: Path) -> list[str]:
    """Write a sheet of nodes and one of edges; strings are text cells, never formulas."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    def cell(value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(("=", "#")):
            return None if value == "" or value != value else value
        text = WriteOnlyCell(sheet, value)
        text.data_type = "s"  # openpyxl takes it for a formula or an error
        return text

    tables, notes = _readable(nodes, edges)
    book = Workbook(write_only=True)
    for title, table in zip(("nodes", "edges"), tables, strict=True):
        rows = [[*table], *zip(*(column.tolist() for column in table.values()), strict=True)]
        if len(rows) > _ROWS or len(table) > _WIDTH:
            most = f"an {form} sheet has at most {_ROWS:,} rows and {_WIDTH:,} columns"
            raise InputError(f"{most}; there are {len(rows):,} and {len(table):,}: --to parquet")
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append([cell(value) for value in row])
    with replacing(file) as part:
        book.save(part)
    return notes


def _readable(*tables: Columns) -> tuple[list[Columns], list[str]]:
    """Return tables without characters that XML forbids, and a note where any were replaced."""
    changed, count = list[Columns](), 0
    for table in tables:
        changed.append({})
        for name, column in table.items():
            if column.dtype.kind == "O":
                new = np.array([str(one).translate(_PICTURES) for one in column.tolist()], object)
                column, count = new, count + int(np.count_nonzero(new != column))
            changed[-1][name.translate(_PICTURES)] = column
    if len({*changed[0][ID].tolist()}) < len(changed[0][ID]):
        raise InputError("two ids differ only in characters that XML cannot hold: --to parquet")
    what = f"{counted(count, 'cell')} with characters that XML cannot hold, written as ␀ to ␟ or �"
    return changed, [what] if count else []


# How each format is written, what its default name ends in, the package it needs and its extra.
_Writer = Callable[[str, Columns, Columns, Path], list[str]]
_WRITERS: dict[str, tuple[_Writer, str, str, str]] = {
    "graphml": (_write_graph, ".graphml", "networkx", "networkx"),
    "gexf": (_write_graph, ".gexf", "networkx", "networkx"),
    "neo4j": (_write_tables, "-neo4j", "duckdb", ""),
    "parquet": (_write_tables, "-parquet", "duckdb", ""),
    "xlsx": (_write_workbook, ".xlsx", "openpyxl", "excel"),
}
