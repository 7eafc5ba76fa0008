"""The public names and the command line on one page, docs/reference/index.md, from the code itself.

    python -m benchmarks.reference

Names are those of `nodecopy.__all__`. Every class has its arguments and methods, in one line each:
the first sentence of the docstring. A test holds that the page is current.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import nodecopy
from nodecopy.cli.reading import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "index.md"
_SHORT = (str, int, float, bool)
START, END = "<!-- names -->\n", "<!-- /names -->"


def page_text(page: str) -> str:
    """Return the page with what is between its marks made again."""
    before, rest = page.split(START)
    _, after = rest.split(END)
    blocks = ["## Python", *_names(), "## Command line", *_commands(), *_options()]
    return before + START + "\n" + "\n\n".join(blocks) + "\n\n" + END + after


def _names() -> Iterator[str]:
    for name in sorted(set(nodecopy.__all__) - {"__version__"}, key=str.lower):
        value = getattr(nodecopy, name)
        yield f"### {name}"
        yield _sentence(inspect.getdoc(value))
        lines = [
            *_arguments(value),
            *_members(value, whole=name in ("NodeCopyClassifier", "NodeCopyRegressor")),
        ]
        if lines:
            yield "\n".join(lines)


def _arguments(value: Any) -> Iterator[str]:
    """Yield a line for each argument that the docstring explains, or one line of all of them."""
    if _is_error(value):
        return
    if inspect.ismodule(value):
        functions = inspect.getmembers(value, inspect.isfunction)
        public = [name for name, one in functions if one.__module__ == value.__name__]
        yield "- Functions: " + ", ".join(f"`{name}`" for name in public if name[0] != "_")
        return
    names = {
        name: f"{name}={p.default!r}" if p.default is None or type(p.default) in _SHORT else name
        for name, p in inspect.signature(value).parameters.items()
    }
    section = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", inspect.getdoc(value) or "", re.S | re.M)
    if section is None:
        yield "- Arguments: " + ", ".join(f"`{shown}`" for shown in names.values())
        return
    for name, text in re.findall(r"^    (\w+): (.*?)(?=^    \w|\Z)", section[1], re.S | re.M):
        yield f"- `{names.get(name, name)}`: {_sentence(text)}"


def _members(value: Any, *, whole: bool) -> Iterator[str]:
    """Yield a line for each public method and property of the class, or one of all.

    Those that estimators share are of the class, too.
    """
    if not inspect.isclass(value) or _is_error(value):
        return
    members = {
        name: raw
        for cls in value.__mro__
        if cls is value or cls.__module__ == "nodecopy.estimator.base"
        for name, member in vars(cls).items()
        for raw in [getattr(member, "__func__", member)]
        if not name.startswith("_") and (inspect.isfunction(raw) or isinstance(raw, property))
        if not re.fullmatch(r"set_\w+_request", name)  # of scikit-learn
    }
    shown = {
        name: name if isinstance(raw, property) else f"{name}({_parameters(raw)})"
        for name, raw in members.items()
    }
    fitted = [name for name in members if name.endswith("_")]
    if whole:
        for name, raw in members.items():
            if name not in fitted:
                yield f"- `{shown[name]}`: {_sentence(inspect.getdoc(raw))}"
        yield "- After `fit`: " + ", ".join(f"`{name}`" for name in fitted)
    elif shown:
        yield "- Methods: " + ", ".join(f"`{name}`" for name in members)


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _parameters(function: Any) -> str:
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return ", ".join(names)


def _sentence(text: str | None) -> str:
    """Return the first sentence, on one line."""
    words = " ".join((text or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<!eq)(?<!e\.g)\. |; ", words)[0].rstrip(".:")
    return re.sub(r"``?([^`]+)``?", r"`\1`", sentence) + "."


def _commands() -> Iterator[str]:
    lines = []
    for name, command in _all_commands(typer.main.get_command(app)):
        words = [p.name.upper() for p in command.params if p.param_type_name == "argument"]
        lines.append(f"- `{' '.join(['nodecopy', name, *words])}`: {_sentence(command.help)}")
    yield "\n".join(lines)


def _all_commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, those of a group after the name of the group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _all_commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _options() -> Iterator[str]:
    """Yield every option once, with the commands that take it."""
    meanings: dict[tuple[str, str], list[str]] = {}
    for name, command in _all_commands(typer.main.get_command(app)):
        for parameter in command.params:
            if not parameter.hidden and parameter.param_type_name == "option":
                shown = ", ".join([*parameter.opts, *parameter.secondary_opts])
                help_text = " ".join((parameter.help or "").split())
                meanings.setdefault((shown, help_text), []).append(name)
    yield "### Options of the commands that read tables"
    yield "\n".join(f"- `{o}`: {t}" for (o, t), names in meanings.items() if len(names) > 3)
    yield "### Other options"
    yield "\n".join(
        f"- `{option}` ({', '.join(names)}): {text}"
        for (option, text), names in meanings.items()
        if len(names) < 4
    )


if __name__ == "__main__":
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
