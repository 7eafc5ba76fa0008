"""Options for tables, the same in every command that reads them, and what they become.

How tables are read is declared in `TableOptions`; `table_options` makes options of its fields.
"""

from __future__ import annotations

import csv
import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nodecopy.errors import InputError, shown
from nodecopy.tables.options import TableOptions

if TYPE_CHECKING:
    from nodecopy.run import FitSettings

# Heading of the commands on a graph in the list of commands.
PANEL = "A graph"


def of_tables(help: str, *names: str, **checks: Any) -> Any:
    """Return an option that is listed among those for tables."""
    panel = "Your own tables"
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **checks)


Edges = Annotated[str | None, of_tables("CSV, TSV or Parquet: two ids, perhaps a weight.")]
Labels = Annotated[
    list[str] | None, of_tables("CSV, TSV or Parquet: id, label. May be given again.")
]
Nodes = Annotated[
    list[str] | None,
    of_tables("CSV, TSV or Parquet: id and columns, or id, feature, value. May be given again."),
]
GraphFolder = Annotated[
    str | None, of_tables("Folder that nodecopy import wrote, instead of --edges and --nodes.")
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
_HINTS = get_type_hints(TableOptions)
OPTIONS = tuple(field.name for field in fields(TableOptions))
_LISTS = ("classes", *(name for name in OPTIONS if _HINTS[name] == tuple[str, ...] | None))


def table_options(
    *, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace ``**options`` of a command by one option for each field of `TableOptions`.

    Args:
        without: fields that the command does not take.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD]
        for field in fields(TableOptions):
            if field.name not in without:
                is_flag = _HINTS[field.name] == bool | None
                hint: Any = bool | None if is_flag else str | None
                parameters.append(
                    inspect.Parameter(
                        field.name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=None,
                        annotation=Annotated[hint, of_tables(field.metadata["help"])],
                    )
                )

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            command(**given)

        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
        return wrapped

    return decorate


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: lists of names as such, and sizes in bytes.

    Args:
        given: the arguments of a command, those for tables in ``options``.
    """
    flat = {**given, **given.get("options", {})}
    asked = {name: value for name, value in flat.items() if value not in (None, [])}
    asked.pop("options", None)
    for name in asked.keys() & set(_LISTS):
        asked[name] = column_names(asked[name])
    if "max_memory" in asked:
        from nodecopy.machine import memory_size

        asked["max_memory"] = memory_size(asked["max_memory"])
    for name in asked.keys() & {"labels", "nodes"}:
        asked[name] = tuple(asked[name])
    return asked


def refuse(options: Iterable[str], why: str) -> None:
    """Refuse the first of these options."""
    for name in options:
        raise InputError(f"--{name.replace('_', '-')} {why}")


def settings_of(asked: Mapping[str, Any], *others: str) -> FitSettings:
    """Return options as settings, but for those that are something else."""
    from nodecopy.run import FitSettings

    return FitSettings(**{name: value for name, value in asked.items() if name not in others})


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
