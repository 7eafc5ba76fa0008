"""The application that commands are added to, its exit codes, and options that they share.

What an option means, its limits and its default belong to `FitSettings`; here is its text for
``--help``. How tables are read is declared in `TableOptions`, texts included.
"""

from __future__ import annotations

import csv
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nodecopy.errors import InputError, shown
from nodecopy.tables.options import TableOptions

if TYPE_CHECKING:
    from nodecopy.run import FitSettings

EXIT_OUR_FAULT = 1
EXIT_USER_INPUT = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bayesian graph convolutional networks by node copying.",
)
# Heading of the commands on a graph in the list of commands.
PANEL = "A graph"
_TABLES, _BUILT_IN = "Your own tables", "A built-in dataset"
_HINTS = get_type_hints(TableOptions)
# Names of options: how tables are read, and what is read.
READING = tuple(field.name for field in fields(TableOptions))
FILES = ("edges", "labels", "nodes")

# Type, heading and help by name.
_OPTIONS: dict[str, tuple[Any, str | None, str]] = {
    "method": (str, None, "The method: best, fast or paper. (default: best)"),
    "normalise": (str, None, "Scale features: auto, rows, columns or none. (default: auto)"),
    "random_state": (int, None, "Random seed. (default: 0)"),
    "calibrate": (
        *(bool, None),
        "Hold out labels to calibrate and to estimate accuracy. (default: not for paper)",
    ),
    "folds": (int, None, "Parts of the labels, each held out once. (default: 5)"),
    "class_prior": (
        *(str, None),
        "Shares of the classes: a=0.1,b=0.9, labels, or uniform. (default: estimate)",
    ),
    "coverage": (
        *(float, None),
        "How often the label is in a node's set of classes. (default: 0.9)",
    ),
    "abstain": (
        *(float, None),
        "Leave predictions empty from this probability of none of the classes on.",
    ),
    "max_memory": (
        *(str, None),
        "Memory that a fit may take at a time, e.g. 8G. (default: half of what there is)",
    ),
    "executor": (
        *(str, None),
        "Where to fit: serial, processes, or a Dask scheduler. (default: serial)",
    ),
    "edges": (
        *(list[str], _TABLES),
        "CSV, TSV or Parquet: two ids, perhaps a weight and a kind. Again for another kind.",
    ),
    "labels": (list[str], _TABLES, "CSV, TSV or Parquet: id, label. May be given again."),
    "nodes": (
        *(list[str], _TABLES),
        "CSV, TSV or Parquet: id and columns, or id, feature, value. May be given again.",
    ),
    "labels_per_class": (int, _BUILT_IN, "Known labels of each class. (default: 20)"),
    "split": (str, _BUILT_IN, "fixed (the public one) or random. (default: fixed)"),
} | {
    field.name: (
        *(bool if _HINTS[field.name] == bool | None else str, _TABLES),
        field.metadata["help"],
    )
    for field in fields(TableOptions)
}


def options(
    *names: str, without: Iterable[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace ``**options`` of a command by options, each None where it is not given.

    Args:
        names: of the options; all of them if there are none.
        without: options that are left out.
    """
    chosen = [name for name in names or _OPTIONS if name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(name)
            )
            for name in chosen
        ]

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            command(**given)

        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
        return wrapped

    return decorate


def _annotation(name: str) -> Any:
    kind, panel, help = _OPTIONS[name]
    return Annotated[kind | None, typer.Option(help=help, rich_help_panel=panel)]


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: lists of names as such, and sizes in bytes."""
    asked = {name: value for name, value in given.items() if value not in (None, [])}
    for name, value in asked.items():
        if isinstance(value, list):
            asked[name] = tuple(value)
        elif _HINTS.get(name) == tuple[str, ...] | None:
            asked[name] = column_names(value)
    if "max_memory" in asked:
        from nodecopy.machine import memory_size

        asked["max_memory"] = memory_size(asked["max_memory"])
    return asked


def settings_of(given: Mapping[str, Any]) -> FitSettings:
    """Return options as settings."""
    from nodecopy.run import FitSettings

    return FitSettings(**asked_for(given))


def refuse(options: Iterable[str], why: str) -> None:
    """Refuse the first of these options."""
    for name in options:
        raise InputError(f"--{name.replace('_', '-')} {why}")


def print_left_over(folder: str) -> None:
    """Say what runs that were killed left beside a folder."""
    from nodecopy.files import left_over_lines

    for line in left_over_lines(folder):
        print(f"note: {line}", file=sys.stderr)


def column_names(columns: str) -> tuple[str, ...]:
    """Split names at commas, as a row of a CSV file: one with a comma is in quotes."""
    try:
        return tuple(next(csv.reader([columns], skipinitialspace=True), []))
    except csv.Error as error:
        raise InputError(f"{shown(columns)} is not a list of column names: {error}") from error
