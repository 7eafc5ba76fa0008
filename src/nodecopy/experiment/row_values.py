"""Rows from files: whoever wrote them, every value is of the type and size that a row has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from nodecopy.errors import FormatError, shown
from nodecopy.experiment.outcome import Failure, FailureKind, Row
from nodecopy.experiment.trial import Trial, TrialResult
from nodecopy.typed import fits

_HINTS = get_type_hints(Trial) | get_type_hints(TrialResult)
_TRIAL = tuple(field.name for field in fields(Trial))
_RESULT = tuple(field.name for field in fields(TrialResult))
# No score or cost is beyond this, and sums of such numbers are numbers.
_LARGEST = 1e15


def checked_row(values: Mapping[str, Any]) -> Row:
    """Build a row of the values of its columns; nested ones are lists and dicts.

    Raises:
        FormatError: a column is missing or unknown, or a value is not what it should be.
    """
    for name in values:
        if name not in _HINTS:
            raise FormatError(f"unknown column {shown(name)}")
    held = {name: values[name] for name in _RESULT if name in values}
    if held.get("error_auroc", 0.0) is None:  # neither JSON nor SQLite has NaN
        held["error_auroc"] = math.nan
    bins = held.get("reliability")
    if isinstance(bins, list):
        held["reliability"] = tuple(tuple(b) if isinstance(b, list) else b for b in bins)
    for name in _RESULT:
        _check(name, held, _is_score if name == "error_auroc" else _is_sane)
    if not 0 <= held["accuracy"] <= 1:
        raise FormatError(f"accuracy must lie in 0 to 1; got {shown(held['accuracy'])}")
    return Row(checked_trial(values), TrialResult(**held))


def checked_trial(values: Mapping[str, Any]) -> Trial:
    """Build a trial of the values of its columns."""
    held = {name: values[name] for name in _TRIAL if name in values}
    for name in _TRIAL:
        _check(name, held, _is_sane)
    for name in ("dataset", "method"):
        # Names as ours are: what is exported to CSV is then nothing that a spreadsheet would run.
        if not re.fullmatch(r"\w[\w .+-]*", held[name]):
            raise FormatError(f"{name} cannot be {shown(held[name])}")
    if held["labels_per_class"] < 1 or held["seed"] < 0:
        raise FormatError(f"labels_per_class and seed must not be below 1 and 0; got {held}")
    return Trial(**held)


def checked_failure(trial: Trial, kind: Any, message: object) -> Failure:
    """Build a failure."""
    if kind not in get_args(FailureKind) or not isinstance(message, str):
        raise FormatError(f"a failure of {trial} has no kind or no message")
    return Failure(trial, kind, message)


def _check(name: str, held: Mapping[str, Any], sane: Callable[[Any], bool]) -> None:
    if name not in held:
        raise FormatError(f"the column {name} is missing")
    if not fits(held[name], _HINTS[name]) or not sane(held[name]):
        raise FormatError(f"{name} cannot be {shown(held[name])}")


def _is_score(value: Any) -> bool:
    return math.isnan(value) or abs(value) <= _LARGEST


def _is_sane(value: Any) -> bool:
    """Tell whether numbers are not absurd and texts can be printed, all the way down."""
    if isinstance(value, dict):
        return all(map(_is_sane, value)) and all(map(_is_sane, value.values()))
    if isinstance(value, tuple):
        return all(map(_is_sane, value))
    if isinstance(value, str):
        return value.isprintable()
    return value is None or abs(value) <= _LARGEST or (isinstance(value, int) and value < 2**63)
