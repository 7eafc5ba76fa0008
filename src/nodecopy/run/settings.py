"""Settings of a run: what `nodecopy fit` is asked for, and config.toml, which repeats it.

A setting is declared once, as a field of `FitSettings`: its name is the key of config.toml and,
with hyphens, the option of the command line; its type and limits are checked as declared.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from numpy.typing import NDArray

from nodecopy.core.errors import DatasetError, ModelError, SpecError, shown, unknown_name
from nodecopy.core.executors import check_executor
from nodecopy.core.files import regular_file
from nodecopy.core.progress import Show
from nodecopy.core.typed import Count, Limits, Probability, check_fraction
from nodecopy.estimator import (
    NodeCopyClassifier,
    NodeCopyEstimator,
    NodeCopyMultilabelClassifier,
    NodeCopyRegressor,
)
from nodecopy.estimator.method import MethodName, method_of
from nodecopy.features.scaling import Normalise
from nodecopy.problem.dataset import SplitName, dataset_names
from nodecopy.read.formats import paths_of, sheet_of
from nodecopy.read.labels import BOTH, read_classes
from nodecopy.read.options import TableOptions

# As `nodecopy.read` writes integers: "01" is a string.
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
# Words in the first line of the file of settings, by which a run folder is known.
SETTINGS_MARK = "nodecopy fit"

_FILES = ("edges", "labels", "nodes")
_READING = tuple(declared.name for declared in fields(TableOptions))
# Settled already in a built-in dataset.
_OF_TABLES = ("edges", "nodes", *(key for key in _READING if key != "label_columns"))
_OF_BUILT_IN = ("labels_per_class", "split")
_ESTIMATORS: dict[str, type[NodeCopyEstimator[Any]]] = {
    "class": NodeCopyClassifier,
    "number": NodeCopyRegressor,
    "tags": NodeCopyMultilabelClassifier,
}
_Seed = Annotated[int, Limits(0, 2**62)]


@dataclass(frozen=True)
class FitSettings(TableOptions):
    """Everything that decides what a fit gives; the fields are the keys of config.toml.

    How tables are read is declared in `TableOptions`.

    Args:
        edges: file of the edges, or one for each relation; None where there is a built-in
            dataset.
        labels: file of the known labels, or several of them; None takes those of the split of a
            built-in dataset. A fit to tables needs them.
        nodes: file of the columns of the nodes, or several of them; None describes nodes by their
            links.
        random_state: random seed.
        method: "best", "fast", "label-propagation", "logistic-regression" or "paper", see
            `nodecopy.presets`.
        calibrate: hold out known labels to calibrate probabilities and to estimate accuracy; None
            does so unless the method is "paper".
        folds: cross-validation folds of the known labels; None is 5.
        class_prior: "estimate", "labels", "uniform", or shares of the classes as one string,
            "spam=0.05,ham=0.95", see `NodeCopyClassifier`.
        normalise: how features are scaled, see `NodeCopyClassifier`.
        text_model: "auto", "none", or a text model by folder or name, see `NodeCopyClassifier`.
        classes: what the classes mean: a table of class and description, or their names,
            "games,web,mail", or "none". Without labels, predictions are guesses from them. None is
            the names of the labels, where these are words.
        coverage: how often the label of a node is to be in its prediction set; there are sets where
            labels are held out.
        max_novelty: leave the prediction of a node empty if it belongs to none of the classes with
            at least this probability; None always predicts.
        executor: where to fit: "serial" (here), "processes", or the address of a Dask scheduler;
            None is "serial".
        dataset: name of a built-in dataset, instead of edges and nodes.
        labels_per_class: how many labels of each of its classes are known; None is 20.
        split: which: "fixed" (the public ones) or "random"; None is "fixed".
    """

    edges: str | tuple[str, ...] | None = None
    labels: str | tuple[str, ...] | None = None
    nodes: str | tuple[str, ...] | None = None
    method: MethodName = "best"
    calibrate: bool | None = None
    folds: Annotated[int, Limits(2)] | None = None
    class_prior: str = "estimate"
    normalise: Normalise = "auto"
    text_model: str = "auto"
    classes: str | None = None
    random_state: _Seed = 0
    executor: str | None = None
    coverage: float = 0.9
    max_novelty: Probability | None = None
    dataset: str | None = None
    labels_per_class: Count | None = None
    split: SplitName | None = None

    def __post_init__(self) -> None:
        """Check every field, so that nothing fails after the fit for what was known before."""
        for name in _FILES:
            value = getattr(self, name)
            if isinstance(value, (list, tuple)) and len(value) == 1:
                object.__setattr__(self, name, value[0])
        try:
            super().__post_init__()
            if "\0" in "".join(map(str, vars(self).values())):
                raise DatasetError("a setting must not have a NUL character")
            self._check_source()
            check_fraction("coverage", self.coverage)
            check_executor(self.executor)
            method_of(self.method, self.calibrate, self.folds)
            if parse_class_prior(self.class_prior) != "estimate" and not self.holds_out:
                raise ModelError("class_prior is for a calibrated model: calibrate it, too")
            if self.classes is not None:
                parse_classes(self.classes)
        except (DatasetError, ModelError) as error:
            raise SpecError(str(error)) from error

    def _check_source(self) -> None:
        """Refuse settings that do not apply to the source: tables, or a built-in dataset."""
        foreign = dict.fromkeys(_OF_BUILT_IN, "is for a built-in dataset: nodecopy fit cora")
        if self.predict is not None and self.labels is not None:
            raise SpecError(BOTH)
        if self.dataset is not None:
            if self.dataset not in dataset_names():
                known = unknown_name("dataset", self.dataset, dataset_names())
                raise SpecError(f"{known}; files are named by --edges FILE")
            why = f"is for user tables, not for the built-in {self.dataset}"
            foreign = dict.fromkeys(_OF_TABLES, why)
        elif self.edges is None:
            raise SpecError(
                "edges is missing: name tables (--edges FILE) or, for a fit, a built-in dataset "
                "(nodecopy fit cora)"
            )
        for key, why in foreign.items():
            if getattr(self, key) != getattr(FitSettings, key):
                raise SpecError(f"{key} {why}")

    @property
    def files(self) -> tuple[str, ...]:
        """The names of what is read, the edges first."""
        several = map(paths_of, (self.edges, self.labels, self.nodes))
        return tuple(map(str, chain(*several)))

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are read, as arguments of `read_tables`."""
        return {key: getattr(self, key) for key in _READING}

    @property
    def given_reading(self) -> dict[str, Any]:
        """How edges and nodes are read, where that was given."""
        return {
            key: value
            for key, value in self.reading.items()
            if value != getattr(TableOptions, key)
            and key not in ("label_columns", "label_type", "predict", "target")
        }

    @property
    def holds_out(self) -> bool:
        """Whether known labels are held out."""
        return self.method != "paper" if self.calibrate is None else self.calibrate

    def estimator(
        self,
        target: str,
        progress: Show = None,
        executor: object = None,
        classes: NDArray[Any] | None = None,
    ) -> NodeCopyEstimator[Any]:
        """Return the estimator of a kind of target that these settings describe, not fitted yet.

        Args:
            target: the kind of target.
            progress: see `NodeCopyClassifier`.
            executor: where it is fitted.
            classes: those that labels have; where they are integers, settings name them so, too.
        """
        keys = "method", "calibrate", "folds", "normalise", "text_model", "random_state"
        arguments: dict[str, Any] = {key: getattr(self, key) for key in keys}
        if target == "class":
            described = None if self.classes is None else parse_classes(self.classes)
            arguments["class_prior"] = _by_class(parse_class_prior(self.class_prior), classes)
            arguments["class_descriptions"] = _by_class(described, classes)
        else:
            for key in ("class_prior", "classes", "max_novelty"):
                if getattr(self, key) != getattr(FitSettings, key):
                    labels = target.rstrip("s")
                    raise SpecError(f"{key} is for one class per node, and labels are {labels}s")
        return _ESTIMATORS[target](**arguments, progress=progress, executor=executor)


def _by_class(given: Any, classes: NDArray[Any] | None) -> Any:
    """Return a mapping of names of classes with integers for them, where classes are integers."""
    if classes is None or not len(classes) or classes.dtype.kind != "i":
        return given
    if not isinstance(given, dict):
        return given
    return {int(one) if _INTEGER.fullmatch(one) else one: value for one, value in given.items()}


def parse_class_prior(text: str) -> Any:
    """Return "estimate", "labels" or "uniform" as it is, and shares of the classes as a mapping.

    >>> parse_class_prior("spam=0.05,ham=0.95")
    {'spam': 0.05, 'ham': 0.95}
    """
    if text in ("estimate", "labels", "uniform"):
        return text
    try:
        pairs = [part.rpartition("=") for part in text.split(",")]
        shares = {name.strip(): float(share) for name, sign, share in pairs if sign}
    except ValueError:
        shares = {}
    if len(shares) != len(text.split(",")) or not math.isclose(sum(shares.values()), 1.0):
        raise SpecError(
            "class_prior must be 'estimate', 'labels', 'uniform', or shares that sum to one, such "
            f"as 'spam=0.05,ham=0.95'; got {shown(text)}"
        )
    return shares


def parse_classes(text: str) -> dict[str, str]:
    """Return a description of each class: rows of a table, or names separated by commas.

    "none" describes no class.

    >>> parse_classes("games, web browsers")
    {'games': 'games', 'web browsers': 'web browsers'}
    """
    if text == "none":
        return {}
    if is_table(text):
        return read_classes(text)
    names = list(map(str.strip, next(csv.reader([text], skipinitialspace=True), [])))
    if len(names) < 2 and ("/" in text or Path(text).suffix):
        raise SpecError(f"classes: there is no file {text}")
    return {name: name for name in names if name}


def is_table(classes: str | None) -> bool:
    """Tell whether descriptions of classes are in a file, or a sheet of one."""
    return classes is not None and os.path.isfile(sheet_of(classes)[0])  # False of long names


def write_settings(settings: FitSettings, folder: Path) -> str:
    """Return settings as TOML, with the files named as seen from the folder the text is kept in."""
    lines = [f"# {SETTINGS_MARK} --config config.toml --out FOLDER gives the same files again."]
    for declared in fields(FitSettings):
        value = getattr(settings, declared.name)
        if declared.name in _FILES or (declared.name == "classes" and is_table(value)):
            value = _each(lambda path: _seen_from(folder, path), value)
        # Where a fit ran is not a property of its result.
        if value is not None and declared.name != "executor":
            # A JSON string is a TOML string, but for one character that TOML wants escaped.
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            lines.append(f"{declared.name} = {text}")
    return "\n".join(lines) + "\n"


def read_settings(path: str | os.PathLike[str], **changes: Any) -> FitSettings:
    """Read settings that `write_settings` wrote, or that were written by hand.

    Args:
        path: the TOML file; the files it names are seen from its folder.
        changes: fields to replace.
    """
    file = regular_file(path, SpecError)
    content = read_toml(file, [declared.name for declared in fields(FitSettings)])
    for key in content.keys() & _FILES:
        content[key] = _each(lambda path: os.path.normpath(file.parent / path), content[key])
    named = content.get("classes")
    if isinstance(named, str) and is_table(str(file.parent / named)):
        content["classes"] = os.path.normpath(file.parent / named)
    try:
        return FitSettings(**(content | changes))
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from error


def read_toml(file: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Return the content of a TOML file that may hold these keys.

    Raises:
        SpecError: the file as TOML, or has another key.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # not text, not TOML, too deep
        raise SpecError(f"{file} cannot be read as TOML: {error}") from error
    for key in content:
        if key not in keys:
            raise SpecError(f"{file}: {unknown_name('key', key, keys)}")
    return content


def _each(change: Callable[[str], str], paths: Any) -> Any:
    """Change the name of a file, or of each of several; what is not a name stays as it is."""
    if isinstance(paths, (list, tuple)):
        return tuple(_each(change, path) for path in paths)
    return change(paths) if isinstance(paths, str) and paths else paths


def _seen_from(folder: Path, path: str) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(path).absolute())
