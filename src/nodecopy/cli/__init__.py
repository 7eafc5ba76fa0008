"""The command line: parse, call one function, print.

Heavy modules are imported inside the commands, so that ``nodecopy --help`` stays quick.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from nodecopy import __version__
from nodecopy.cli import graphs, paper, reading  # noqa: F401 - they add commands
from nodecopy.cli.reading import EXIT_INTERRUPTED, EXIT_OUR_FAULT, EXIT_USER_INPUT, app
from nodecopy.core.errors import (
    DatasetError,
    InputError,
    NodecopyError,
    RunError,
    SpecError,
    TrainingError,
)
from nodecopy.core.machine import prefer_one_thread
from nodecopy.read.options import with_flags


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 fine, 1 our fault, 2 the user's input.

    A failure is one line on stderr; its traceback is shown with ``--debug`` only. Training that
    diverges and names that the system refuses are the user's input; a full disk is not.

    Args:
        args: the words after the program's name; those of the process by default.
    """
    options = {"debug": False}  # known here even when a command fails
    try:
        _refuse_odd(sys.argv[1:] if args is None else args)
        code = app(
            args=None if args is None else list(args),
            prog_name="nodecopy",
            standalone_mode=False,
            obj=options,
        )
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except (InputError, TrainingError, typer.TyperException) as error:
        return _fail(EXIT_USER_INPUT, f"error: {_explain(error)}", options)
    except (RunError, OSError) as error:  # no bug, but a full disk, a lost cluster
        refused = _is_refused_name(error) or _is_refused_name(error.__cause__)
        return _fail(EXIT_USER_INPUT if refused else EXIT_OUR_FAULT, f"error: {error}", options)
    except Exception as raised:  # noqa: BLE001 - the last resort, where a bug becomes one line
        # An Abort is what typer makes of any EOFError, as if someone had ended a dialogue.
        bug = raised.__cause__ if isinstance(raised, typer.Abort) else raised
        what = f"internal error: {type(bug).__name__}: {bug}"
        hint = "run again with --debug before the command for the traceback"
        return _fail(EXIT_OUR_FAULT, what if options["debug"] else f"{what}; {hint}", options)
    if code == EXIT_INTERRUPTED:  # typer turns an interrupt inside a command into this code
        print("interrupted", file=sys.stderr)
    return code or 0


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    context.obj["debug"] = debug
    prefer_one_thread()  # before a command imports NumPy and torch, which look once
    if version:
        print(f"nodecopy {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


# What the system says where the machine is at fault, not the name of a file.
_MACHINE = {None, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC}


def _refuse_odd(words: Sequence[str]) -> None:
    for word in words:
        if any("\ud800" <= letter <= "\udfff" for letter in word):  # bytes that are not UTF-8
            raise InputError(f"names and values must be UTF-8; got {word!r}")


def _is_refused_name(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno not in _MACHINE


def _fail(code: int, message: str, options: dict[str, bool]) -> int:
    if options["debug"]:
        traceback.print_exc()
    print(" ".join(message.split()), file=sys.stderr)
    return code


def _explain(error: NodecopyError | typer.TyperException) -> str:
    if isinstance(error, NodecopyError):
        text = with_flags(str(error))
        return reading.naming_option(text) if isinstance(error, (SpecError, DatasetError)) else text
    context = getattr(error, "ctx", None)
    hint = f" (see '{context.command_path} --help')" if context is not None else ""
    return error.format_message() + hint
