"""Classes by own columns: what the columns of a node tell about its class, not edges or label.

Softmax regression on the columns x_j, with the class probabilities q that another method predicts
as soft labels. Nodes are divided into folds, known labels as when they are held out, and

    p_j = softmax(x_j W_f),   W_f = argmin  Σ_i∉f CE(q_fi, softmax(x_i W)) + λ/2 ‖W‖²,   j in fold f

with q_f predicted without the labels of the fold: neither q_j nor the label of j has a part in p_j
(cross-fitting: Chernozhukov et al. 2018, "Double/debiased machine learning"). Where no label can be
held out, q is predicted with all of them. A node that is in no fold has the mean over the folds.
How often two classes are linked, relative to what degrees expect:

    Ω_kl = (Σ_ij A_ij p_ik p_jl + K) / (κ_k κ_l / Σκ + K),   κ_k = Σ_ij A_ij p_ik
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable
from nodecopy.features.matrix import FeatureMatrix
from nodecopy.graph import Graph
from nodecopy.nn.products import kept_features
from nodecopy.weights.soft_labels import feature_scores, softmax_regression


@savable
@dataclass(frozen=True, eq=False)
class OwnClasses:
    """Softmax regressions on columns, one for each fold of the nodes.

    Attributes:
        weights: W [F, D, K].
        folds: of the nodes of the fit [n].
        affinity: Ω [K, K].
    """

    weights: NDArray[np.float32]
    folds: NDArray[np.int64]
    affinity: NDArray[np.float32]

    def __post_init__(self) -> None:
        """Check the folds."""
        if self.weights.ndim != 3 or not np.isin(self.folds, np.arange(len(self.weights))).all():
            raise ModelError(f"{len(self.weights)} regressions need the fold of every node")

    @classmethod
    def fit(
        cls,
        graph: Graph,
        features: FeatureMatrix,
        targets: NDArray[np.floating],
        folds: NDArray[np.int64],
        prior_precision: float,
    ) -> OwnClasses:
        """Fit the regressions side by side.

        Args:
            graph: of the nodes.
            features: X, as classifiers see them [N, D].
            targets: q of every node, predicted without the labels of each fold [F, N, K].
            folds: of the nodes [N].
            prior_precision: λ.
        """
        q = torch.tensor(targets, dtype=torch.float32)
        q[torch.as_tensor(folds), torch.arange(len(folds))] = 0.0  # which leaves them out
        x = kept_features(features, torch.device("cpu"))
        weights = softmax_regression(x, q, prior_precision).numpy()
        p = cls(weights, folds, np.ones((q.shape[2],) * 2, np.float32)).of(features)
        return cls(weights, folds, _affinity(graph, p))

    def of(
        self, features: FeatureMatrix, nodes: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return p of every node [N, K].

        Args:
            features: as those of the fit, of the same nodes or of others [N, D].
            nodes: where the nodes of the fit are among them; None: they come first.
        """
        x = kept_features(features, torch.device("cpu"))
        scores = feature_scores(x, torch.as_tensor(self.weights))  # [N, F K]
        each = scores.unflatten(1, (len(self.weights), -1)).softmax(2)
        place = np.arange(len(self.folds)) if nodes is None else nodes
        there = place < features.shape[0]
        known, folds = torch.as_tensor(place[there]), torch.as_tensor(self.folds[there])
        p = each.mean(1)
        p[known] = each[known, folds]
        return p.numpy()


def _affinity(graph: Graph, p: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return Ω [K, K] for the probabilities of nodes [N, K]."""
    ends = np.asarray(p.T @ (graph.to_scipy() @ p), np.float64)
    degrees, k = ends.sum(1), len(ends)
    expected = np.outer(degrees, degrees) / max(degrees.sum(), 1e-12)
    return ((ends + k) / (expected + k)).astype(np.float32)
