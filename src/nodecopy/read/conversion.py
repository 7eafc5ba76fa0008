"""Workbooks and graph files as rows of a table, which are then read as text is.

A workbook has a table in each sheet. A graph file (GraphML, GEXF, GML, or JSON with nodes and
links) has two: its edges, and its nodes with their attributes. Readers are openpyxl and networkx.
XML must not declare entities, and sizes are bounded.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from xml.parsers import expat

from nodecopy.core.errors import (
    DatasetError,
    FormatError,
    InputError,
    missing_extra,
    shortened,
    unknown_name,
)
from nodecopy.features.columns import plain_name
from nodecopy.read.columns import EDGES, TableRole

Row = Sequence[Any]
GRAPH_FORMATS = ("GraphML", "GEXF", "GML", "JSON graph")
# A workbook may unpack to so many bytes, or so many times its size; a graph file has so many.
_MOST_UNPACKED, _MOST_PACKED, _MOST_GRAPH = 2**30, 100, 2**26
# Rows that tell a title above a table from its first row.
_TOP = 20
_SHEETS = {"edge": "edge edges link links", "node": "node nodes vertices", "label": "label labels"}
_SHEETS |= {"class": "class classes"}
_ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
# What the readers raise for damaged files.
_DAMAGE = (
    *(AttributeError, EOFError, LookupError, NotImplementedError, OSError, OverflowError),
    *(RecursionError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error, expat.ExpatError),
)


class Rows(NamedTuple):
    """A table as rows of values, None where a cell is empty, and notes.

    The first row of `named` ones has the names of columns; `directed` says whether edges are, where
    a file says it; `sheet` is where they are in a workbook.
    """

    rows: Iterable[Row]
    notes: tuple[str, ...] = ()
    sheet: str = ""
    named: bool = False
    directed: bool = False


def sheet_rows(path: Path, sheet: str, role: TableRole) -> Rows:
    """Return the rows of a sheet of a workbook, those above the table as empty ones.

    Args:
        path: an .xlsx file.
        sheet: its name; empty takes the one of the role, or the only one with cells.
        role: edges, labels or nodes.
    """
    with _reading(path, "a workbook", "openpyxl", "excel") as openpyxl:
        with zipfile.ZipFile(path) as held:
            size = sum(one.file_size for one in held.infolist())
            if "[Content_Types].xml" not in held.namelist():
                files = ", ".join(map(repr, held.namelist()[:2]))
                hint = "unpack it, or save it as .xlsx or CSV"
                raise FormatError(f"{path} is an archive of {files}, …, no Excel workbook: {hint}")
        if size > max(_MOST_UNPACKED, _MOST_PACKED * path.stat().st_size):
            raise FormatError(f"{path} unpacks to {size / 2**30:,.0f} GiB, which is too much")
        # Warnings are of styles and charts that are not read.
        with warnings.catch_warnings(action="ignore"), path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            sheets = {one.title: _cells(one) for one in book.worksheets}
            top = {name: list(islice(rows, _TOP)) for name, rows in sheets.items()}
            name = _chosen_sheet(path, sheet, [name for name in top if any(top[name])], role)
            rows = [*top[name], *sheets[name]]
    counts = [sum(cell is not None for cell in row) for row in rows[:_TOP]]
    # A title above the table, or groups of its columns, have one cell or few of those below.
    least = max(min(2, max(counts)), median(filter(None, counts)) / 2)
    first = next((at for at, count in enumerate(counts) if count >= least), 0)
    width = len(rows[first])
    beyond = any(len(row) > width for row in rows[first:])
    notes = (
        (f"{path.name}: cells right of column {width} have no name: left out",) if beyond else ()
    )
    padded = ([*row[:width], *[None] * (width - len(row))] if row else () for row in rows[first:])
    return Rows([*[()] * first, *padded], notes, name)


def graph_rows(path: Path, text: str, form: str, role: TableRole, held: dict[Path, Any]) -> Rows:
    """Return the edges of a graph file or, of another role, its nodes, with their attributes.

    Args:
        path: of the file, for messages.
        text: all of it.
        form: one of `GRAPH_FORMATS`.
        role: edges, labels or nodes.
        held: graphs that were read before, by path.
    """
    if len(text) > _MOST_GRAPH:
        raise FormatError(f"{path} is too large for a graph file: export edges and nodes as CSV")
    library = "" if form == "JSON graph" else "networkx"
    with _reading(path, form, library, library) as nx:
        if path not in held:
            held[path] = _parsed(nx, text, form) if nx else _json_graph(text)
        nodes, edges, directed = held[path]
        names = _node_names(nodes, form)
        if role is EDGES:
            ends = [{"source": names[u], "target": names[v]} for u, v, _ in edges]
            table = [{**end, **own, **end} for end, (*_, own) in zip(ends, edges, strict=True)]
        else:
            table = [{"id": names[node]} | _attributes(own) for node, own in nodes.items()]
    if not table:
        raise DatasetError(f"{path}: a graph without {'edges' if role is EDGES else 'nodes'}")
    columns = list(dict.fromkeys(name for row in table for name in row))
    if role is not EDGES:  # what a node is called may be its id
        own = [name for name in columns if any(row.get(name) != row["id"] for row in table)]
        columns = ["id", *own]
    rows = ([row.get(name) for name in columns] for row in table)
    return Rows([columns, *rows], named=True, directed=directed)


Nodes = Mapping[Any, Mapping[str, Any]]
Edges = Sequence[tuple[Any, Any, Mapping[str, Any]]]


def _parsed(nx: Any, text: str, form: str) -> tuple[Nodes, Edges, bool]:
    """Return what networkx reads: nodes, edges, and whether these are directed."""
    try:
        if form == "GML":  # an edge may be listed twice
            text = re.sub(r"(?i)\bgraph\s*\[", "graph [\nmultigraph 1", text, count=1)
            graph = nx.parse_gml(text, label="id")
        else:
            text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)  # it names the encoding of the file
            _refuse_entities(text)
            graph = (
                nx.parse_graphml(text)
                if form == "GraphML"
                else nx.read_gexf(io.BytesIO(text.encode()))
            )
    except nx.NetworkXException as error:
        raise ValueError(str(error)) from error
    return dict(graph.nodes(data=True)), list(graph.edges(data=True)), graph.is_directed()


def _refuse_entities(text: str) -> None:
    """Refuse XML that is not well formed, or declares entities."""

    def declared(*_: Any) -> None:
        raise ValueError("it declares entities, which are not read")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declared
    parser.Parse(text, True)


def _json_graph(text: str) -> tuple[Nodes, Edges, bool]:
    """Return nodes and links as d3 and networkx write them; without ids, links count nodes."""
    held = json.loads(text)
    nodes = {node.get("id", at): node for at, node in enumerate(held.get("nodes", []))}
    edges = [_ends(link) for link in held.get("links", held.get("edges", []))]
    nodes = nodes or {end: {} for *ends, _ in edges for end in ends}
    unknown = [end for *ends, _ in edges for end in ends if end not in nodes]
    if unknown:
        raise ValueError(f"a link to {unknown[0]!r}, which is no node")
    return nodes, edges, held.get("directed") is True


def _ends(link: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return the ids of both ends of a link, perhaps inside of their nodes, and its attributes."""
    names = {EDGES.role(name): name for name in reversed(link)}
    try:
        ends = [link.pop(names[role]) for role in ("source", "target")]
        u, v = (end["id"] if isinstance(end, dict) else end for end in ends)
    except KeyError:
        raise ValueError(f"a link without two ids, as source and target: {link}") from None
    return u, v, link


def _node_names(nodes: Nodes, form: str) -> dict[Any, Any]:
    """Return the id of each node: what it is called where ids only number the nodes."""
    numbered = all(re.fullmatch(r"n?\d+", str(node)) for node in nodes)
    for name in ("label", "id", "name") if numbered and form != "GEXF" else ():
        values = [own.get(name) for own in nodes.values()]
        if None not in values and len(set(map(str, values))) == len(values):
            return dict(zip(nodes, values, strict=True))
    return {node: node for node in nodes}


def _attributes(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a node; its label is what it is called, not its class."""
    renamed = {"id": "id (attribute)", "label": "display name" if "name" in own else "name"}
    return {renamed.get(name, name): value for name, value in own.items() if name != "viz"}


def _cells(sheet: Any) -> Iterator[Row]:
    """Yield the rows of a sheet, without the empty cells at their ends."""
    sheet.reset_dimensions()  # what a file says of its size need not be true
    for row in sheet.iter_rows(values_only=True):
        cells = [_of_sheet(cell) for cell in row]
        filled = max((at + 1 for at, cell in enumerate(cells) if cell is not None), default=0)
        yield cells[:filled]


def _of_sheet(cell: Any) -> Any:
    """Return a cell of a sheet: a date without a time if that is midnight, an error as missing."""
    if isinstance(cell, datetime) and cell == datetime(cell.year, cell.month, cell.day):
        return cell.date()
    return None if cell == "" or cell in _ERRORS else cell


def _chosen_sheet(path: Path, sheet: str, sheets: Sequence[str], role: TableRole) -> str:
    """Return the sheet that was asked for, that of the role, or the only one."""
    words = _SHEETS[role.name].split()
    asked = [name for name in sheets if name.casefold() == sheet.casefold()]
    if sheet and not asked:
        raise DatasetError(f"{path}: {unknown_name('sheet', sheet, sheets)}")
    for some in (asked, [name for name in sheets if plain_name(name) in words], sheets):
        if len(some) == 1:
            return some[0]
    if not sheets:
        raise DatasetError(f"{path} has no rows")
    names = ", ".join(map(repr, sheets))
    raise DatasetError(f"{path} has sheets {names}: '{path}#{sheets[0]}' names one of them")


@contextmanager
def _reading(path: Path, form: str, library: str = "", extra: str = "") -> Iterator[Any]:
    """Import what reads a file; what it raises for a damaged one is one line."""
    try:
        yield import_module(library) if library else None
    except InputError:
        raise
    except ImportError as error:
        raise DatasetError(missing_extra(str(path), library, extra)) from error
    except _DAMAGE as error:
        text = shortened(" ".join(str(error).split()) or type(error).__name__, 200)
        raise FormatError(f"{path} cannot be read as {form}: {text}") from error
