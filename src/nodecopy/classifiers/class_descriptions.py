"""Classes described in words: a node is of the class whose description its text is most similar to.

A text model (`nodecopy.features.text_model`) gives vectors v_j of the texts of nodes and c_k of the
descriptions. No label is used:

    s_jk = v_jᵀ c_k                               similarity
    r_k  = Π (s_k - mean) / deviation             balanced over classes, spread over the graph
    W    = argmin Σ_j CE(argmax r_j, softmax((Π V)_j W))   self-training on the surest nodes
    p    = softmax(Π V W)

with Π of personalised PageRank, as in `nodecopy.nn.diffusion`. Self-training on the surest
nodes of each class is that of Meng et al. 2020, "Text classification using label names only", in
its simplest form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted, check_no_start
from nodecopy.classifiers.posterior import Posterior
from nodecopy.core.errors import ModelError, shown
from nodecopy.core.progress import Progress
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix, unit_rows
from nodecopy.features.text_model import extra_installed, read_texts
from nodecopy.graph import RowGraph
from nodecopy.graph.operators import whole_adjacency
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms, first_edges
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task

# What names of classes have where they are words, and in place of spaces.
_WORD, _SEPARATORS = re.compile(r"[^\W\d_]{3}"), re.compile(r"[_:/\-\s]+")
_LETTER = re.compile(r"[^\W\d_]")
# c of personalised PageRank with α = 0.1, walks of ten steps at most.
_COEFFICIENTS = np.array([0.1 * 0.9**step for step in range(11)])
# Sums of terms below this are zero.
_LEAST = 1e-12
# Nodes of each class that are learnt from, at most, and as a share of all nodes per class.
_SUREST, _SHARE = 50, 0.5
# Inverse of the regularisation of the classifier.
_INVERSE = 10.0
# Labels of each class that need no descriptions while some are held out.
_FEW = 5
# Share of a guess that is uniform: nothing has checked it.
_DOUBT = 0.3


@savable
@dataclass(frozen=True, eq=False)
class ClassDescriptions:
    """Predict classes from their descriptions.

    Args:
        vectors: of the descriptions, of unit length; the first columns of X are of the same text
            model [K, d].
    """

    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, texts: Mapping[Any, str], given: Problem, text_model: object) -> ClassDescriptions:
        """Return the classifier for descriptions, read by the text model of the nodes."""
        vectors = read_texts(list(texts.values()), text_model, fitted=given.meaning).vectors
        assert vectors is not None  # the same model has read the nodes
        return cls(vectors)

    def __post_init__(self) -> None:
        """Check the shape."""
        if self.vectors.ndim != 2 or len(self.vectors) < 2:
            raise ModelError("at least two classes need descriptions")

    def fit(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        start: Sequence[Fitted] | None = None,
        progress: Progress | None = None,
    ) -> list[FittedDescriptions]:
        """Learn from the descriptions and the texts of nodes: labels and seeds play no part."""
        check_no_start(self, start)
        fitted = self._fit(tasks[0])
        return [fitted] * len(tasks)

    def described(self, task: Task) -> Task:
        """Return the task with what the descriptions say, if a class has few labels.

        Classes without any have guessed labels, here and wherever labels are held out; no node
        with a known label has one.
        """
        if np.bincount(task.labels[task.train], minlength=task.num_classes).min() >= _FEW:
            return task
        p = self._fit(task).probabilities
        p[task.train] = 0.0
        return replace(task, described=p).with_guesses()

    def _fit(self, task: Task) -> FittedDescriptions:
        from sklearn.linear_model import LogisticRegression

        d, k = self.vectors.shape[1], len(self.vectors)
        texts = _texts(task.features, d)
        there = np.flatnonzero(np.abs(texts).sum(1) > 0)
        similar = np.zeros((len(texts), k), np.float32)
        similar[there] = texts[there] @ self.vectors.T
        if len(there):
            deviation = similar[there].std(0)
            similar[there] -= similar[there].mean(0)
            similar[there] /= np.where(deviation > 0, deviation, 1.0)
        near = _spread(task.graph, np.hstack([similar, texts]))
        scores, around = near[:, :k], near[:, k:]
        # A class that the graph favours everywhere is not more likely for that.
        scores = (scores - scores.mean(0)) / np.maximum(scores.std(0), 1e-6)
        nodes, classes = _surest(scores)
        weights, bias = np.zeros((d, k), np.float32), np.zeros(k, np.float32)
        if len(np.unique(classes)) > 1:  # else the descriptions tell no class from another
            rows = unit_rows(around)[nodes]
            learnt = LogisticRegression(C=_INVERSE, max_iter=200).fit(rows, classes)
            sign = np.array([-0.5, 0.5])[:, None]
            binary = len(learnt.classes_) == 2
            weights[:, learnt.classes_] = (sign * learnt.coef_ if binary else learnt.coef_).T
            bias[learnt.classes_] = sign[:, 0] * learnt.intercept_ if binary else learnt.intercept_
            absent = np.setdiff1d(np.arange(k), learnt.classes_)
            bias[absent] = bias.min() - 5.0
        fitted = FittedDescriptions(weights, bias, np.zeros((0, k)))
        return replace(fitted, probabilities=fitted.of(around))


@savable
@dataclass(frozen=True, eq=False)
class FittedDescriptions(Fitted):
    """A linear classifier on diffused vectors of texts.

    Attributes:
        weights: W [d, K].
        bias: of the classes [K].
        probabilities: of every node [N, K].
    """

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the shapes."""
        k = self.probabilities.shape[1]
        if self.weights.shape[1:] != (k,) or self.bias.shape != (k,):
            raise ModelError("weights and bias must have an entry for each class")

    def of(self, around: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return class probabilities, given diffused vectors [N, d]."""
        from scipy.special import softmax

        logits = np.asarray(unit_rows(around), np.float64) @ self.weights + self.bias
        p: NDArray[np.float64] = softmax(logits, axis=1)
        return (1 - _DOUBT) * p + _DOUBT / p.shape[1]

    def predict(
        self, graph: RowGraph, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Apply it to the texts of another graph."""
        return Posterior.undivided(self.of(_spread(graph, _texts(features, len(self.weights)))))

    def terms(self, near: Neighbourhood, of: Contrast) -> list[Terms]:
        """Return what its own text adds, and what comes over each edge, as parts of log-odds."""
        texts = _texts(near.features, len(self.weights))
        lengths = np.linalg.norm(_spread(near.graph, texts)[of.nodes], axis=1)
        scores = texts.astype(np.float64) @ self.weights[:, of.classes]
        walks = first_edges(near.adjacency, _COEFFICIENTS, scores, of)
        bias, each = (self.bias[of.a] - self.bias[of.b]) * lengths, list[Terms]()
        for odds, constant, (lead, own, terms) in zip(of.log_odds, bias, walks, strict=True):
            terms["class name", 0] = own * lead + float(constant)
            total = sum(terms.values())
            if abs(total) < _LEAST:
                total, terms = 1.0, {("class name", 0): 1.0}
            each.append({key: float(odds * part / total) for key, part in terms.items()})
        return each

    def reduced(self) -> FittedDescriptions:
        """Return it without the probabilities of its nodes."""
        return replace(self, probabilities=self.probabilities[:0])


def described_classes(described: Any, classes: NDArray[Any]) -> dict[Any, str]:
    """Return a description of each class, its name where there is none; nothing without any.

    Args:
        described: the argument ``class_descriptions`` of `NodeCopyClassifier`; None is the names of
            the classes, if all of them are words.
        classes: the labels that the classes stand for [K].

    >>> described_classes(None, np.array(["web_sites", "mail"]))
    {'web_sites': 'web sites', 'mail': 'mail'}
    >>> described_classes(None, np.array(["A1", "mail"])), described_classes((), np.array(["mail"]))
    ({}, {})
    """
    names = classes.tolist()
    if described is None:
        words = all(isinstance(one, str) and _WORD.search(one) for one in names)
        described = names if words else ()
    if not isinstance(described, Mapping):
        described = {one: one for one in described}
    if not described:
        return {}
    return {one: _SEPARATORS.sub(" ", str(described.get(one, one))).strip() for one in names}


def guess_classes(
    given: Problem, described: Any, text_model: object, seed: int
) -> tuple[Problem, Fitted]:
    """Return a problem without labels with classes, and what their descriptions alone predict."""
    names = list(described)
    classes = np.array(names)
    texts = described_classes(described, classes)
    if len(texts) < 2 or not all(map(_LETTER.search, texts.values())):
        raise ModelError(
            "classes without labels need names or descriptions in words, of two at least; "
            f"got {shown(described)}"
        )
    if given.meaning is None:
        lacks = "nodes have no column of sentences; `column_types` COLUMN=text names one"
        if given.texts is not None:
            lacks = "texts are read as words alone"
            lacks += "" if extra_installed() else ": pip install 'nodecopy[text]'"
        raise ModelError(
            f"without labels, names of classes are compared with the meaning of texts, and {lacks}"
        )
    given = given.with_labels(np.full(given.num_nodes, -1), classes)
    none = np.zeros(0, np.int64)
    task = Task(given.graph.symmetrise(), given.scaled, given.labels, none, none, len(classes))
    (fitted,) = ClassDescriptions.of(texts, given, text_model).fit([task], [seed])
    return given, fitted


def _texts(features: FeatureMatrix, dimension: int) -> NDArray[np.float32]:
    """Return the vectors of the texts of nodes, of unit length [N, d]."""
    columns = features[:, :dimension]
    dense = columns if isinstance(columns, np.ndarray) else columns.toarray()
    return np.asarray(unit_rows(np.asarray(dense, np.float32)), np.float32)


def _spread(graph: RowGraph, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return Π X [N, c]."""
    n = graph.num_nodes
    indptr, columns, values = whole_adjacency(graph)
    operator = sp.csr_array((values.astype(np.float32), columns, indptr), shape=(n, n))
    walked, total = rows, np.float32(_COEFFICIENTS[0]) * rows
    for weight in _COEFFICIENTS[1:].astype(np.float32):
        walked = np.asarray(operator @ walked)
        total = total + weight * walked
    return np.asarray(total, np.float32)


def _surest(scores: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes whose class leads the next one most, as many of each class."""
    order = np.sort(scores, axis=1)
    lead, best = order[:, -1] - order[:, -2], scores.argmax(1)
    n, k = scores.shape
    most = max(min(_SUREST, int(_SHARE * n / k)), 1)
    parts = [np.flatnonzero(best == one) for one in range(k)]
    chosen = [part[np.argsort(-lead[part], kind="stable")[:most]] for part in parts]
    nodes = np.concatenate(chosen)
    return nodes, best[nodes]
