"""What to run: an experiment is a grid of trials, written in TOML and read into a frozen value.

The built-in experiments are the files in ``specs/`` beside this module.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from nodecopy.core.errors import ModelError, SpecError, unknown_name
from nodecopy.core.typed import Count, Limits, Settings
from nodecopy.paper.methods import full_name
from nodecopy.paper.trial import SplitName, Trial
from nodecopy.problem.dataset import dataset_names
from nodecopy.run.settings import read_toml

_SPECS = Path(__file__).parent / "specs"


@dataclass(frozen=True)
class Experiment(Settings):
    """Every combination of datasets, splits, label counts and methods, several trials of each.

    The fields are the keys of the TOML file, except ``name``, which is the file's. Trials run in
    the order in which the lists are written, so write what is cheap first.

    Args:
        name: "table1", or the name of the file without its suffix.
        title: for people.
        datasets: built-in datasets.
        splits: "fixed" and "random".
        labels_per_class: values of L.
        methods: names in `nodecopy.paper.methods.METHODS`, each perhaps with settings, as in
            "copying epsilon=0.5 n_zeta=20".
        trials_per_cell: how many seeds for each combination.
        first_seed: seeds count up from here.
        trials_of: at most so many of a method, where fewer are enough: {"appnp": 20}.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    splits: tuple[SplitName, ...]
    labels_per_class: tuple[Count, ...]
    methods: tuple[str, ...]
    # All trials are listed before the first one runs.
    trials_per_cell: Annotated[int, Limits(1, 1_000_000)]
    first_seed: Annotated[int, Limits(0, 1_000_000)] = 0
    trials_of: dict[str, Count] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Check every field, so that no trial fails for what could have been known before."""
        super().__post_init__()
        for name in self.datasets:
            if name not in dataset_names():
                raise ModelError(f"datasets: {unknown_name('name', name, dataset_names())}")
        full = {name: full_name(name) for name in (*self.methods, *self.trials_of)}
        most = {full[name]: count for name, count in self.trials_of.items()}
        object.__setattr__(self, "methods", tuple(full[name] for name in self.methods))
        object.__setattr__(self, "trials_of", most)

    def trials(self) -> tuple[Trial, ...]:
        """Return every trial, seed by seed: each cell has its first trials early in a run.

        >>> print(*load_experiment("smoke").trials()[:2], sep=", ")
        cora random 5 label-propagation seed 0, cora fixed 5 label-propagation seed 0
        """
        seeds = range(self.first_seed, self.first_seed + self.trials_per_cell)
        grid = itertools.product(
            seeds, self.methods, self.datasets, self.splits, self.labels_per_class
        )
        return tuple(
            Trial(dataset, split, labels, method, seed)
            for seed, method, dataset, split, labels in dict.fromkeys(grid)
            if seed - self.first_seed < self.trials_of.get(method, self.trials_per_cell)
        )


def builtin_experiments() -> tuple[str, ...]:
    """Return the names of the experiments that come with the package.

    >>> builtin_experiments()
    ('all', 'beyond', 'figure1', 'smoke', 'table1', 'table2', 'table3')
    """
    return tuple(sorted(file.stem for file in _SPECS.glob("*.toml")))


def load_experiment(name: str) -> Experiment:
    """Return a built-in experiment, or the one in the TOML file of that name.

    >>> load_experiment("table1").datasets
    ('cora',)
    """
    file = _SPECS / f"{name}.toml" if name in builtin_experiments() else Path(name)
    if not file.is_file():
        known = unknown_name("experiment", name, builtin_experiments())
        raise SpecError(f"{known}, or a TOML file; there is no such file")
    content = read_toml(file, [key.name for key in fields(Experiment) if key.name != "name"])
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    try:
        return Experiment(file.stem, **values)
    except (ModelError, TypeError) as error:  # a wrong value; a missing key
        raise SpecError(f"{file}: {error}") from error
