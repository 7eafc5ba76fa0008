"""A fitted classifier as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers import Fitted
from nodecopy.core.saving import load, savable, save
from nodecopy.features.node_types import Encoder
from nodecopy.features.scaling import Scaling
from nodecopy.read.ids import id_arrays

# The name of a model in a folder.
MODEL_FILE = "model.safetensors"


@savable
@dataclass(frozen=True, eq=False)
class FittedState:
    """All that a fit leaves.

    Attributes:
        classes: the labels of the columns of probabilities [K].
        num_features: D.
        scaling: of the features.
        hubs: the nodes that the columns stand for, where no features were given [D].
        model: the fitted model.
        encoder: how features were made of columns, where they were.
        names: of the nodes of a model in a file, where they have others than their numbers, as
            `id_arrays` has them.
        kinds: how many nodes each kind has, in their order; classes belong to the first. Empty
            where there is one kind.
        columns: names of features that are columns as they are; empty where they have none.
        suggested: labelled nodes that `suggest` chose; None if there are none.
    """

    classes: NDArray[Any]
    num_features: int
    scaling: Scaling
    hubs: NDArray[np.int64] | None
    model: Fitted
    encoder: Encoder | None = None
    names: dict[str, NDArray[Any]] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    suggested: NDArray[np.int64] | None = None


@savable
@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """What a model file holds: the fit, and the arguments of its classifier."""

    state: FittedState
    arguments: dict[str, Any]


def write_fitted(
    path: str | os.PathLike[str], state: FittedState, arguments: Mapping[str, Any]
) -> None:
    """Write a fit and the arguments of its classifier to one file.

    A random generator is not saved: fitted again, the loaded classifier takes a fresh seed.
    """
    plain = dict(arguments)
    if not isinstance(plain.get("random_state"), (int, np.integer)):
        plain["random_state"] = None
    save(path, SavedClassifier(state, plain))


def read_fitted(path: str | os.PathLike[str]) -> tuple[FittedState, dict[str, Any]]:
    """Return what `write_fitted` wrote."""
    saved = load(model_file(path), SavedClassifier)
    return saved.state, saved.arguments


def saved_names(names: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """Return names as arrays, if all are strings or all integers of 64 bits; else nothing."""
    kinds = set() if names is None else {type(name) for name in names.tolist()}
    if names is None or kinds not in ({str}, {int}):
        return {}
    try:
        return id_arrays(names if kinds == {str} else names.astype(np.int64))
    except OverflowError:
        return {}


def model_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of a model, given it, its folder, or the folder of a run."""
    folder = Path(path)
    if not folder.is_dir():
        return folder
    inside = folder / "model" / MODEL_FILE
    return inside if inside.exists() else folder / MODEL_FILE
