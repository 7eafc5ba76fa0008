"""The application that commands are added to, its exit codes, and options that they share.

What an option means, its limits and its default belong to `FitSettings`; here is its text for
``--help``. How tables are read is declared in `TableOptions`, with the help of each option.
"""

from __future__ import annotations

import csv
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nodecopy.core.errors import InputError, shown
from nodecopy.read.options import TableOptions

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
# What the command line takes for a type; lists of names may be given again.
_TYPES = {bool | None: bool, int | None: int, tuple[str, ...] | None: list[str]}
# Columns that must not be given twice: they go for all files.
_ONCE = ("edge_columns", "label_columns")
# Names of options: how tables are read, and what is read.
READING = tuple(field.name for field in fields(TableOptions))


def _option(type: Any, help: str, heading: str | None = None) -> Any:
    """Return the annotation of an option: its type, its help, and the heading of its list."""
    return Annotated[type | None, typer.Option(help=help, rich_help_panel=heading)]


_FIT = {
    "method": _option(str, "The method: best, fast or paper. (default: best)"),
    "normalise": _option(str, "Scale features: auto, rows, columns or none. (default: auto)"),
    "text_model": _option(
        str, "Read sentences by a folder or model name, or none. (default: auto, if installed)"
    ),
    "classes": _option(
        str,
        "What classes mean: games,web, a CSV file of class, description, or none. (default: names)",
    ),
    "random_state": _option(int, "Random seed. (default: 0)"),
    "calibrate": _option(
        bool, "Hold out labels to calibrate and to estimate accuracy. (default: not for paper)"
    ),
    "folds": _option(int, "Parts of the labels, each held out once. (default: 5)"),
    "class_prior": _option(
        str, "Shares of the classes: a=0.1,b=0.9, labels, or uniform. (default: estimate)"
    ),
    "coverage": _option(float, "How often the label is in a node's set of classes. (default: 0.9)"),
    "max_novelty": _option(
        float, "Leave predictions empty from this probability of none of the classes on."
    ),
    "executor": _option(
        str, "Where to fit: serial, processes, or a Dask scheduler. (default: serial)"
    ),
}
_INPUT = {
    "edges": "A table of two ids, perhaps a weight and a relation, or a graph. May be given again.",
    "labels": "A table of ids and labels. May be given again.",
    "nodes": "A table of ids and columns, or of id, feature, value. May be given again.",
}
_OPTIONS = {
    **_FIT,
    **{name: _option(list[str], text, _TABLES) for name, text in _INPUT.items()},
    "labels_per_class": _option(int, "Known labels of each class. (default: 20)", _BUILT_IN),
    "split": _option(str, "fixed (the public one) or random. (default: fixed)", _BUILT_IN),
    **{
        field.name: _option(_TYPES.get(_HINTS[field.name], str), field.metadata["help"], _TABLES)
        for field in fields(TableOptions)
    },
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
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_OPTIONS[name]
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


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: lists of names as such."""
    asked = {name: value for name, value in given.items() if value not in (None, [])}
    for name, value in asked.items():
        if name in _ONCE and len(value) > 1:
            again = f"{_flag(name)} is given {len(value)} times, and goes for all files"
            raise InputError(f"{again}: {' and '.join(map(shown, value))}")
        if name in _HINTS and isinstance(value, list):
            asked[name] = tuple(column for each in value for column in column_names(each))
        elif isinstance(value, list):
            asked[name] = tuple(value)
    return asked


def settings_of(given: Mapping[str, Any]) -> FitSettings:
    """Return options as settings."""
    from nodecopy.run import FitSettings

    return FitSettings(**asked_for(given))


def refuse(options: Iterable[str], why: str) -> None:
    """Refuse the first of these options."""
    for name in options:
        raise InputError(f"{_flag(name)} {why}")


def naming_option(message: str) -> str:
    """Return a message that begins with the name of a setting with that of its option instead.

    >>> naming_option("unknown repeated_edges 'all'; accepted: largest, sum")
    "unknown --repeated-edges 'all'; accepted: largest, sum"
    >>> naming_option("labels.csv holds no label")
    'labels.csv holds no label'
    """
    return re.sub(
        r"^(unknown )?(\w+)(?= )",
        lambda start: f"{start[1] or ''}{_flag(start[2])}" if start[2] in _OPTIONS else start[0],
        message,
    )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def column_names(columns: str) -> tuple[str, ...]:
    """Split names at commas, as a row of a CSV file: one with a comma is in quotes."""
    try:
        return tuple(next(csv.reader([columns], skipinitialspace=True), []))
    except csv.Error as error:
        raise InputError(f"{shown(columns)} is not a list of column names: {error}") from error
