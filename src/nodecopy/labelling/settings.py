"""What `nodecopy fit` is asked for: settings, and the file that repeats them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from nodecopy.calibration.sets import check_coverage
from nodecopy.data.load import dataset_names
from nodecopy.data.splits import SplitKind
from nodecopy.data.tables.edges import RepeatedEdges
from nodecopy.data.tables.features import MissingValues
from nodecopy.data.tables.numbers import check_decimal
from nodecopy.data.tables.text import check_encoding
from nodecopy.errors import DatasetError, ModelError, SpecError, shown, unknown_name
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.estimator.method import PresetName, WeightsWord, method_of, refuse_foreign
from nodecopy.regular_file import regular_file
from nodecopy.typed import fits
from nodecopy.weights import TrainConfig

Formulas = Literal["keep", "quote"]

# Earlier names of settings and options, and what became of them.
GONE = {
    "graphs": "is now n_zeta (--n-zeta), as in Python",
    "weight_draws": "is now n_weights (--n-weights), as in Python",
    "repeats": "is gone: labels are held out once, by the fit itself (--calibrate, --folds)",
    "jobs": "is gone: labels are held out once, by the fit itself (--calibrate, --folds)",
    "suspicion": "is gone: all edges are ranked, and suspects (--suspects) says how many to list",
}

_FILES = ("edges", "labels", "features", "graph")
_NAMES = ("edge_columns", "label_columns", "feature_columns", "na_values")
# How files are read: what a graph that was imported, or one that is built in, has settled already.
_READING = ("repeated_edges", "missing", "encoding", "decimal")
_OF_TABLES = ("edges", "features", "edge_columns", "feature_columns", *_READING, "na_values")
# What is asked of a built-in dataset, where nothing else is.
_BUILT_IN = {"labels_per_class": 20, "split": "fixed"}
_OF_METHOD = ("n_zeta", "n_weights", "epsilon", "weights", "epochs")


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
        object.__setattr__(self, "labels", _one_or_more(self.labels))
        for key in _NAMES:
            if isinstance(value := getattr(self, key), list):
                object.__setattr__(self, key, tuple(value))
        self._check_source()
        needed = ("edges", "labels") if self.graph is self.dataset is None else ()
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not field.default or field.name in needed:
                _check_value(field.name, value)
        if self.label_columns is not None and self.labels is None:
            raise SpecError("label_columns are named, but no file of labels is given")
        try:
            check_encoding(self.encoding)
            check_decimal(self.decimal)
            check_coverage(self.coverage)
            given = [key for key in _OF_METHOD if getattr(self, key) is not None]
            refuse_foreign(self.preset, given)  # by the names that they have here
            method_of(self.classifier().get_params())
        except (DatasetError, ModelError) as error:
            raise SpecError(str(error)) from error

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


_KEYS = tuple(field.name for field in fields(FitSettings))


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
        if key in GONE:
            raise SpecError(f"{file}: the key {key} {GONE[key]}")
        if key not in _KEYS:
            raise SpecError(f"{file}: {unknown_name('key', key, _KEYS)}")
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


def _check_value(key: str, value: object) -> None:
    """Refuse a value that a setting cannot have."""
    if key in _CHOICES:
        check_choice(key, value, get_args(_CHOICES[key]))
    if key in _ACCEPTED:
        accepted, is_accepted = _ACCEPTED[key]
        if not is_accepted(value):
            raise SpecError(f"{key} must be {accepted}; got {shown(value)}")


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _are_paths(value: Any) -> bool:
    return all(map(_is_path, value)) if fits(value, tuple[Any, ...]) and value else _is_path(value)


def _whole(least: int, most: int) -> tuple[str, Callable[[Any], bool]]:
    accepted = f"a whole number from {least} to {most:,}"
    return accepted, lambda value: fits(value, int) and least <= value <= most


_CHOICES: dict[str, Any] = {
    "preset": PresetName,
    "weights": WeightsWord,
    "repeated_edges": RepeatedEdges,
    "missing": MissingValues,
    "formulas": Formulas,
    "split": SplitKind,
}
_FLAG = ("true or false", lambda value: isinstance(value, bool))
_ACCEPTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(_FILES, ("the name of a file", _is_path)),
    "labels": ("the name of a file, or a list of them", _are_paths),
    **dict.fromkeys(_NAMES, ("a list of texts", lambda value: fits(value, tuple[str, ...]))),
    **dict.fromkeys(("calibrate", "standardise", "rivals"), _FLAG),
    "seed": _whole(0, 2**62),
    "n_zeta": _whole(1, 10_000),
    "n_weights": _whole(1, 10_000),
    "epochs": _whole(1, 1_000_000),
    "folds": _whole(2, 1_000),
    "suggestions": _whole(0, 1_000_000_000),
    "suspects": _whole(0, 1_000_000_000),
    "labels_per_class": _whole(1, 1_000_000),
    "epsilon": ("a number from 0 to 1", lambda value: fits(value, float) and 0 <= value <= 1),
}
