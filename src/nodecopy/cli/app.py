"""The application that commands are added to, and its exit codes."""

from __future__ import annotations

import typer

EXIT_OUR_FAULT = 1
EXIT_USER_INPUT = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bayesian graph convolutional networks by node copying.",
)
