"""Result: the one value after a fit, from which all answers about its nodes follow.

It holds what was given, the fitted model and how it was fitted. Predictions, suspects, explanations
and what to label next are computed when they are first asked for, so that one of them may fail and
the others remain. Every number on trust comes from labels that were held out
(docs/decisions/0025-honest-outputs.md).

What depends on the kind of target, one class per node or another, lies in a subclass beside this
module, and what is said of it in words in its `nodecopy.result.words.Words`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

import nodecopy.presets  # noqa: F401 - a model file may hold any of its parts
from nodecopy.classifiers import Fitted
from nodecopy.core.errors import FormatError, ModelError
from nodecopy.core.files import incomplete
from nodecopy.core.machine import torch_defaults
from nodecopy.core.saving import DAMAGE, load, save
from nodecopy.core.typed import check_fraction
from nodecopy.features.matrix import FeatureMatrix, ties_to
from nodecopy.graph import Graph, join_relations
from nodecopy.lists import Lists
from nodecopy.problem.problem import Problem
from nodecopy.problem.stored import StoredNodes
from nodecopy.read.inspection import Inspection, inspect_dataset
from nodecopy.result.tables import (
    CONFIDENCE,
    KNOWN,
    PREDICTED,
    Columns,
    Predictions,
    edge_columns,
    networkx_graph,
    node_columns,
)
from nodecopy.result.words import Words
from nodecopy.stack.base import FittedStack
from nodecopy.stack.tags import FittedTags
from nodecopy.trust.components import ComponentScore, component_scores, weights_in_words
from nodecopy.trust.edge_model import EdgeModel
from nodecopy.trust.explainer import Explainer
from nodecopy.trust.label_errors import SuspectLabel
from nodecopy.trust.missing_edges import SHARE, MissingEdges, missing_edges
from nodecopy.trust.next_labels import NextLabels, suggest_nodes
from nodecopy.trust.suspect_edges import SuspectEdges, suspect_edges

# Names of files: a model and its graph in their folder, and predictions in that of a run.
MODEL_FILE, GRAPH_FILE = "model.safetensors", "graph.safetensors"
PREDICTIONS = "predictions.csv"
# Held-out labels of nodes that were not suggested, below which the others tell nothing of quality.
_LEAST_DRAWN = 3
# Nodes to label next, and suspect edges that are listed at most.
SUGGESTED, SUSPECTS = 20, 100


@dataclass(frozen=True, eq=False)
class Result:
    """Every node predicted, and what follows from that; a subclass for each kind of target.

    A subclass gives it what raises NotImplementedError here, and may replace what has a default.

    Attributes:
        given: graph, features, labels and names that the model was fitted to; in a model from a
            file only what a file keeps of them.
        model: the fitted method; of a calibrated one a `nodecopy.stack.stacked.FittedStack`.
        arguments: of the estimator: how it was fitted.
        coverage: of the prediction sets or intervals in tables and on pages.
        target: the kind of target, as `Problem.target` has it.
        words_type: how the result is put into words.
        suspect_type: what the estimator returns for a suspect label.
        explainer_type: what explains predictions.
    """

    given: Problem
    model: Fitted
    arguments: dict[str, Any] = field(default_factory=dict)
    coverage: float = 0.9

    target: ClassVar[str]
    words_type: ClassVar[type[Words]]
    suspect_type: ClassVar[type] = SuspectLabel
    explainer_type: ClassVar[type] = Explainer

    @cached_property
    def posterior(self) -> Any:
        """What is predicted for the nodes that labels belong to, read-only; it has ``take``."""
        posterior = self.model.posterior
        if self.given.node_types:
            posterior = posterior.take(slice(self.given.num_classified))
        for array in vars(posterior).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return posterior

    @property
    def words(self) -> Any:
        """The `Words` of the terminal, of summary.json and of the page."""
        return self.words_type(self)

    @property
    def certainty(self) -> NDArray[np.float64]:
        """How sure each prediction is; only the order counts [n]."""
        raise NotImplementedError

    @property
    def groups(self) -> NDArray[np.floating]:
        """Shares of every node, of all types, in groups of like predictions [N, K].

        The map places nodes by them, and edges are judged by those of their ends.
        """
        return self.groups_of(self.model.posterior)

    def groups_of(self, posterior: Any) -> NDArray[np.floating]:
        """Return `groups` of any predictions [N, K]."""
        raise NotImplementedError

    def table(
        self,
        given: Problem,
        nodes: slice | NDArray[np.int64],
        posterior: Any,
        *,
        novelty: NDArray[np.float64] | None = None,
        new: NDArray[np.bool_] | None = None,
    ) -> Predictions:
        """Return the table of predictions of some nodes, of the fit or of others.

        Args:
            given: names, titles and known labels of the nodes.
            nodes: which of them.
            posterior: what is predicted for these nodes.
            novelty: of these nodes; None where it is not known.
            new: whether the model was fitted without the node; None where it was not.
        """
        titles = None if given.titles is None else given.titles[nodes]
        return self._table((given.ids[nodes], titles, new), given, nodes, posterior, novelty)

    def _table(
        self, start: tuple[Any, Any, Any], given: Problem, nodes: Any, posterior: Any, novelty: Any
    ) -> Predictions:
        """Return `table`, given what all tables of predictions begin with."""
        raise NotImplementedError

    def predicted_columns(self, nodes: NDArray[np.int64]) -> Columns:
        """Return what lists say is predicted for nodes; empty for nodes without a target."""
        own = nodes < len(self.labels)
        at = np.where(own, nodes, 0)
        columns = self.table(self.given, at, self.posterior.take(at)).columns()
        result: Columns = {}
        for name, column in columns.items():
            if (short := name.split("_")[0]) in (PREDICTED, CONFIDENCE, "low", "high"):
                missing = np.nan if column.dtype.kind == "f" else ""
                result[short] = np.where(own, column, missing)
        return result

    @property
    def suspect_labels(self) -> Any:
        """The known labels that predictions made without them contradict, most suspect first.

        It has ``nodes`` and, of each, the ``probability`` to be wrong.
        """
        raise NotImplementedError

    def suspect_values(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        """Return known labels that are suspect, what is predicted in their place, probabilities."""
        suspects = self.suspect_labels
        return suspects.known, suspects.predicted, suspects.probability

    def suspect_columns(self) -> Columns:
        """Return the columns of suspect_labels.csv but for the names of the nodes."""
        columns = dict(zip((KNOWN, PREDICTED, "probability"), self.suspect_values(), strict=True))
        return {name: _written(column) for name, column in columns.items()}

    def explanations(self, nodes: Sequence[int]) -> list[Any]:
        """Return why some nodes have their prediction, given their numbers."""
        with torch_defaults():
            return list(self._explainer.explain(nodes))

    @cached_property
    def _explainer(self) -> Any:
        return self.explainer_type(self.nodes("explain"), self.model)

    def estimated(self, level: float = 0.95) -> Any:
        """Return the estimated quality of predictions without a label, and its interval."""
        raise NotImplementedError

    @cached_property
    def estimate(self) -> Any:
        """The estimated quality with its 95 % interval; None where held-out labels cannot tell."""
        return None if self.why_not_estimated else self.estimated()

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each held-out label was predicted well [n]."""
        raise NotImplementedError

    @property
    def why_not_estimated(self) -> str:
        """Why quality cannot be estimated; empty where it can."""
        if self.held_out is None:
            return "no label was held out, since the model is not calibrated (calibrate)"
        drawn = self.num_representative
        if drawn == len(self.held_out.nodes) or drawn >= _LEAST_DRAWN:
            return ""
        return (
            f"that takes {_LEAST_DRAWN} held-out labels that were not suggested; {drawn} were not"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, in the graph and in the predictions."""
        return self.inspection.warnings

    @property
    def novelty(self) -> NDArray[np.float64] | None:
        """The probability of each node to be unlike all labels; None where there is no such [n]."""
        return None

    def check_posterior(self, posterior: Any, num_labels: int) -> None:
        """Raise ValueError unless predictions are possible ones, in a file that may be crafted."""
        raise NotImplementedError

    def nodes(self, asked: str) -> Problem:
        """Return graph and features, or say what needs them: a model from a file has none."""
        if not self.given.has_graph:
            raise ModelError(
                f"{asked} needs the graph, which a model from a file does not hold: call fit first"
            )
        return self.given

    @property
    def labels(self) -> NDArray[np.int64]:
        """The known labels of these nodes, as places in the given values; -1 for none [n]."""
        return self.given.labels[: self.given.num_classified]

    @property
    def without_label(self) -> NDArray[np.bool_]:
        """A mask of the nodes without a label; of all nodes, where each has one [n]."""
        without = self.labels < 0
        return without if without.any() else ~without

    @property
    def seed(self) -> int:
        """The seed of samples that follow the fit."""
        state = self.arguments.get("random_state")
        return int(state) if isinstance(state, (int, np.integer)) else 0

    @cached_property
    def held_out(self) -> Any:
        """Predictions of labels that were held out; None where none were."""
        held_out = getattr(self.model, "held_out", None)
        return held_out if held_out is not None and len(held_out.nodes) else None

    @property
    def checked_held_out(self) -> Any:
        """The held-out labels, or an error that says how to get some."""
        if self.held_out is None:
            raise ModelError(
                "this needs known labels that were held out, and none were: fit with "
                f"calibrate=True (--calibrate), and with {self._enough_labels}"
            )
        return self.held_out

    # Of which labels one can be held out.
    _enough_labels: ClassVar[str] = "two labels at least"

    @property
    def representative(self) -> NDArray[np.bool_]:
        """Which held-out labels were not suggested [n]."""
        return ~np.isin(self.checked_held_out.nodes, self.given.suggested)

    @property
    def num_representative(self) -> int:
        """How many held-out labels were not suggested."""
        return 0 if self.held_out is None else int(self.representative.sum())

    def elsewhere(self, posterior: Any) -> Any:
        """Return how far to trust predictions for a graph of other nodes; None where nothing says.

        It has a ``note`` of one line, and ``table``, which gives a table its sets or intervals.
        """
        return None

    def suspect_edges(self, n: int = SUSPECTS) -> SuspectEdges:
        """Return the n edges that look most like pairs of random nodes."""
        self.nodes("suspect_edges")
        return suspect_edges(self.edge_model, max(n, 0))

    def missing_edges(self, n: int = SUSPECTS, share: float = SHARE) -> MissingEdges:
        """Return the n pairs that are most probably missing edges."""
        self.nodes("missing_edges")
        check_fraction("share", share)
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

        Predictions do not count where the method cannot be applied to another graph.
        """
        given = self.nodes("edge_model")
        sizes = tuple(given.node_types.values())
        applied = None if type(self.model).predict is Fitted.predict else self._groups_on
        return EdgeModel(given.graph, given.given_features, applied, sizes, self.seed)

    def _groups_on(self, graph: Graph) -> NDArray[np.floating]:
        """Return `groups` of the nodes of the fit with other edges between them [N, K]."""
        given = self.given
        if graph is given.graph:
            return self.groups
        features = given.scaled
        if given.hubs is not None:
            features = given.scaling.apply(graph, ties_to(graph, given.hubs))
        with torch_defaults():
            return self.groups_of(self.model.predict(graph, features))

    def next_labels(self, n: int = SUGGESTED, exclude: ArrayLike = ()) -> NextLabels:
        """Return the n nodes that are most worth labelling next, the best first."""
        return suggest_nodes(self.nodes("suggest"), self.posterior, n, self.seed, exclude)

    @property
    def components(self) -> tuple[ComponentScore, ...]:
        """The components of the pool, the largest weight first; none of a single one."""
        return component_scores(self.model, self.nodes("components").given_features is not None)

    @cached_property
    def inspection(self) -> Inspection:
        """What the graph looks like, and what to beware of in it."""
        return inspect_dataset(self.nodes("inspection"))

    @cached_property
    def lists(self) -> Lists:
        """What tables and pages list, each of which may fail on its own."""
        return Lists(self)

    @property
    def predictions(self) -> Predictions:
        """The table of predictions; novelty is left out where it could not be computed."""
        novelty = self.lists.novelty if self.given.has_graph else None
        own = slice(self.given.num_classified)
        return self.table(self.given, own, self.posterior, novelty=novelty)

    def to_networkx(self) -> Any:
        """Return the graph with predictions, see `nodecopy.NodeCopyClassifier.to_networkx`."""
        given = self.nodes("to_networkx")
        return networkx_graph(node_columns(given, self.predictions.columns()), edge_columns(given))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one file, without graph and features.

        A random generator is not saved: fitted again, the loaded estimator takes a fresh seed.
        """
        plain = dict(self.arguments)
        if not isinstance(plain.get("random_state"), (int, np.integer)):
            plain["random_state"] = None
        if callable(plain.get("text_model")):  # a file holds no code; predictions name it again
            plain["text_model"] = "auto"
        several = isinstance(self.model, (FittedStack, FittedTags))
        model = self.model.reduced() if several else self.model
        save(path, replace(self, given=self.given.for_file(), model=model, arguments=plain))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result that `save` wrote, given its file, its folder, or the folder of a run.

        A graph that lies beside it in its folder is read, too.
        """
        file = model_file(path)
        result, graph = load(file, cls), file.with_name(GRAPH_FILE)
        try:
            if result.given.target != result.target:  # which a file says by the type of result
                result = replace(result, given=replace(result.given, target=result.target))
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
        given, own = self.given, self.model.posterior
        n = len(given.labels)
        self.check_posterior(own, n)
        if next(iter(given.node_types.values()), n) != given.num_classified:
            raise ValueError(f"{n} labels, and {given.num_classified} nodes to label")
        pair = Graph.from_edges(2, [(0, 1)])
        if names := getattr(self.model, "relations", ()):
            pair = join_relations(dict.fromkeys(names, pair))
        features: FeatureMatrix = np.ones((2, given.num_features), np.float32)
        if getattr(self.model, "features", None) is None:  # no kernel of dense columns
            features = sp.csr_array(features)
        with torch_defaults(), suppress(ModelError):  # some methods cannot predict, and say so
            features = given.scaling.apply(pair, features)
            self.check_posterior(self.model.predict(pair, features, np.arange(n)), 2)

    def _repr_html_(self) -> str:
        """Return two tables: labels and the estimated quality, and what is predicted."""
        rows = [("nodes", f"{len(self.labels):,}"), *self.words.notebook_rows()]
        if self.given.has_graph and self.components:
            rows.append(("learnt from", weights_in_words(self.components)))
        cells = (f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows)
        return f"<table><tbody>{''.join(cells)}</tbody></table>{self.words.notebook_chart()}"


def _written(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of labels as a file has it: numbers, or strings."""
    return column if column.dtype.kind == "f" else np.array([*map(str, column.tolist())], object)


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
