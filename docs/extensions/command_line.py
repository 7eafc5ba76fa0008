"""The directive ``command-line``: every command with its arguments and options, from the program.

The text is that of ``--help``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from nodecopy.cli.reading import app as commands


class CommandLine(SphinxDirective):
    """One section for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        program: Any = typer.main.get_command(commands)
        return [_section(name, command) for name, command in program.commands.items()]


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx about the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _section(name: str, command: Any) -> nodes.section:
    title = nodes.title("", "", nodes.literal("", f"nodecopy {name}"))
    section = nodes.section("", title, ids=[f"nodecopy-{name}"], names=[f"nodecopy {name}"])
    for paragraph in (command.help or "").split("\n\n"):
        text = " ".join(paragraph.split())
        kind = nodes.literal_block if text.startswith("nodecopy ") else nodes.paragraph
        section += kind("", text)
    rows = nodes.definition_list()
    for parameter in command.params:
        if not parameter.hidden:
            term = nodes.term("", "", *_names(parameter))
            meaning = nodes.paragraph("", " ".join((parameter.help or "").split()))
            rows += nodes.definition_list_item("", term, nodes.definition("", meaning))
    if len(rows):
        section += rows
    return section


def _names(parameter: Any) -> Iterator[nodes.Node]:
    """Yield an option as it is typed, with what holds if it is not."""
    argument = parameter.param_type_name == "argument"
    shown = [parameter.name.upper()] if argument else [*parameter.opts, *parameter.secondary_opts]
    for at, name in enumerate(shown):
        yield nodes.Text(", " if at else "")
        yield nodes.literal("", name)
    if parameter.required:
        yield nodes.Text(" needed")
    elif parameter.default is not None and not getattr(parameter, "is_flag", False):
        yield nodes.Text(" default ")
        yield nodes.literal("", str(parameter.default))
