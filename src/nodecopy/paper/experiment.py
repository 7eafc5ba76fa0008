"""Experiments: what to run, a grid of trials in a TOML file, and running it on an executor.

The built-in experiments are the files in ``specs/`` beside this module. Killed at any moment, a run
loses the trials that were running and nothing else; the same call goes on from the rows that are
there.
"""

from __future__ import annotations

import itertools
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy import __version__
from nodecopy.classifiers import fit_one
from nodecopy.core.errors import ModelError, SpecError, unknown_name
from nodecopy.core.executors import Executor, opened
from nodecopy.core.machine import one_thread
from nodecopy.core.metrics import reliability_curve, score_predictions
from nodecopy.core.progress import Progress, progress_bar
from nodecopy.core.rng import child_seed
from nodecopy.core.typed import Count, Limits, Settings
from nodecopy.paper.methods import build_method, full_name
from nodecopy.paper.store import (
    NUMERICS_VERSION,
    Failure,
    Row,
    Store,
    Trial,
    TrialResult,
)
from nodecopy.problem.dataset import SplitName, chosen_split, dataset_names, load_dataset
from nodecopy.problem.task import Task
from nodecopy.run.settings import read_toml

_SPECS = Path(__file__).parent / "specs"

RunTrial: TypeAlias = Callable[[Trial], TrialResult]


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


@dataclass(frozen=True)
class RunSummary:
    """How a run went.

    Attributes:
        total: trials of the experiment.
        done: those that this run has added.
        failures: of this run, in the order in which they happened.
    """

    total: int
    done: int
    failures: tuple[Failure, ...]


def reproduce(
    experiment: Experiment,
    path: str | os.PathLike[str],
    executor: Any = "processes",
    workers: int | None = None,
    progress: bool | None = None,
) -> RunSummary:
    """Run the trials of an experiment that have no row in the store yet.

    Args:
        experiment: what to run.
        path: of the store, which is made where there is none.
        executor: where to run it, see `nodecopy.core.executors.opened`.
        workers: of the executor "processes".
        progress: show progress; None shows a bar on a terminal.

    Raises:
        SplitError: a dataset has not as many labels, before anything is run.
    """
    kinds = itertools.product(experiment.datasets, experiment.splits, experiment.labels_per_class)
    for dataset, split, labels in kinds:
        chosen_split(load_dataset(dataset), split, labels, experiment.first_seed)
    with (
        Store.open(path) as store,
        opened(executor, workers) as where,
        progress_bar(experiment.name, progress) as show,
    ):
        return run_missing(experiment.trials(), store, where, run_trial, show)


def run_missing(
    trials: Sequence[Trial],
    store: Store,
    executor: Executor,
    run: RunTrial,
    progress: Progress | None = None,
) -> RunSummary:
    """Run the trials that have no row, and add each row when it is there.

    A trial that raises is noted in the store and does not stop the rest; a later run tries it
    again.

    Args:
        trials: all of the experiment.
        store: where rows go, one transaction each.
        executor: where trials run.
        run: what runs one; a function of a module.
        progress: told how many trials have ended.

    Raises:
        FormatError: a worker computed a trial with another version of the code.
        RunError: the store cannot be written, or no worker is left.
    """
    stored = store.trials()
    missing = [trial for trial in trials if trial not in stored]
    failures = []
    for ended, outcome in enumerate(executor.map(attempt, missing, run, ordered=False), start=1):
        if isinstance(outcome, Failure):
            store.add_failure(outcome)
            failures.append(outcome)
        else:
            store.add([outcome])
        if progress is not None:
            progress(len(trials) - len(missing) + ended, len(trials))
    return RunSummary(len(trials), len(missing) - len(failures), tuple(failures))


def attempt(trial: Trial, run: RunTrial) -> Row | Failure:
    """Run a trial; an exception is a `Failure`, which does not stop other trials."""
    try:
        return Row(trial, run(trial))
    except Exception as error:  # noqa: BLE001 - any bug in one trial is that trial's failure
        short = f"{type(error).__name__}: {error}"
        return Failure(trial, f"{short}\n{''.join(traceback.format_exception(error))}")


def run_trial(trial: Trial) -> TrialResult:
    """Run one trial on one thread: the same trial gives the same scores wherever it runs."""
    dataset = load_dataset(trial.dataset)
    # Methods with the same seed see the same split.
    split = chosen_split(dataset, trial.split, trial.labels_per_class, trial.seed)
    task = Task.from_split(dataset, split)
    method = build_method(trial.method, trial.dataset, trial.labels_per_class)
    _reset_peak_memory()
    with one_thread(always=True):
        cpu, wall = time.process_time(), time.perf_counter()
        fitted = fit_one(method, task, child_seed(trial.seed, "trial", "model"))
        probabilities = np.asarray(fitted.probabilities)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    tested = probabilities.astype(np.float64)[split.test]
    tested /= tested.sum(1, keepdims=True)
    truth = dataset.labels[split.test]
    base, outcomes = getattr(fitted, "base_probabilities", None), {}
    if base is not None:  # of a Bayesian GCN, to compare with
        before, after = base.argmax(1)[split.test], probabilities.argmax(1)[split.test]
        outcomes = paired_outcomes(before, after, truth, dataset.graph.degrees[split.test])
    return TrialResult(
        **asdict(score_predictions(tested, truth)),
        reliability=_bins(tested, truth),
        outcomes=outcomes,
        cpu_seconds=cpu,
        wall_seconds=wall,
        peak_megabytes=peak_megabytes(),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions of everything that scores may depend on, and what times depend on."""
    return {
        "nodecopy": __version__,
        "numerics": NUMERICS_VERSION,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": _processor(),
    }


def peak_megabytes() -> float:
    """Return the most memory that this process has used; 0 where the system does not tell."""
    try:
        import resource  # not every system has it
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def paired_outcomes(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    truth: NDArray[np.integer],
    degrees: NDArray[np.integer],
) -> dict[str, dict[str, float]]:
    """Compare two classifiers on nodes of low and of high degree, as the paper's Figure 1 does.

    The groups are cut at the median degree. Nodes of exactly the median degree are in the low
    group: the paper does not say. So the groups are seldom of equal size, and the high one is left
    out when all degrees are equal.

    Args:
        first: classes that the reference classifier predicts [n].
        second: classes that the other one predicts [n].
        truth: true classes [n].
        degrees: of the same nodes [n].

    >>> zero = np.zeros(4, int)
    >>> paired_outcomes(np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1]), zero, zero)
    {'low': {'both_right': 0.25, 'corrected': 0.5, 'broken': 0.0, 'both_wrong': 0.25}}
    """
    a, b, low = first == truth, second == truth, degrees <= np.median(degrees)
    cases = {"both_right": a & b, "corrected": ~a & b, "broken": a & ~b, "both_wrong": ~a & ~b}
    return {
        name: {case: float(np.mean(nodes[group])) for case, nodes in cases.items()}
        for name, group in (("low", low), ("high", ~low))
        if group.any()
    }


def _bins(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[tuple[float | None, float | None, int], ...]:
    curve = reliability_curve(probabilities, truth)
    rows = zip(curve.confidence, curve.accuracy, curve.count, strict=True)
    return tuple((float(c), float(a), int(n)) if n else (None, None, 0) for c, a, n in rows)


def _reset_peak_memory() -> None:
    """Let the peak start from here: a worker process has run larger trials before."""
    with suppress(OSError):  # elsewhere than on Linux there is no such file
        Path("/proc/self/clear_refs").write_text("5")


@cache
def _processor() -> str:
    """Return the model of the processor, which the standard library does not know on Linux."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
