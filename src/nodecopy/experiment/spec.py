"""What to run: an experiment is a grid of trials, written in TOML and read into a frozen value.

The built-in ones are the files in ``specs/`` beside this module; any other name is a file of one's
own. Why they live in the package: docs/decisions/0010-built-in-experiments.md.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from nodecopy.data import dataset_names, load_dataset
from nodecopy.errors import SpecError, SplitError, shown, unknown_name
from nodecopy.experiment.measure import split_of
from nodecopy.experiment.methods import METHODS
from nodecopy.experiment.trial import SplitKind, Trial
from nodecopy.regular_file import regular_file

# SQLite keeps signed 64-bit integers; nobody needs the last half of them.
_LARGEST_SEED = 2**62
# All of them are listed before the first one runs.
MOST_TRIALS = 1_000_000


@dataclass(frozen=True)
class Experiment:
    """Every combination of datasets, splits, label counts and methods, several trials of each.

    The fields are the keys of the TOML file, except ``name``, which is the file's. Trials run in
    the order in which the lists are written, so write what is cheap first.

    Args:
        name: "table1", or the name of the file without its suffix.
        title: for people.
        datasets: built-in datasets.
        splits: "fixed" and "random".
        labels_per_class: values of L.
        methods: names in the registry.
        trials_per_cell: how many seeds for each combination.
        trials_of: at most so many of a method, where fewer are enough: {"appnp": 5}.
        first_seed: seeds count up from here.
        time_limit: seconds after which a trial counts as failed; None for as long as it takes.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    splits: tuple[SplitKind, ...]
    labels_per_class: tuple[int, ...]
    methods: tuple[str, ...]
    trials_per_cell: int
    first_seed: int = 0
    time_limit: float | None = None
    trials_of: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Check every field, so that no trial fails for what could have been known before."""
        for key in ("name", "title"):
            if not isinstance(getattr(self, key), str):
                raise SpecError(f"{key} must be a text; got {_shown(getattr(self, key))}")
        _check_names("datasets", "dataset", self.datasets, dataset_names())
        _check_names("splits", "split", self.splits, get_args(SplitKind))
        _check_names("methods", "method", self.methods, METHODS)
        _check_list("labels_per_class", self.labels_per_class, "whole numbers, at least 1")
        for labels in self.labels_per_class:
            _check_whole("labels_per_class", labels, 1, "must hold whole numbers")
        _check_whole("trials_per_cell", self.trials_per_cell, 1)
        _check_whole("first_seed", self.first_seed, 0)
        _check_counts("trials_of", self.trials_of)
        if self.first_seed + self.trials_per_cell > _LARGEST_SEED:
            raise SpecError(
                f"first_seed must be below {_LARGEST_SEED}; got {shown(self.first_seed)}"
            )
        cells = len(self.datasets) * len(self.splits) * len(self.labels_per_class)
        if cells * len(self.methods) * self.trials_per_cell > MOST_TRIALS:
            raise SpecError(
                f"trials_per_cell = {shown(self.trials_per_cell)} makes more than {MOST_TRIALS:,} "
                "trials in all; divide the experiment"
            )
        _check_seconds("time_limit", self.time_limit)

    @property
    def digest(self) -> str:
        """A hash of what is run; the title and the time limit are not part of it."""
        content = asdict(self)
        del content["name"], content["title"], content["time_limit"]
        if not self.trials_of:  # experiments without it keep the digest they had before it was
            del content["trials_of"]
        return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()

    def trials(self) -> tuple[Trial, ...]:
        """Return every trial, seed by seed: each cell has its first trials early in a run.

        >>> from nodecopy.experiment.spec import load_experiment
        >>> print(*load_experiment("smoke").trials()[:3], sep=", ")
        cora random 5 label-propagation seed 0, cora fixed 5 label-propagation seed 0, \
citeseer random 5 label-propagation seed 0
        """
        seeds = range(self.first_seed, self.first_seed + self.trials_per_cell)
        grid = itertools.product(
            seeds, self.methods, self.datasets, self.splits, self.labels_per_class
        )
        return tuple(
            Trial(dataset, split, labels, method, seed)
            for seed, method, dataset, split, labels in grid
            if seed - self.first_seed < self.trials_of.get(method, self.trials_per_cell)
        )


def builtin_experiments() -> tuple[str, ...]:
    """Return the names of the experiments that come with the package.

    >>> builtin_experiments()
    ('all', 'beyond', 'figure1', 'smoke', 'table1', 'table2', 'table3')
    """
    files = resources.files("nodecopy.experiment").joinpath("specs").iterdir()
    return tuple(sorted(Path(file.name).stem for file in files if file.name.endswith(".toml")))


def load_experiment(name: str) -> Experiment:
    """Return a built-in experiment, or the one in the TOML file of that name.

    >>> load_experiment("table1").datasets
    ('cora',)
    """
    text = _read(name)
    try:
        experiment = parse_experiment(text, Path(name).stem)
        _check_cells(experiment)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from error
    return experiment


def parse_experiment(text: str, name: str) -> Experiment:
    """Return the experiment that a TOML text describes."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not TOML, too deep, a number too long
        raise SpecError(f"this is not TOML: {error}") from error
    keys = [field for field in fields(Experiment) if field.name != "name"]
    for key in content:
        if key not in {field.name for field in keys}:
            raise SpecError(unknown_name("key", key, [field.name for field in keys]))
    needed = [k.name for k in keys if k.default is MISSING and k.default_factory is MISSING]
    missing = [name for name in needed if name not in content]
    if missing:
        raise SpecError(f"the key {missing[0]} is missing; needed: {', '.join(missing)}")
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    return Experiment(name, **values)


def _read(name: str) -> str:
    if name in builtin_experiments():
        file = resources.files("nodecopy.experiment").joinpath("specs", f"{name}.toml")
        return file.read_text(encoding="utf-8")
    path = regular_file(name, SpecError)
    if not path.is_file():
        known = unknown_name("experiment", name, builtin_experiments())
        raise SpecError(f"{known}, or a TOML file; there is no such file")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{name} cannot be read as text: {error}") from error


def _check_cells(experiment: Experiment) -> None:
    """Make one split of every kind, so that an impossible one is refused before anything runs."""
    method, seed = experiment.methods[0], experiment.first_seed
    for name in experiment.datasets:
        dataset = load_dataset(name)
        for split, labels in itertools.product(experiment.splits, experiment.labels_per_class):
            try:
                split_of(Trial(name, split, labels, method, seed), dataset)
            except SplitError as error:
                cell = f"labels_per_class = {labels} is impossible for {name}, {split} split"
                raise SpecError(f"{cell}: {error}") from error


def _check_names(key: str, kind: str, names: object, accepted: Iterable[str]) -> None:
    accepted = sorted(accepted)
    for name in _check_list(key, names, ", ".join(accepted)):
        if not isinstance(name, str) or name not in accepted:
            raise SpecError(f"{key}: {unknown_name(kind, name, accepted)}")


def _check_list(key: str, values: object, accepted: str) -> tuple[Any, ...]:
    if not isinstance(values, tuple) or not values:
        found = "an empty list" if values == () else _shown(values)
        raise SpecError(f"{key} must be a list of at least one; got {found}; accepted: {accepted}")
    for value in values:
        if values.count(value) > 1:
            raise SpecError(f"{key} lists {shown(value)} more than once")
    return values


def _check_whole(key: str, value: object, least: int, what: str = "must be a whole number") -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= _LARGEST_SEED:  # type: ignore[operator]
        raise SpecError(f"{key} {what}, at least {least}; got {_shown(value)}")


def _check_counts(key: str, counts: object) -> None:
    if not isinstance(counts, dict):
        raise SpecError(f"{key} must be a table of methods and numbers; got {_shown(counts)}")
    for method, count in counts.items():
        if method not in METHODS:
            raise SpecError(f"{key}: {unknown_name('method', method, METHODS)}")
        _check_whole(f"{key}.{method}", count, 1)


def _check_seconds(key: str, value: object) -> None:
    if value is None:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < _LARGEST_SEED:  # type: ignore[operator]
        raise SpecError(f"{key} must be a number of seconds above 0; got {_shown(value)}")


def _shown(value: object) -> str:
    return f"{shown(value)} ({type(value).__name__})"
