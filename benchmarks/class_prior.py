"""What a class prior brings: shares that are known, those of the labels, equal ones, or none.

    OMP_NUM_THREADS=1 python -m benchmarks.class_prior [--trials 10]

Kinds of graphs of benchmarks/synthetic_graphs.py with classes of uneven and of equal size, with as
many labels of each class, and with as many drawn at random; nodes of a class without a label are
not tested. "known" are the shares among all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compared import Comparison, Key, Problem, Row, main, measured, scores
from benchmarks.markdown import markdown_rows
from benchmarks.synthetic_graphs import as_problem
from nodecopy.presets import best

CASES = ("classes of sizes 50 to 1", "breast cancer", "homophily 0.7", "digits")
PRIORS = ("estimate", "known", "labels", "uniform")


def measure(problem: Problem, prior: str, trial: int) -> Row:
    """Fit the default with a prior and score it."""
    seen = problem.truth < problem.task.num_classes
    problem = replace(problem, test=problem.test[seen[problem.test]])
    shares = np.bincount(problem.truth[seen])
    known = tuple((shares / shares.sum()).tolist())
    return measured(
        problem, replace(best(), class_prior=known if prior == "known" else prior), trial
    )


COMPARISON = Comparison(
    cases={
        f"{name}, {'even' if even else 'random'} labels": partial(as_problem, name, even=even)
        for name in CASES
        for even in (True, False)
    },
    methods={prior: lambda _, prior=prior: prior for prior in PRIORS},
    labels=(5, 20),
    rows=Path("results", "class-prior.jsonl"),
    measure=measure,
)


def tables(rows: Mapping[Key, Row]) -> str:
    parts = []
    for labels in COMPARISON.labels:
        lines = []
        for case in COMPARISON.cases:
            held = scores(COMPARISON, rows, case, labels, "accuracy", "nll")
            means = [held[prior].mean(0) for prior in PRIORS]
            lines.append([case, *(f"{100 * accuracy:.1f} / {nll:.3f}" for accuracy, nll in means)])
        parts.append(
            markdown_rows([f"{labels} labels per class, accuracy % / NLL", *PRIORS], lines)
        )
    return "\n\n".join(parts)


if __name__ == "__main__":
    main(COMPARISON, __doc__, tables)
