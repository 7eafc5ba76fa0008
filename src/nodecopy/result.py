"""Result: the one value after a fit, from which all answers about its nodes follow.

It holds what was given, the fitted model and how it was fitted. Predictions, their accuracy, sets,
suspects, explanations and what to label next are computed when they are first asked for, so that
one of them may fail and the others remain. Every number on trust comes from labels that were
held out (docs/decisions/0025-honest-outputs.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

import nodecopy.presets  # noqa: F401 - a model file may hold any of its parts
from nodecopy.classifiers import Fitted, Posterior
from nodecopy.core.errors import FormatError, ModelError, shown
from nodecopy.core.files import incomplete
from nodecopy.core.machine import torch_defaults
from nodecopy.core.saving import DAMAGE, load, savable, save
from nodecopy.features.matrix import FeatureMatrix, ties_to
from nodecopy.graph import Graph, join_relations
from nodecopy.lists import Lists
from nodecopy.predictions import (
    Predictions,
    class_bars,
    edge_columns,
    networkx_graph,
    node_columns,
)
from nodecopy.problem.problem import Problem
from nodecopy.problem.stored import StoredNodes
from nodecopy.read.inspection import Inspection, inspect_dataset
from nodecopy.stack.held_out import HeldOut
from nodecopy.stack.stacked import FittedStack
from nodecopy.trust.accuracy import (
    EstimatedAccuracy,
    class_share_warnings,
    estimate_accuracy,
)
from nodecopy.trust.components import ComponentScore, component_scores, weights_in_words
from nodecopy.trust.edge_model import EdgeModel
from nodecopy.trust.explainer import Explainer
from nodecopy.trust.explanation import Explanation
from nodecopy.trust.label_errors import SuspectLabels, suspect_labels
from nodecopy.trust.missing_edges import SHARE, MissingEdges, missing_edges
from nodecopy.trust.missing_mass import MissingMass, missing_mass
from nodecopy.trust.next_labels import NextLabels, suggest_nodes
from nodecopy.trust.novelty import novelty_of
from nodecopy.trust.sets import PredictionSets, fit_sets
from nodecopy.trust.suspect_edges import SuspectEdges, suspect_edges

# Names of files: a model and its graph in their folder, and predictions in that of a run.
MODEL_FILE, GRAPH_FILE = "model.safetensors", "graph.safetensors"
PREDICTIONS = "predictions.csv"
# Nodes to label next, and suspect edges that are listed at most.
SUGGESTED, SUSPECTS = 20, 100


@savable
@dataclass(frozen=True, eq=False)
class Result:
    """Every node labelled, and what follows from that.

    Attributes:
        given: graph, features, labels and names that the model was fitted to; in a model from a
            file only what a file keeps of them.
        model: the fitted method; of a calibrated one a `nodecopy.stack.stacked.FittedStack`.
        arguments: of the classifier: how it was fitted.
        coverage: of the prediction sets in tables and on pages.
        max_novelty: tables leave the prediction of a node empty from this novelty on; None always
            predicts.
    """

    given: Problem
    model: Fitted
    arguments: dict[str, Any] = field(default_factory=dict)
    coverage: float = 0.9
    max_novelty: float | None = None

    def nodes(self, asked: str) -> Problem:
        """Return graph and features, or say what needs them: a model from a file has none."""
        if not self.given.has_graph:
            raise ModelError(
                f"{asked} needs the graph, which a model from a file does not hold: call fit first"
            )
        return self.given

    @cached_property
    def posterior(self) -> Posterior:
        """Probabilities and uncertainty of the nodes that classes belong to, read-only [n, K]."""
        posterior = self.model.posterior
        if self.given.node_types:
            posterior = posterior.take(slice(self.given.num_classified))
        for array in vars(posterior).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return posterior

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Class probabilities of these nodes [n, K]."""
        return self.posterior.probabilities

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that the columns of probabilities stand for, read-only [K]."""
        return self.given.classes

    @property
    def labels(self) -> NDArray[np.int64]:
        """The known labels of these nodes, as numbers of classes; -1 where there is none [n]."""
        return self.given.labels[: self.given.num_classified]

    @property
    def without_label(self) -> NDArray[np.bool_]:
        """A mask of the nodes without a label; of all nodes, where each has one [n]."""
        without: NDArray[np.bool_] = self.labels < 0
        return without if without.any() else ~without

    @property
    def seed(self) -> int:
        """The seed of samples that follow the fit."""
        state = self.arguments.get("random_state")
        return int(state) if isinstance(state, (int, np.integer)) else 0

    @cached_property
    def held_out(self) -> HeldOut | None:
        """Predictions of labels that were held out; None where none were."""
        held_out: HeldOut | None = getattr(self.model, "held_out", None)
        return held_out if held_out is not None and len(held_out.nodes) else None

    @property
    def why_not_estimated(self) -> str:
        """Why no label was held out; empty where some were."""
        if self.held_out is not None:
            return ""
        labels = np.delete(self.given.labels, getattr(self.given, "validation", []))
        if np.bincount(labels[labels >= 0], minlength=1).max() < 2:
            return "that takes a class with two labels at least"
        return "no label was held out, since the model is not calibrated (calibrate)"

    def estimated_accuracy(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the estimated accuracy on the nodes without a label, and its interval."""
        held = self._held_out
        others = held.unlabelled(self.probabilities)
        return estimate_accuracy(
            held.probabilities, held.truth, others, level, self._representative, self.missing_mass
        )

    @cached_property
    def missing_mass(self) -> MissingMass | None:
        """The share of nodes whose class has no label; None where the labels cannot tell."""
        known = np.flatnonzero(self.labels >= 0)
        return missing_mass(self.labels[known], ~np.isin(known, self.given.suggested))

    @cached_property
    def accuracy(self) -> EstimatedAccuracy | None:
        """The estimated accuracy with its 95 % interval; None where no label was held out."""
        return None if self.held_out is None else self.estimated_accuracy()

    def sets(
        self, coverage: float | None = None, probabilities: NDArray[np.floating] | None = None
    ) -> NDArray[np.bool_]:
        """Return which classes the prediction set of each node holds [n, K].

        Args:
            coverage: probability that the label is in the set; None is `coverage`.
            probabilities: of other nodes, those of another graph for instance [n, K].
        """
        p = self.probabilities if probabilities is None else probabilities
        return self.prediction_sets.sets(p, self.coverage if coverage is None else coverage)

    @cached_property
    def prediction_sets(self) -> PredictionSets:
        """What sets of any coverage follow from."""
        held, some = self._held_out, self._representative
        others = held.unlabelled(self.probabilities)
        missing = self.missing_mass or MissingMass()
        return fit_sets(held.probabilities[some], held.truth[some], others, missing.share)

    @cached_property
    def suspect_labels(self) -> SuspectLabels:
        """The known labels that predictions made without them contradict, most suspect first."""
        held = self._held_out
        return suspect_labels(held.nodes, held.truth, held.probabilities)

    def suspect_edges(self, n: int = SUSPECTS) -> SuspectEdges:
        """Return the n edges that look most like pairs of random nodes."""
        self.nodes("suspect_edges")
        return suspect_edges(self.edge_model, max(n, 0))

    def missing_edges(self, n: int = SUSPECTS, share: float = SHARE) -> MissingEdges:
        """Return the n pairs that are most probably missing edges."""
        self.nodes("missing_edges")
        if not isinstance(share, (int, float, np.number)) or not 0 < share < 1:
            raise ModelError(f"share must be a number between 0 and 1; got {shown(share)}")
        return missing_edges(self.edge_model, max(n, 0), share, seed=self.seed)

    def edge_probability(self, pairs: ArrayLike) -> NDArray[np.float64]:
        """Return how probable an edge between the nodes of pairs is, by name [n, 2] -> [n]."""
        given, named = self.nodes("edge_probability"), np.asarray(pairs, object)
        if named.ndim != 2 or named.shape[1] != 2:
            raise ModelError(f"pairs must have shape [n, 2]; got {list(named.shape)}")
        ends = given.places(named.ravel().tolist()).reshape(-1, 2)
        if (ends < 0).any():
            raise ModelError(given.unknown(named[ends < 0][0]))
        if (same := ends[:, 0] == ends[:, 1]).any():
            raise ModelError(f"pairs must be of different nodes; got {named[same][0, 0]!r} twice")
        return self.edge_model.probability(ends)

    @cached_property
    def edge_model(self) -> EdgeModel:
        """How probable an edge between two nodes is.

        Classes do not count where the method cannot be applied to another graph.
        """
        given = self.nodes("edge_model")
        sizes = tuple(given.node_types.values())
        applied = None if type(self.model).predict is Fitted.predict else self._predict_on
        return EdgeModel(given.graph, given.given_features, applied, sizes, self.seed)

    def _predict_on(self, graph: Graph) -> NDArray[np.floating]:
        """Return probabilities of the nodes of the fit with other edges between them [N, K]."""
        given = self.given
        features = given.scaled
        if given.hubs is not None:
            features = given.scaling.apply(graph, ties_to(graph, given.hubs))
        with torch_defaults():
            return self.model.predict(graph, features).probabilities

    @cached_property
    def novelty(self) -> NDArray[np.float64]:
        """The probability of each node to belong to none of the classes [n]."""
        missing = self.missing_mass or MissingMass()
        return novelty_of(self.nodes("novelty"), self.posterior, missing.share)

    def next_labels(self, n: int = SUGGESTED, exclude: ArrayLike = ()) -> NextLabels:
        """Return the n nodes that are most worth labelling next, the best first."""
        return suggest_nodes(self.nodes("suggest"), self.posterior, n, self.seed, exclude)

    def explanations(self, nodes: Sequence[int]) -> list[Explanation]:
        """Return why some nodes have their class, given their numbers."""
        with torch_defaults():
            return self._explainer.explain(nodes)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.nodes("explain"), self.model)

    @property
    def components(self) -> tuple[ComponentScore, ...]:
        """The components of the pool, the largest weight first; none of a single one."""
        return component_scores(self.model, self.nodes("components").given_features is not None)

    @cached_property
    def inspection(self) -> Inspection:
        """What the graph looks like, and what to beware of in it."""
        return inspect_dataset(self.nodes("inspection"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, in the graph and in the predictions."""
        return (*self.inspection.warnings, *_accuracy_warnings(self.held_out), *self.share_warnings)

    @property
    def share_warnings(self) -> list[str]:
        """Warnings of classes with other shares of the labels than of the predictions."""
        held = self.held_out
        if held is None or self.arguments.get("class_prior", "estimate") != "estimate":
            return []
        predicted = held.unlabelled(self.probabilities).argmax(1)
        return class_share_warnings(held.truth[self._representative], predicted, self.classes)

    @cached_property
    def lists(self) -> Lists:
        """What tables and pages list, each of which may fail on its own."""
        return Lists(self)

    @property
    def predictions(self) -> Predictions:
        """The table of predictions; novelty is left out where it could not be computed."""
        n, titles = self.given.num_classified, getattr(self.given, "titles", None)
        return Predictions(
            self.given.ids[:n],
            self.classes,
            self.posterior,
            self.labels,
            None if titles is None else titles[:n],
            None if self.held_out is None else self.sets(),
            self.coverage,
            self.lists.novelty if self.given.has_graph else None,
            self.max_novelty,
        )

    def to_networkx(self) -> Any:
        """Return the graph with predictions, see `nodecopy.NodeCopyClassifier.to_networkx`."""
        given = self.nodes("to_networkx")
        return networkx_graph(node_columns(given, self.predictions.columns()), edge_columns(given))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one file, without graph and features.

        A random generator is not saved: fitted again, the loaded classifier takes a fresh seed.
        """
        plain = dict(self.arguments)
        if not isinstance(plain.get("random_state"), (int, np.integer)):
            plain["random_state"] = None
        if callable(plain.get("text_model")):  # a file holds no code; predictions name it again
            plain["text_model"] = "auto"
        model = self.model.reduced() if isinstance(self.model, FittedStack) else self.model
        save(path, replace(self, given=self.given.for_file(), model=model, arguments=plain))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote, given its file, its folder, or the folder of a run.

        A graph that lies beside it in its folder is read, too.
        """
        file = model_file(path)
        result, graph = load(file, cls), file.with_name(GRAPH_FILE)
        try:
            result._check()
            if file.name == MODEL_FILE and graph.exists():
                given = load(graph, StoredNodes).restored(result.given)
                result = replace(result, given=given)
        except DAMAGE as error:
            reason = str(error).split("\n")[0]
            raise FormatError(
                f"cannot read {path}: its parts do not fit together: {reason}"
            ) from error
        return result

    def _check(self) -> None:
        """Raise an error unless labels belong to the model, and it predicts a graph of two nodes.

        That needs all of its arrays, so that those of a crafted file must fit together.
        """
        given, (n, k) = self.given, self.model.probabilities.shape
        classified = next(iter(given.node_types.values()), n)
        if (n, k, classified) != (len(given.labels), len(given.classes), given.num_classified):
            raise ValueError(f"{n} nodes of {k} classes, and {len(given.labels)} labels")
        pair = Graph.from_edges(2, [(0, 1)])
        if names := getattr(self.model, "relations", ()):
            pair = join_relations(dict.fromkeys(names, pair))
        features: FeatureMatrix = np.ones((2, given.num_features), np.float32)
        if getattr(self.model, "features", None) is None:  # no kernel of dense columns
            features = sp.csr_array(features)
        answers = [self.model.probabilities]
        with torch_defaults(), suppress(ModelError):  # some methods cannot predict, and say so
            features = given.scaling.apply(pair, features)
            answers.append(self.model.predict(pair, features, np.arange(n)).probabilities)
        for p in answers:
            if p.shape[1] != k or not np.all(p >= 0) or not np.allclose(p.sum(1), 1, atol=1e-3):
                raise ValueError("predictions are not probabilities")

    @property
    def _held_out(self) -> HeldOut:
        if self.held_out is None:
            raise ModelError(
                "this needs known labels that were held out, and none were: fit with "
                "calibrate=True (--calibrate), and with two labels at least of some class"
            )
        return self.held_out

    @property
    def _representative(self) -> NDArray[np.bool_]:
        """Which held-out labels were not suggested [n]."""
        return ~np.isin(self._held_out.nodes, self.given.suggested)

    def _repr_html_(self) -> str:
        """Return two tables: labels and the estimated accuracy, and a bar for each class."""
        rows = [
            ("nodes", f"{len(self.labels):,}"),
            ("known labels", f"{np.count_nonzero(self.labels >= 0):,}"),
            ("classes", f"{len(self.classes):,}"),
        ]
        if (estimate := self.accuracy) is not None:
            interval = f"95% interval {estimate.low:.0%} to {estimate.high:.0%}"
            rows.append(("estimated accuracy", f"{estimate.accuracy:.0%} ({interval})"))
        if self.given.has_graph and self.components:
            rows.append(("learnt from", weights_in_words(self.components)))
        cells = (f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows)
        bars = class_bars(self.given.class_names, self.probabilities, self.labels)
        return f"<table><tbody>{''.join(cells)}</tbody></table>{bars}"


def model_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of a model, given it, its folder, or the folder of a run."""
    folder = Path(path)
    if not folder.is_dir():
        return folder
    inside = folder / "model" / MODEL_FILE
    return inside if inside.exists() else folder / MODEL_FILE


def incomplete_model(path: str | os.PathLike[str]) -> str:
    """Say in one line whether a model is not of the last fit in its run folder; "" if it is."""
    file = model_file(path).absolute()
    return incomplete(file.parents[1], PREDICTIONS, [f"{file.parent.name}/{file.name}"])


def _accuracy_warnings(held_out: HeldOut | None) -> list[str]:
    """Warn if held-out labels were predicted no better than by the commonest class."""
    if held_out is None:
        return []
    accuracy = held_out.scores.accuracy
    commonest = np.bincount(held_out.truth).max() / len(held_out.truth)
    if accuracy > commonest:
        return []
    n = len(held_out.truth)
    chance = 2 * np.sqrt(max(accuracy * (1 - accuracy), 0.25 / n) / n)
    return [
        f"held-out accuracy is {accuracy:.0%}, no better than always predicting the commonest "
        f"class ({commonest:.0%}): so far columns and edges tell no more than the class shares do. "
        f"With {n} labels that is uncertain by {100 * chance:.0f} points; more labels decide it"
    ]
