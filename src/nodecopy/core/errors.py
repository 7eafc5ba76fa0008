"""The exception tree: everything this package raises on purpose.

NodecopyError
├── InputError          the caller's input is wrong (the command line exits with 2)
│   ├── GraphError
│   ├── DatasetError
│   ├── SplitError
│   ├── ModelError      an impossible setting of a model
│   │   └── NotFittedError
│   ├── FormatError     a file that is not what it should be
│   └── SpecError       an experiment that cannot be run as it is written
├── TrainingError       training itself failed, e.g. a loss that is not a number
└── RunError            a run cannot go on, e.g. a full disk or a scheduler that does not answer
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class NodecopyError(Exception):
    """Base of every error that nodecopy raises on purpose."""


class InputError(NodecopyError, ValueError):
    """The caller's input is wrong; the message says what was found and what is accepted."""


class GraphError(InputError):
    """A graph that cannot be built, or an operation it does not allow."""


class DatasetError(InputError):
    """A dataset that is unknown, inconsistent or unreadable."""


class SplitError(InputError):
    """A split that cannot be made, or that belongs to another dataset."""


class ModelError(InputError):
    """An impossible setting, or data that a model cannot be fitted to."""


class NotFittedError(ModelError, AttributeError):
    """A model that must be fitted before it can answer.

    It is an AttributeError, too, so that ``hasattr(model, "posterior_")`` is False until then.
    """


class FormatError(InputError):
    """A file that is truncated, tampered with, or of a version this release does not read."""


class SpecError(InputError):
    """An experiment with an unknown key, a wrong type or an impossible value."""


class TrainingError(NodecopyError, RuntimeError):
    """Training failed although the input was accepted."""


class RunError(NodecopyError, RuntimeError):
    """A run cannot go on where it is: the disk is full, workers do not start, no scheduler answers.

    What was stored before is kept, and the same command goes on from there.
    """


def missing_extra(what: str, package: str, extra: str) -> str:
    """Return the message for something that needs an optional package.

    >>> missing_extra("a report", "Jinja2", "report")
    "a report needs Jinja2: pip install 'nodecopy[report]', or '.[report]' in a checkout"
    """
    return f"{what} needs {package}: pip install 'nodecopy[{extra}]', or '.[{extra}]' in a checkout"


def unknown_name(what: str, name: object, accepted: Iterable[str]) -> str:
    """Return the message for an unknown name, with the nearest accepted one as a suggestion.

    >>> unknown_name("dataset", "corra", ["pubmed", "cora"])
    "unknown dataset 'corra'; did you mean 'cora'? accepted: cora, pubmed"
    """
    names = sorted(accepted)
    close = difflib.get_close_matches(name, names, n=1) if isinstance(name, str) else []
    hint = f" did you mean {close[0]!r}?" if close else ""
    return f"unknown {what} {shown(name)};{hint} accepted: {', '.join(names)}"


def shown(value: object, length: int = 80) -> str:
    """Return a value for a message: as Python writes it, cut short, whatever it is.

    >>> shown("x" * 100, 10), shown(1 << 100_000)
    ("'xxxxxxxx…", 'a value of type int that cannot be shown')
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        text = f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= length else text[: length - 1] + "…"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(items: Sequence[str], count: int) -> str:
    """Join the first items of a list, and say how many more there are.

    >>> listed(["'a' (line 2)", "'b' (line 5)"], 4)
    "'a' (line 2), 'b' (line 5) and 2 more"
    """
    more = f" and {count - len(items):,} more" if count > len(items) else ""
    return ", ".join(items) + more


def shortened(text: str, length: int = 60) -> str:
    """Cut a string that is too long for a message in its middle: long ids often begin alike.

    >>> shortened("a long text", 7)
    'a l…ext'
    """
    half = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - half]}…{text[-half:]}"
