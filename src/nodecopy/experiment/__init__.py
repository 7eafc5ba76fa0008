"""Experiments: the methods the paper compares, trials of them, and whole grids of trials.

`spec` says what to run, `runner` runs it, an executor says where, `store` keeps the rows.

Each name is imported when it is first used: reading rows needs no model code.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nodecopy.experiment.trial import Trial, TrialResult

if TYPE_CHECKING:
    from nodecopy.experiment.measure import run_trial
    from nodecopy.experiment.methods import METHODS, build_method

__all__ = ["METHODS", "Trial", "TrialResult", "build_method", "run_trial"]

_HOME = {
    "METHODS": "nodecopy.experiment.methods",
    "build_method": "nodecopy.experiment.methods",
    "run_trial": "nodecopy.experiment.measure",
}

if not TYPE_CHECKING:  # a visible __getattr__ would make type checkers accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'nodecopy.experiment' has no attribute {name!r}")
        return getattr(importlib.import_module(_HOME[name]), name)
