"""What `nodecopy fit` does with one's own tables: settings, and the file that repeats them."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from nodecopy.data.tables.edges import RepeatedEdges
from nodecopy.errors import SpecError, shown, unknown_name
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.regular_file import regular_file
from nodecopy.weights import MCDropout, PointEstimate, TrainConfig

WeightDraws = Literal["dropout", "point"]
Formulas = Literal["keep", "quote"]

# Earlier names: one word meant one thing here and another in Python.
RENAMED = {"graphs": "n_zeta", "weight_draws": "n_weights"}

_FILES = ("edges", "labels", "features")
_COLUMNS = ("edge_columns", "label_columns", "feature_columns")


@dataclass(frozen=True)
class FitSettings:
    """Everything that decides what a fit to tables gives; the fields are the keys of config.toml.

    Args:
        edges: file of the edges.
        labels: file of the known labels.
        features: file of the features; None describes nodes by their ties.
        edge_columns: names of the columns to read there; None finds them, see `read_tables`.
        label_columns: likewise, of the labels.
        feature_columns: likewise, of the features.
        repeated_edges: the weight of an edge with several rows is the "largest" or the "sum".
        seed: of all that is random.
        n_zeta: V, draws of ζ; each gives a sampled graph, and a network trained on it.
        n_weights: S, weight draws of each network, a prediction from each.
        epsilon: ε, the chance that a node keeps its own neighbours in a sampled graph.
        standardise: bring dense columns of features to mean 0 and deviation 1, and rows of others
            to sum 1; else leave them as they are.
        weights: "dropout" (the paper) draws weights by Monte Carlo dropout; "point" does not.
        epochs: how long each network is trained.
        folds: parts of the known labels, each held out once, to estimate accuracy.
        repeats: times that is done over; 0 estimates nothing.
        suggestions: how many nodes to suggest for labelling.
        suspicion: probability of different classes from which an edge is suspect.
        formulas: "keep" writes ids and labels to CSV files as they are; "quote" puts a ' in front
            of those that a spreadsheet would run as a formula.
    """

    edges: str
    labels: str
    features: str | None = None
    edge_columns: tuple[str, ...] | None = None
    label_columns: tuple[str, ...] | None = None
    feature_columns: tuple[str, ...] | None = None
    repeated_edges: RepeatedEdges = "largest"
    seed: int = 0
    n_zeta: int = 10
    n_weights: int = 10
    epsilon: float = 0.01
    standardise: bool = True
    weights: WeightDraws = "dropout"
    epochs: int = 200
    folds: int = 5
    repeats: int = 2
    suggestions: int = 20
    suspicion: float = 0.9
    formulas: Formulas = "keep"

    def __post_init__(self) -> None:
        """Check every field, so that nothing fails after the fit for what was known before."""
        for key in _FILES:
            _check_path(key, getattr(self, key), optional=key == "features")
        for key in _COLUMNS:
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        for key, (least, most) in _RANGE.items():
            _check_whole(key, getattr(self, key), least, most)
        _check_share("epsilon", self.epsilon)
        _check_share("suspicion", self.suspicion)
        if not isinstance(self.standardise, bool):
            raise SpecError(f"standardise must be true or false; got {shown(self.standardise)}")
        for key, choices in _CHOICES.items():
            check_choice(key, getattr(self, key), get_args(choices))

    def classifier(self, progress: bool | None = None) -> NodeCopyClassifier:
        """Return the classifier that these settings describe, not fitted yet."""
        return NodeCopyClassifier(
            n_zeta=self.n_zeta,
            n_weights=self.n_weights,
            epsilon=self.epsilon,
            normalise="auto" if self.standardise else False,
            weights=MCDropout() if self.weights == "dropout" else PointEstimate(),
            training=TrainConfig(epochs=self.epochs),
            random_state=self.seed,
            progress=progress,
        )


_CHOICES: dict[str, Any] = {
    "weights": WeightDraws,
    "repeated_edges": RepeatedEdges,
    "formulas": Formulas,
}
_RANGE = {
    "seed": (0, 2**62),
    "n_zeta": (1, 10_000),
    "n_weights": (1, 10_000),
    "epochs": (1, 1_000_000),
    "folds": (2, 1_000),
    "repeats": (0, 1_000),
    "suggestions": (0, 1_000_000_000),
}


def write_settings(settings: FitSettings, folder: Path) -> str:
    """Return settings as TOML, with the files named as seen from the folder the text is kept in."""
    lines = ["# nodecopy fit --config config.toml --out FOLDER gives the same files again."]
    for field in fields(FitSettings):
        value = getattr(settings, field.name)
        if field.name in _FILES and value is not None:
            value = _seen_from(folder, value)
        if value is not None:
            lines.append(f"{field.name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def read_settings(path: str | os.PathLike[str], **changes: Any) -> FitSettings:
    """Read settings that `write_settings` wrote, or that were written by hand.

    Args:
        path: the TOML file; the files it names are seen from its folder.
        changes: fields to replace.
    """
    file = regular_file(path, SpecError)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} cannot be read as text: {error}") from error
    except (ValueError, RecursionError) as error:  # not TOML, too deep, a number too long
        raise SpecError(f"{file} is not TOML: {error}") from error
    for key in content:
        if key in RENAMED:
            raise SpecError(f"{file}: the key {key} is now {RENAMED[key]}, as in Python")
        if key not in _KEYS:
            raise SpecError(f"{file}: {unknown_name('key', key, _KEYS)}")
    missing = [field.name for field in fields(FitSettings) if field.default is MISSING]
    missing = [key for key in missing if key not in content | changes]
    if missing:
        raise SpecError(f"{file}: the key {missing[0]} is missing; needed: {', '.join(missing)}")
    try:
        for key in _FILES:
            if isinstance(content.get(key), str):
                content[key] = os.path.normpath(file.parent / content[key])
        return FitSettings(**(content | changes))
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from error


_KEYS = tuple(field.name for field in fields(FitSettings))


def _seen_from(folder: Path, path: str) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(path).absolute())


def _toml(value: str | float | Sequence[str]) -> str:
    # A JSON text is a TOML text, but for one character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def check_choice(key: str, value: object, accepted: Sequence[str]) -> None:
    """Refuse a word that is not one of those accepted."""
    if value not in accepted:
        raise SpecError(unknown_name(key, value, accepted))


def _check_path(key: str, value: object, *, optional: bool) -> None:
    if optional and value is None:
        return
    if not isinstance(value, str) or not value:
        raise SpecError(f"{key} must be the name of a file; got {shown(value)}")


def _names(key: str, value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise SpecError(f"{key} must be a list of names of columns; got {shown(value)}")
    return tuple(value)


def _check_whole(key: str, value: object, least: int, most: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= most:  # type: ignore[operator]
        raise SpecError(
            f"{key} must be a whole number from {least} to {most:,}; got {shown(value)}"
        )


def _check_share(key: str, value: object) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or math.isnan(value):  # type: ignore[operator, arg-type]
        raise SpecError(f"{key} must be a number from 0 to 1; got {shown(value)}")
