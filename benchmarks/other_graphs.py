"""Kinds of graphs that are not citation networks: the default beside others on each.

    OMP_NUM_THREADS=1 python -m benchmarks.other_graphs [--trials 10] [--only homophily]
    python -m benchmarks.other_graphs --show --page docs/other-graphs.md

Some 1,200 nodes, 5 and 20 labels of each class, at most 1,000 test nodes; see
benchmarks/synthetic_graphs.py. All methods get features as `NodeCopyClassifier` scales them;
logistic regression reads features alone, label propagation edges alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compared import DEFAULT, Comparison, main, tables
from benchmarks.synthetic_graphs import KINDS, as_problem
from nodecopy.classifiers import FeatureClassifier, GCNClassifier, LabelPropagation
from nodecopy.posterior import BayesianGCN
from nodecopy.presets import best

REGRESSION = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
# Those on which another method is better, and some others.
SHOWN = (
    *("thresholds", "homophily 0.1", "classes of sizes 50 to 1", "points of the plane"),
    *("breast cancer", "skewed columns", "homophily 0.7", "no features", "20 % wrong labels"),
    *("power-law degrees", "citations of the next class", "classes by degree"),
)
COMPARISON = Comparison(
    cases={name: partial(as_problem, name) for name in KINDS},
    methods={
        "logistic regression": lambda _: FeatureClassifier(REGRESSION),
        "label propagation": lambda _: LabelPropagation(),
        "GCN": lambda _: GCNClassifier(),
        "node copying": lambda _: BayesianGCN(),
        DEFAULT: lambda _: best(),
    },
    labels=(5, 20),
    rows=Path("results", "other-graphs.jsonl"),
    shown=SHOWN,
)


if __name__ == "__main__":
    main(COMPARISON, __doc__, partial(tables, COMPARISON))
