"""Members of both kinds: whether GCN members, beside the default's diffusion members, earn it.

    OMP_NUM_THREADS=1 python -m benchmarks.both_kinds [--trials 10] [--only cora]

GCN members are the paper's, on graphs copied by the classes that the default predicts. "Both" is
the mean of their average and of the default, calibrated as it comes; it takes the time of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.compared import DEFAULT, Comparison, arguments, run
from benchmarks.kinds import as_problem
from benchmarks.wrong_graphs import case_name, problem
from nodecopy.classifiers import Fitted, GivenProbabilities
from nodecopy.data import Task
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best
from nodecopy.progress import Progress

KINDS = ("homophily 0.3", "homophily 0.7", "power-law degrees", "grown by copying", "digits")


@dataclass(frozen=True)
class GCNMembers:
    """GCN members on the default's classes; alone, or their mean with the default."""

    both: bool

    def fit(self, task: Task, seed: int = 0, progress: Progress | None = None) -> Fitted:
        first = best().fit(task, seed).probabilities
        members = BayesianGCN(base=GivenProbabilities(first)).fit(task, seed).probabilities
        return GivenProbabilities((first + members) / 2 if self.both else members).fit(task)


COMPARISON = Comparison(
    cases={
        **{
            case_name(name, "added", 0): partial(problem, name, "added", 0.0)
            for name in ("cora", "citeseer")
        },
        **{name: partial(as_problem, name) for name in KINDS},
    },
    methods={
        DEFAULT: lambda _: best(),
        "GCN members on it": lambda _: GCNMembers(both=False),
        "both": lambda _: GCNMembers(both=True),
    },
    labels=(5, 20),
    rows=Path("results", "both-kinds.jsonl"),
)


def main() -> None:
    run(COMPARISON, arguments(COMPARISON, __doc__).parse_args())


if __name__ == "__main__":
    main()
