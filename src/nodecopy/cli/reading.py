"""Options for one's own tables, the same in every command that reads them, and what they become."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.errors import InputError

if TYPE_CHECKING:
    from nodecopy.data.tables import TableDataset
    from nodecopy.progress import Progress

# Where the commands on a graph stand in the list of commands.
PANEL = "A graph"


def of_tables(help: str, *names: str, **checks: Any) -> Any:
    """Return an option that stands among those for one's own tables."""
    panel = "Your own tables"
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **checks)


Edges = Annotated[str | None, of_tables("CSV, TSV or Parquet: two ids, perhaps a weight.")]
Labels = Annotated[
    list[str] | None, of_tables("CSV, TSV or Parquet: id, label. May be given again.")
]
Features = Annotated[
    str | None, of_tables("The same, or NPZ: id and numbers, or id, feature, value.")
]
GraphFolder = Annotated[
    str | None, of_tables("Folder that nodecopy import wrote, instead of --edges and --features.")
]
EdgeColumns = Annotated[
    str | None, of_tables("Names of the columns of --edges to read: id,id or id,id,weight.")
]
LabelColumns = Annotated[
    str | None, of_tables("Names of the columns of the labels to read: id,label.")
]
FeatureColumns = Annotated[
    str | None, of_tables("Names of the columns of --features: the id and, if not all, features.")
]
RepeatedEdges = Annotated[
    str | None, of_tables("Weight of an edge with several rows: largest or sum. (default: largest)")
]
Missing = Annotated[
    str | None, of_tables("Missing numbers of features: impute or refuse. (default: impute)")
]
Encoding = Annotated[
    str | None, of_tables("Of the texts, e.g. cp1252 or mac-roman. (default: found)")
]
Decimal = Annotated[
    str | None, of_tables("Decimal mark of numbers in the texts, . or , (default: found)")
]
NaValues = Annotated[
    str | None,
    of_tables("Words that mean missing, e.g. k.A.,? (default: NA, n/a, null and others)"),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        help="Refuse what needs more memory, e.g. 8G. (default: half of what there is)",
        show_default=False,
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option(
        help="How often the label is in a node's set of classes. (default: 0.9)",
        show_default=False,
    ),
]
Formulas = Annotated[
    str | None,
    typer.Option(
        help="In CSV, keep or quote (with ') texts that a spreadsheet would run. (default: keep)",
        show_default=False,
    ),
]

_LISTS = ("edge_columns", "label_columns", "feature_columns", "na_values", "classes")
_OF_TABLES = (
    *("edges", "features", "edge_columns", "feature_columns"),
    *("repeated_edges", "missing", "encoding", "decimal", "na_values"),
)
_READING = (*_OF_TABLES, "labels", "label_columns", "graph", "max_memory")


def asked_for(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: lists of names as such, and sizes in bytes."""
    given = {name: value for name, value in options.items() if value not in (None, [])}
    for name in given.keys() & _LISTS:
        given[name] = column_names(given[name])
    if "max_memory" in given:
        from nodecopy.machine import memory_size

        given["max_memory"] = memory_size(given["max_memory"])
    if "labels" in given:
        given["labels"] = tuple(given["labels"])
    return given


def refuse(options: Iterable[str], why: str) -> None:
    """Refuse the first of these options."""
    for name in options:
        raise InputError(f"--{name.replace('_', '-')} {why}")


def check_source(asked: Mapping[str, Any]) -> None:
    """Refuse options that name neither tables nor a graph, or both."""
    if "graph" in asked:
        beside = [name for name in _OF_TABLES if name in asked]
        refuse(beside, f"is for tables; the graph {asked['graph']} was read already")
    elif "edges" not in asked:
        raise InputError("Missing option '--edges', or '--graph' of a graph that was imported.")


def of_source(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options that say what is read, and how: arguments of `read_tables`."""
    return {name: asked[name] for name in _READING if name in asked}


def read_source(asked: Mapping[str, Any], progress: Progress | None) -> TableDataset:
    """Read the tables, or open the graph, that options name."""
    from nodecopy.data.stored import open_graph
    from nodecopy.data.tables import read_tables

    given = of_source(asked)
    if "graph" not in given:
        return read_tables(**given, progress=progress)
    given.pop("max_memory", None)
    return open_graph(given.pop("graph"), **given, verify=True, progress=progress)


def column_names(columns: str) -> tuple[str, ...]:
    """Split names at commas, as a row of a CSV file: one with a comma stands in quotes."""
    try:
        return tuple(next(csv.reader([columns], skipinitialspace=True), []))
    except csv.Error as error:
        raise InputError(f"names of columns must be one row of CSV; got {columns!r}") from error
