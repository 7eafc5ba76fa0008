"""Mutations: changes of the default that the golden test must notice.

    python -m benchmarks.mutations                    all, one after the other: about 10 minutes
    python -m benchmarks.mutations epsilon rounds     those whose name holds one of the words
    python -m benchmarks.mutations --suite places     also the tests of the room that it touches

Each replaces one piece of text in a copy of the source and runs ``tests/golden`` there: first the
fits, until one fails, and if none does the settings. A mutation whose text the source does not hold
exactly once is stale: adapt it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/nodecopy")
# What fits import; loading it takes longer than a small fit.
LIBRARIES = [
    "pandas",
    "pytest",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.isotonic",
    "sklearn.linear_model",
    "torch",
]


class Mutation(NamedTuple):
    """A change of the source: in one file, one text in place of another."""

    name: str
    file: str
    old: str
    new: str


def _presets(name: str, old: str, new: str) -> Mutation:
    return Mutation(name, "presets.py", old, new)


MUTATIONS = (
    _presets("epsilon 0.9", "EPSILON = 0.1", "EPSILON = 0.9"),
    _presets("epsilon 0.5", "EPSILON = 0.1", "EPSILON = 0.5"),
    _presets("one copying round", "rounds: int = 2", "rounds: int = 1"),
    _presets("V 5", "def best(n_zeta: int = 10)", "def best(n_zeta: int = 5)"),
    _presets("V in folds 2", "min(n_zeta, 3)", "min(n_zeta, 2)"),
    _presets("prior count 1", "COUNT = 0.2", "COUNT = 1.0"),
    _presets("lambda of diffusion", "PRECISION = 0.005", "PRECISION = 0.01"),
    _presets("lambda of features", "FEATURES_PRECISION = 0.1", "FEATURES_PRECISION = 0.2"),
    _presets("lambda of two hops", "TWO_HOPS_PRECISION = 0.001", "TWO_HOPS_PRECISION = 0.002"),
    _presets(
        "no copied diffusion",
        "component(\n                copied_diffusion(",
        "Component(\n                count=0.0, classifier=copied_diffusion(",
    ),
    _presets("no features", "component(features, ", "Component(features, 0.0, "),
    _presets("no graph", "component(graph, ", "Component(graph, 0.0, "),
    _presets("no two hops", "component(two_hops, ", "Component(two_hops, 0.0, "),
    _presets("no places", "component(CopiedPlaces(), ", "Component(CopiedPlaces(), 0.0, "),
    _presets("no blocks", "component(AnnotatedBlocks(), ", "Component(AnnotatedBlocks(), 0.0, "),
    _presets(
        "no student, reliable",
        'component(DiffusedStudent(), name="student", ',
        'Component(DiffusedStudent(), 0.0, name="student", ',
    ),
    _presets(
        "no student, observed",
        'component(DiffusedStudent(), name="student, ',
        'Component(DiffusedStudent(), 0.0, name="student, ',
    ),
    _presets("no roles", "component(RoleClassifier(), ", "Component(RoleClassifier(), 0.0, "),
    _presets("no copying per relation", "                per_relation=cheap,\n", ""),
    _presets("no two hops per relation", ", per_relation=two_hops", ""),
    _presets("no edge reliability", "        edges=EdgeReliability(),\n", ""),
    _presets("no kernel map", "        features=KernelMap(),\n        edges", "        edges"),
    _presets("no kernel map in fast", ", features=KernelMap())", ")"),
    _presets("set_apart off", ", set_apart=True", ""),
    Mutation(
        "worth of a label 1",
        "stack/pool.py",
        "1.0 - 1.0 / max(float(np.median(sizes[sizes > 0])), 1.0)",
        "1.0",
    ),
    Mutation(
        "calibration not nested",
        "stack/pool.py",
        "_Chosen(labels.truth, ~fold, fold)",
        "_Chosen(labels.truth, fold | ~fold, fold)",
    ),
    Mutation("delta 0", "stack/temperature.py", "_SMOOTHING = 0.5", "_SMOOTHING = 0.0"),
    Mutation(
        "temperature prior wider",
        "stack/temperature.py",
        "spread: Positive = 0.7",
        "spread: Positive = 1.4",
    ),
    Mutation("folds 3", "stack/stacked.py", "folds: int = 5", "folds: int = 3"),
    Mutation(
        "edge weights in their unit",
        "stack/stacked.py",
        "scale_weights: bool = True",
        "scale_weights: bool = False",
    ),
    Mutation(
        "one relation alone", "stack/component.py", "_MOST_RELATIONS = 6", "_MOST_RELATIONS = 1"
    ),
    Mutation(
        "relations do not share their count", "stack/component.py", " / (1 + len(relations))", ""
    ),
    Mutation(
        "edge's own weight 0",
        "graph_models/reliability.py",
        "(1.0 + reliability / self.mean) / 2",
        "reliability / self.mean",
    ),
    Mutation(
        "fewer pairs of reliability",
        "graph_models/reliability.py",
        "pairs: Count = 20_000",
        "pairs: Count = 1_000",
    ),
    Mutation(
        "skewed columns as they are",
        "features/kernel_map.py",
        "skewness: NonNegative = 2.0",
        "skewness: NonNegative = 99.0",
    ),
    Mutation(
        "fewer landmarks",
        "features/kernel_map.py",
        "landmarks: Count = 300",
        "landmarks: Count = 100",
    ),
    Mutation(
        "kernel half as wide",
        "features/kernel_map.py",
        "np.exp(-np.maximum(squares, 0.0) / (2",
        "np.exp(-np.maximum(squares, 0.0) / (1",
    ),
    Mutation("block weights 1 + z²", "features/scaling.py", "_CLEAR)) ** 4", "_CLEAR)) ** 2"),
    Mutation(
        "dense columns not scaled",
        "features/scaling.py",
        '(normalise == "auto" and has_units(features))',
        "False",
    ),
    Mutation(
        "rows not scaled",
        "features/scaling.py",
        "rows=len(negative) <= few_rows(features.shape[0])",
        "rows=False",
    ),
    Mutation(
        "classes not balanced",
        "weights/maximum.py",
        'Literal["balanced"] | None = "balanced"',
        'Literal["balanced"] | None = None',
    ),
    Mutation("alpha of PageRank", "nn/diffusion.py", "= (0.05, 0.1)", "= (0.1, 0.2)"),
    Mutation("steps of PageRank", "nn/diffusion.py", "Limits(0, 10_000)] = 10", "Limits(0)] = 8"),
    Mutation("alpha of student", "classifiers/student.py", "alpha=0.2", "alpha=0.1"),
    Mutation("neighbours of places", "classifiers/places.py", "Count = 20", "Count = 10"),
    Mutation(
        "rarity of places off",
        "classifiers/places.py",
        "unit_rows(weighted_columns(features, rarity))",
        "unit_rows(features)",
    ),
    Mutation(
        "labels not known to places",
        "classifiers/places.py",
        "known[task.train] = np.eye(task.num_classes)[task.labels[task.train]]",
        "pass",
    ),
    Mutation("a role column", "graph/positions.py", "        two_hops,\n", "        one_hop,\n"),
    Mutation(
        "lambda of roles", "classifiers/roles.py", "MaximumPosterior(1.0)", "MaximumPosterior(2.0)"
    ),
    Mutation(
        "copying up to 40 labels",
        "stack/component.py",
        "most_labels: int = 50",
        "most_labels: int = 40",
    ),
    Mutation("EM rounds", "classifiers/blocks.py", "rounds: Count = 2", "rounds: Count = 1"),
    Mutation("EM sweeps", "classifiers/blocks.py", "sweeps: Count = 5", "sweeps: Count = 4"),
    Mutation(
        "eta of blocks",
        "classifiers/blocks.py",
        "edge_weight: NonNegative = 0.5",
        "edge_weight: NonNegative = 0.6",
    ),
    Mutation(
        "lambda of blocks",
        "classifiers/blocks.py",
        "prior_precision: Positive = 1.0",
        "prior_precision: Positive = 2.0",
    ),
    Mutation("damping of blocks", "classifiers/blocks.py", "_DAMPING = 0.5", "_DAMPING = 0.3"),
    Mutation(
        "K added to affinities",
        "classifiers/blocks.py",
        "(edges + classes) / (expected + classes)",
        "(edges + 1) / (expected + 1)",
    ),
    Mutation(
        "least affinity", "classifiers/blocks.py", "_LEAST_AFFINITY = 1e-3", "_LEAST_AFFINITY = 0.5"
    ),
    Mutation(
        "iterations of regression",
        "classifiers/blocks.py",
        "_REGRESSION_ITERATIONS = 20",
        "_REGRESSION_ITERATIONS = 10",
    ),
    Mutation(
        "epsilon of the paper",
        "graph_models/copying.py",
        "epsilon: Probability = 0.01",
        "epsilon: Probability = 0.1",
    ),
    Mutation(
        "S of the paper", "posterior/bgcn.py", "n_weights: Count = 10", "n_weights: Count = 5"
    ),
    Mutation("weight of expected scores", "trust/sets.py", "_EXPECTED = 20.0", "_EXPECTED = 10.0"),
    Mutation(
        "set may lack the prediction",
        "trust/sets.py",
        "        chosen[np.arange(len(p)), p.argmax(1)] = True\n",
        "",
    ),
    Mutation("prior of accuracy", "trust/accuracy.py", "= 0.15, 0.04", "= 0.3, 0.04"),
    Mutation("remaining error of accuracy", "trust/accuracy.py", "= 0.15, 0.04", "= 0.15, 0.0"),
    Mutation("one label more of accuracy", "trust/accuracy.py", "+ 0.25) / n", ") / n"),
    Mutation(
        "single labels of accuracy", "trust/accuracy.py", "0.5 if some.all()", "1.0 if some.all()"
    ),
    Mutation(
        "one temperature of suspects",
        "trust/label_errors.py",
        "np.linspace(-2.5, 2.5, 51)",
        "np.zeros(1)",
    ),
    Mutation(
        "prior of suspects", "trust/label_errors.py", "_PRIOR_RIGHT = 4.0", "_PRIOR_RIGHT = 1.0"
    ),
    Mutation(
        "labels are never all correct",
        "trust/label_errors.py",
        "prior[0] = prior[1:].sum()",
        "prior[0] = 1e-9",
    ),
    Mutation("prior of novelty", "trust/novelty.py", "_PRIOR_COUNT = 4.0", "_PRIOR_COUNT = 1.0"),
    Mutation(
        "bins of novelty",
        "trust/novelty.py",
        "_LABELS_PER_BIN, _BINS = 5",
        "_LABELS_PER_BIN, _BINS = 3",
    ),
    Mutation(
        "share weights of novelty",
        "trust/novelty.py",
        "(shares / np.maximum(counts, 1))[classes]",
        "np.ones(len(classes))",
    ),
    Mutation(
        "coverage of next labels", "trust/next_labels.py", "_COVERED = 0.02", "_COVERED = 0.1"
    ),
    Mutation(
        "entropy of next labels",
        "trust/next_labels.py",
        "np.minimum(entropy[candidates][:, None] / entropy[points], 1.0)",
        "1.0",
    ),
    Mutation("switch of next labels", "trust/next_labels.py", "_TRUSTED = 5", "_TRUSTED = 3"),
)


def main() -> None:
    """Try the mutations and print a table; exit with 1 if one survives or is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of the names of mutations; all by default")
    parser.add_argument("--suite", action="store_true", help="also run the tests of the room")
    given = parser.parse_args()
    chosen = [m for m in MUTATIONS if not given.words or any(w in m.name for w in given.words)]
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, copy / part)
        shutil.copy(ROOT / "pyproject.toml", copy)
        if failure := _failure(copy, "tests/golden", ""):
            sys.exit(f"without any mutation, {failure}")
        for mutation in chosen:
            caught = _tried(copy, mutation, given.suite)
            survived += not caught
            print(f"{mutation.name:36}{caught or 'SURVIVED'}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} caught")
    sys.exit(bool(survived))


def _tried(copy: Path, mutation: Mutation, suite: bool) -> str:
    """Return what noticed a mutation; empty where nothing did."""
    path = copy / PACKAGE / mutation.file
    before = path.read_text(encoding="utf-8")
    if before.count(mutation.old) != 1:
        print(f"stale: {mutation.file} holds {mutation.old!r} {before.count(mutation.old)} times")
        return ""
    path.write_text(before.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        runs = [("tests/golden", "fits"), ("tests/golden", "settings")]
        room = Path("tests", Path(mutation.file).parts[0])
        if suite and (copy / room).is_dir():
            runs.append((str(room), ""))
        failures = (_failure(copy, *run) for run in runs)
        return next(filter(None, failures), "")
    finally:
        path.write_text(before, encoding="utf-8")


def _failure(copy: Path, tests: str, word: str) -> str:
    """Return the first test that fails, and what differs; empty if all pass.

    In a process that has loaded all libraries, but not the package.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    with context.Pool(1) as pool:
        return pool.apply(_first_failure, (copy, tests, word))


def _first_failure(copy: Path, tests: str, word: str) -> str:
    import pytest

    sys.path[:0] = [str(copy / "src"), str(copy)]
    os.chdir(copy)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "-x", "-p", "pytest_timeout", "-p", "no:cacheprovider", "-k", word]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        failed = pytest.main([*options, tests])
    if not failed:
        return ""
    name = re.search(r"^FAILED \S*::(\S+)", output.getvalue(), re.MULTILINE)
    why = re.search(r"^E +(.*)", output.getvalue(), re.MULTILINE)
    return f"{name[1] if name else 'an error'}: {why[1][:110] if why else output.getvalue()[-200:]}"


if __name__ == "__main__":
    main()
