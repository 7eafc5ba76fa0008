"""What `nodecopy fit` is asked for: settings, and the file that repeats them."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from nodecopy.data.load import dataset_names
from nodecopy.data.splits import SplitKind
from nodecopy.data.tables.edges import RepeatedEdges
from nodecopy.data.tables.features import MissingValues
from nodecopy.data.tables.numbers import check_decimal
from nodecopy.data.tables.text import check_encoding
from nodecopy.errors import DatasetError, ModelError, SpecError, shown, unknown_name
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.method import PresetName, method_of, refuse_foreign
from nodecopy.estimator.words import WeightsWord
from nodecopy.regular_file import regular_file
from nodecopy.weights import TrainConfig

Formulas = Literal["keep", "quote"]

# Earlier names: one word meant one thing here and another in Python.
RENAMED = {"graphs": "n_zeta", "weight_draws": "n_weights"}
# Earlier settings, and why they are no more.
GONE = {
    "repeats": "is gone: labels are held out once, by the fit itself (calibrate, folds)",
    "suspicion": "is gone: all edges are ranked, and suspects says how many to list",
}

_FILES = ("edges", "labels", "features", "graph")
# How files are read: what a graph that was imported, or one that is built in, has settled already.
_READING = ("repeated_edges", "missing", "encoding", "decimal")
_OF_TABLES = ("edges", "features", "edge_columns", "feature_columns", *_READING, "na_values")
# What is asked of a built-in dataset, where nothing else is.
_BUILT_IN = {"labels_per_class": 20, "split": "fixed"}
_NAMES = ("edge_columns", "label_columns", "feature_columns", "na_values")


@dataclass(frozen=True)
class FitSettings:
    """Everything that decides what a fit gives; the fields are the keys of config.toml.

    Args:
        edges: file of the edges; None where there is a graph, or a built-in dataset.
        labels: file of the known labels, or several of them; None takes those of the graph, or of
            the split of a built-in dataset.
        features: file of the features; None describes nodes by their ties.
        edge_columns: names of the columns to read there; None finds them, see `read_tables`.
        label_columns: likewise, of the labels.
        feature_columns: likewise, of the features.
        repeated_edges: the weight of an edge with several rows is the "largest" or the "sum".
        missing: "impute" or "refuse" missing numbers of features.
        encoding: of the files; None finds it.
        decimal: "." or ",", of the numbers in the files; None finds it.
        na_values: words that mean missing there; None is the usual ones.
        seed: of all that is random.
        preset: the method: "best", "fast" or "paper", see `nodecopy.presets`.
        calibrate: hold out known labels, to make probabilities as sure as they are right and to
            estimate accuracy; None does so unless the preset is "paper".
        folds: parts of the known labels, each held out once; None is 5.
        n_zeta: V, draws of ζ: copied graphs; of "best" and "paper", and None is 10.
        n_weights: S, weight draws of each network; this and the three below are the paper's.
        epsilon: ε, the chance that a node keeps its own neighbours in a sampled graph.
        weights: "dropout" (the paper) draws weights by Monte Carlo dropout; "point" does not.
        epochs: how long each network is trained.
        standardise: bring dense columns of features to mean 0 and deviation 1, and rows of others
            to sum 1; else leave them as they are.
        suggestions: how many nodes to suggest for labelling.
        suspects: how many suspect edges to list at most.
        rivals: whether to compare with simple methods on the labels held out, and, on the test
            nodes of a built-in dataset, with a GCN and the paper's method.
        coverage: how often the label of a node is to be in its prediction set; there are sets where
            labels are held out.
        formulas: "keep" writes ids and labels to CSV files as they are; "quote" puts a ' in front
            of those that a spreadsheet would run as a formula.
        graph: folder that `nodecopy import` wrote, instead of edges and features.
        dataset: name of a built-in dataset, instead of edges and features.
        labels_per_class: how many labels of each of its classes are known; None is 20.
        split: which: "fixed" (the public ones) or "random"; None is "fixed".
    """

    edges: str | None = None
    labels: str | tuple[str, ...] | None = None
    features: str | None = None
    edge_columns: tuple[str, ...] | None = None
    label_columns: tuple[str, ...] | None = None
    feature_columns: tuple[str, ...] | None = None
    repeated_edges: RepeatedEdges = "largest"
    missing: MissingValues = "impute"
    encoding: str | None = None
    decimal: str | None = None
    na_values: tuple[str, ...] | None = None
    seed: int = 0
    preset: PresetName = "best"
    calibrate: bool | None = None
    folds: int | None = None
    n_zeta: int | None = None
    n_weights: int | None = None
    epsilon: float | None = None
    weights: WeightsWord | None = None
    epochs: int | None = None
    standardise: bool = True
    suggestions: int = 20
    suspects: int = 100
    rivals: bool = True
    coverage: float = 0.9
    formulas: Formulas = "keep"
    graph: str | None = None
    dataset: str | None = None
    labels_per_class: int | None = None
    split: SplitKind | None = None

    def __post_init__(self) -> None:
        """Check every field, so that nothing fails after the fit for what was known before."""
        self._check_files()
        self._check_reading()
        for key, (least, most) in _RANGE.items():
            if key not in _OPTIONAL or getattr(self, key) is not None:
                _check_whole(key, getattr(self, key), least, most)
        if self.epsilon is not None:
            _check_share("epsilon", self.epsilon)
        check_coverage(self.coverage)
        for key in ("standardise", "calibrate", "rivals"):
            value = getattr(self, key)
            if not isinstance(value, bool) and (key, value) != ("calibrate", None):
                raise SpecError(f"{key} must be true or false; got {shown(value)}")
        for key, choices in _CHOICES.items():
            if key not in _OPTIONAL or getattr(self, key) is not None:
                check_choice(key, getattr(self, key), get_args(choices))
        self._check_method()

    def _check_files(self) -> None:
        """Refuse names of files that are none, or are missing."""
        object.__setattr__(self, "labels", _one_or_more(self.labels))
        self._check_source()
        needed = ("edges", "labels") if self.graph is self.dataset is None else ()
        for key in _FILES:
            value = getattr(self, key)
            for path in (value if isinstance(value, tuple) else ()) or (value,):
                _check_path(key, path, optional=key not in needed)
        if self.label_columns is not None and self.labels is None:
            raise SpecError("label_columns are named, but no file of labels is given")

    def _check_source(self) -> None:
        """Refuse what stands beside a graph or a built-in dataset, or belongs to one alone."""
        foreign = dict.fromkeys(_BUILT_IN, "is for a built-in dataset: nodecopy fit cora")
        if self.dataset is not None:
            check_choice("dataset", self.dataset, dataset_names())
            for key, default in _BUILT_IN.items():
                if getattr(self, key) is None:
                    object.__setattr__(self, key, default)
            why = f"is for a graph of one's own, not for the built-in {self.dataset}"
            foreign = dict.fromkeys([*_OF_TABLES, "graph"], why)
        elif self.graph is not None:
            why = f"is for tables; the graph {self.graph} was read already"
            foreign |= dict.fromkeys(_OF_TABLES, why)
        for key, why in foreign.items():
            if getattr(self, key) != getattr(FitSettings, key):
                raise SpecError(f"{key} {why}")

    def _check_reading(self) -> None:
        """Check how files are read."""
        for key in _NAMES:
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        try:
            check_encoding(self.encoding)
            check_decimal(self.decimal)
        except DatasetError as error:
            raise SpecError(str(error)) from error

    @property
    def files(self) -> tuple[str, ...]:
        """The names of what is read, the graph or its edges first."""
        found: list[str] = []
        for value in (self.graph, self.edges, self.labels, self.features):
            found += value if isinstance(value, tuple) else [] if value is None else [value]
        return tuple(found)

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are read, as arguments of `read_tables`."""
        return {key: getattr(self, key) for key in (*_NAMES, *_READING)}

    def _check_method(self) -> None:
        """Refuse what the preset does not have."""
        try:
            refuse_foreign(
                self.preset, [key for key in _OF_METHOD if getattr(self, key) is not None]
            )
            method_of(self.classifier().get_params())
        except ModelError as error:
            raise SpecError(str(error)) from error

    @property
    def holds_out(self) -> bool:
        """Whether known labels are held out."""
        return self.preset != "paper" if self.calibrate is None else self.calibrate

    def classifier(self, progress: bool | None = None) -> NodeCopyClassifier:
        """Return the classifier that these settings describe, not fitted yet."""
        return NodeCopyClassifier(
            self.preset,
            calibrate=self.calibrate,
            folds=self.folds,
            n_zeta=self.n_zeta,
            n_weights=self.n_weights,
            epsilon=self.epsilon,
            weights=self.weights,
            training=None if self.epochs is None else TrainConfig(epochs=self.epochs),
            normalise="auto" if self.standardise else False,
            random_state=self.seed,
            progress=progress,
        )


# Settings of a method, and settings that may be left to it, or to the source.
_OF_METHOD = ("n_zeta", "n_weights", "epsilon", "weights", "epochs")
_OPTIONAL = (*_OF_METHOD, "folds", *_BUILT_IN)

_CHOICES: dict[str, Any] = {
    "preset": PresetName,
    "weights": WeightsWord,
    "repeated_edges": RepeatedEdges,
    "missing": MissingValues,
    "formulas": Formulas,
    "split": SplitKind,
}
_RANGE = {
    "seed": (0, 2**62),
    "n_zeta": (1, 10_000),
    "n_weights": (1, 10_000),
    "epochs": (1, 1_000_000),
    "folds": (2, 1_000),
    "suggestions": (0, 1_000_000_000),
    "suspects": (0, 1_000_000_000),
    "labels_per_class": (1, 1_000_000),
}


def write_settings(settings: FitSettings, folder: Path) -> str:
    """Return settings as TOML, with the files named as seen from the folder the text is kept in."""
    lines = ["# nodecopy fit --config config.toml --out FOLDER gives the same files again."]
    for field in fields(FitSettings):
        value = getattr(settings, field.name)
        if field.name in _FILES and value is not None:
            value = _each(lambda path: _seen_from(folder, path), value)
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
        _check_key(file, key)
    given = content | changes
    needed = () if {"graph", "dataset"} & given.keys() else ("edges", "labels")
    missing = [key for key in needed if key not in given]
    if missing:
        raise SpecError(f"{file}: the key {missing[0]} is missing; needed: {', '.join(missing)}")
    try:
        for key in _FILES:
            if key in content:
                content[key] = _each(
                    lambda path: os.path.normpath(file.parent / path), _one_or_more(content[key])
                )
        return FitSettings(**(content | changes))
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from error


_KEYS = tuple(field.name for field in fields(FitSettings))


def _check_key(file: Path, key: str) -> None:
    if key in RENAMED:
        raise SpecError(f"{file}: the key {key} is now {RENAMED[key]}, as in Python")
    if key in GONE:
        raise SpecError(f"{file}: the key {key} {GONE[key]}")
    if key not in _KEYS:
        raise SpecError(f"{file}: {unknown_name('key', key, _KEYS)}")


def _one_or_more(paths: Any) -> Any:
    """Return one file as it is, and a list of several as a tuple; of a single one, that one."""
    if not isinstance(paths, (list, tuple)):
        return paths
    return paths[0] if len(paths) == 1 else tuple(paths)


def _each(change: Callable[[str], str], paths: Any) -> Any:
    """Change the name of a file, or of each of several; what is no name stays as it is."""
    if isinstance(paths, tuple):
        return tuple(_each(change, path) for path in paths)
    return change(paths) if isinstance(paths, str) else paths


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


def check_coverage(value: object) -> None:
    """Refuse what is no share, and those of none and of all."""
    _check_share("coverage", value)
    if not 0 < value < 1:  # type: ignore[operator]
        raise SpecError(f"coverage must be above 0 and below 1; got {shown(value)}")


def _check_path(key: str, value: object, *, optional: bool) -> None:
    if optional and value is None:
        return
    if not isinstance(value, str) or not value or "\0" in value:
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
