"""Hyper-parameter search: scikit-learn's tools slice rows, and a graph must stay whole.

`on_nodes` turns the problem round: the rows that are sliced are node numbers, and the graph and the
features stay behind them. Every splitter, scorer and search of scikit-learn then works as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.data.label_values import is_known, one_per_node
from nodecopy.errors import ModelError, NotFittedError, shown
from nodecopy.estimator.classifier import NodeCopyClassifier
from nodecopy.estimator.inputs import node_numbers, read_described
from nodecopy.estimator.parameters import Parameters
from nodecopy.graph import Graph


def on_nodes(classifier: NodeCopyClassifier, graph: Any, X: Any = None) -> NodeIndexClassifier:
    """Return an estimator whose rows are node numbers, for scikit-learn's search and validation.

    Args:
        classifier: not fitted, or its fit is not used.
        graph: see `nodecopy.data.convert.read_graph`.
        X: features [N, D]; None as in `NodeCopyClassifier.fit`.

    >>> from sklearn.model_selection import GridSearchCV
    >>> from nodecopy.data import planted_partition
    >>> from nodecopy.weights import TrainConfig
    >>> data = planted_partition(120, 2, seed=0).dataset
    >>> clf = NodeCopyClassifier("paper", n_zeta=1, training=TrainConfig(epochs=20), random_state=0)
    >>> rows = on_nodes(clf, data.graph, data.features)
    >>> search = GridSearchCV(rows, {"classifier__epsilon": [0.01, 0.5]}, cv=2)
    >>> labelled = np.arange(30)
    >>> best = search.fit(labelled, data.labels[labelled]).best_params_
    >>> best["classifier__epsilon"] in (0.01, 0.5)
    True
    """
    given = read_described(graph, X)
    return NodeIndexClassifier(classifier, SharedGraph(given.graph, given.features))


@dataclass(frozen=True, eq=False)
class SharedGraph:
    """A graph and its features, shared by every clone instead of copied."""

    graph: Graph
    features: Any | None

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedGraph:
        """Return this very object: nothing in it is ever changed."""
        return self


class NodeIndexClassifier(Parameters):
    """A classifier of node numbers: `fit` hides every label but those of the given nodes."""

    _estimator_type = "classifier"

    def __init__(self, classifier: NodeCopyClassifier, data: SharedGraph) -> None:
        self.classifier = classifier
        self.data = data

    def fit(self, nodes: ArrayLike, y: ArrayLike) -> Self:
        """Fit with the labels ``y`` [n] of ``nodes`` [n] or [n, 1] known, all others unknown."""
        num_nodes = self.data.graph.num_nodes
        picked, labels = _nodes(nodes, num_nodes), np.asarray(y)
        if labels.ndim != 1:
            raise ModelError(f"y must be one label for each node; got shape {[*labels.shape]}")
        if len(picked) != len(labels):
            raise ModelError(f"{len(picked)} nodes but {len(labels)} labels")
        _refuse_contradictions(picked, labels)
        known = np.full(num_nodes, None, dtype=object)
        known[picked] = labels.tolist()
        self.classifier_ = NodeCopyClassifier(**self.classifier.get_params(deep=False))
        self.classifier_.fit(self.data.graph, self.data.features, known)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, nodes: ArrayLike) -> NDArray[Any]:
        """Return the labels of ``nodes``."""
        return self._fitted().predict(_nodes(nodes, self.data.graph.num_nodes))

    def predict_proba(self, nodes: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities of ``nodes`` [n, K]."""
        return self._fitted().predict_proba(_nodes(nodes, self.data.graph.num_nodes))

    def score(self, nodes: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy on ``nodes``."""
        return self._fitted().score(_nodes(nodes, self.data.graph.num_nodes), y)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this is."""
        return self.classifier.__sklearn_tags__()

    def _fitted(self) -> NodeCopyClassifier:
        if not hasattr(self, "classifier_"):
            raise NotFittedError("this NodeIndexClassifier is not fitted yet; call fit first")
        return self.classifier_


def _nodes(nodes: ArrayLike, num_nodes: int) -> NDArray[np.int64]:
    return node_numbers(one_per_node(np.asarray(nodes)), num_nodes)


def _refuse_contradictions(nodes: NDArray[np.int64], labels: NDArray[Any]) -> None:
    """Refuse a node that is given twice, with different labels; the same one may be repeated."""
    repeated = np.isin(nodes, np.flatnonzero(np.bincount(nodes, minlength=1) > 1))
    first: dict[int, Any] = {}
    for node, label in zip(nodes[repeated].tolist(), labels[repeated].tolist(), strict=True):
        earlier = first.setdefault(node, label)
        if earlier != label and (is_known(earlier) or is_known(label)):
            raise ModelError(
                f"node {node} has two labels, {shown(earlier)} and {shown(label)}; accepted: one "
                "for each node"
            )
