"""NodeCopyClassifier: the whole method behind ``fit`` and ``predict``, a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn.exceptions
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from nodecopy.calibration import ClassPrior, EstimatedAccuracy, HeldOut
from nodecopy.classifiers import Fitted, NodeClassifier, Placement
from nodecopy.data.convert import read_features
from nodecopy.data.encoding import ColumnEncoder
from nodecopy.data.structural import ties_to
from nodecopy.errors import FormatError, ModelError, NotFittedError, shown
from nodecopy.estimator.assessment import Assessment, SuspectLabel, Validation
from nodecopy.estimator.method import (
    MethodName,
    fitted_by,
    method_of,
    torch_defaults,
    with_class_prior,
)
from nodecopy.estimator.nodes import LabelledNodes, node_numbers, numbers_by_name, renumbered
from nodecopy.estimator.saved import FittedState, read_fitted, write_fitted
from nodecopy.estimator.scaling import Normalise, Scaling
from nodecopy.executors import check_executor, opened
from nodecopy.graph import Graph, RowGraph
from nodecopy.posterior import Posterior, posterior_of, predicted_by
from nodecopy.progress import progress_bar
from nodecopy.typed import fits


class _NotFittedError(NotFittedError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """Also scikit-learn's error of that name."""


class Fit(NamedTuple):
    """A fit, and the nodes it was made from, which a model from a file does not have."""

    state: FittedState
    nodes: LabelledNodes | None


class NodeCopyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Label every node of a graph from a few labels, with probabilities.

    Args:
        method: "best" (see `nodecopy.presets.best`), "fast" (its simplest part), "paper"
            (Algorithm 1 with the paper's settings), or any node classifier, such as
            ``BayesianGCN(n_zeta=20, network=GAT())`` or ``replace(presets.best(), folds=3)``.
        calibrate: hold out known labels in turn, to weight the components of a method and to
            calibrate its probabilities. None does so where the method does: "best" and "fast" do,
            "paper" does not. True calibrates any method; False holds nothing out and keeps the
            weights and temperatures of the prior.
        folds: cross-validation folds of the labels; None is the method's own, 5.
        class_prior: what share of the nodes each class has, if that is known: {label: share}, or
            "labels" (as among the labels) or "uniform". Probabilities are then weighted so that
            they add up to these shares. "estimate" keeps what they add up to by themselves, which
            is a better estimate than the shares of the labels, even of labels drawn at random.
        normalise: "columns" scales each feature to mean 0 and standard deviation 1, "rows" makes
            each row sum to one, "none" keeps features as they are; "auto" is "columns" for dense
            features and "rows" for counts and indicators (`nodecopy.estimator.scaling`).
        random_state: a seed, a NumPy Generator or RandomState, or None for a fresh seed at each
            fit.
        progress: show a bar while fitting; None shows one on a terminal.
        max_memory: bytes for what is computed at a time (members, folds, blocks of features),
            beside the graph, its features and the result; None is a quarter of the memory that
            this process may use. Predictions do not depend on it.
        executor: where the parts of a fit are computed, with the same result: None, in this
            process; "processes", in worker processes; the address of a Dask scheduler,
            "tcp://host:8786", or a Dask ``Client``, on its workers (docs/cluster.md). Not saved.

    A fit is kept in one attribute that is replaced at once: predictions made while another thread
    fits again are those of one of the two fits.

    >>> from nodecopy.data import planted_partition
    >>> data = planted_partition(200, 2, seed=0)
    >>> y = np.where(np.arange(200) < 20, data.labels, -1)
    >>> clf = NodeCopyClassifier(random_state=0)
    >>> clf.fit(data.graph, data.features, y).predict([150, 151]).shape
    (2,)
    """

    def __init__(
        self,
        method: MethodName | NodeClassifier = "best",
        *,
        calibrate: bool | None = None,
        folds: int | None = None,
        class_prior: ClassPrior = "estimate",
        normalise: Normalise = "auto",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        progress: bool | None = None,
        max_memory: int | None = None,
        executor: object = None,
    ) -> None:
        self.method = method
        self.calibrate = calibrate
        self.folds = folds
        self.class_prior = class_prior
        self.normalise = normalise
        self.random_state = random_state
        self.progress = progress
        self.max_memory = max_memory
        self.executor = executor

    def fit(
        self,
        graph: Any,
        X: Any = None,
        y: Any = None,
        *,
        validation: ArrayLike = (),
        suggested: ArrayLike = (),
    ) -> Self:
        """Learn from the labelled nodes; forgets any earlier fit.

        Args:
            graph: see `nodecopy.data.convert.read_graph`.
            X: features [N, D], dense or sparse, a row per node; stored sparse if less than a
                quarter of them are non-zero, and dense otherwise. Columns of a pandas or polars
                DataFrame may be numbers with gaps, booleans, dates, categories and text
                (`nodecopy.data.encoding`). Nodes of a networkx graph are in
                the order of ``list(graph)``. None takes those of a PyTorch Geometric Data, or,
                where there are none, `structural_features` of the graph, with a warning.
            y: one label per node [N] of any type; -1, None, NaN, '' or masked where unknown; or a
                mapping {node: label}. From a PyTorch Geometric Data if None, hidden outside its
                ``train_mask``, which it must have; or from a dataset.
            validation: labelled nodes to hold out for early stopping, where the method uses it:
                their numbers, or a mask [N]. They are not trained on.
            suggested: labelled nodes that `suggest` chose: their numbers, or a mask [N]. They are
                harder than others; sets and the estimated accuracy rest on the other labels.

        Rows of a pandas object go by its index: 0, 1, 2, … as pandas makes it is the order of the
        nodes, else it must name them (by number, or as a networkx graph or the ids of tables do); a
        Series may then leave nodes out, whose labels are unknown.
        """
        self._check_arguments()
        given = graph, X, y, validation, self.normalise, suggested
        return self._fit(LabelledNodes.read(*given))

    def add_labels(self, labels: Mapping[int, Any], *, suggested: ArrayLike = ()) -> Self:
        """Fit again with more labels; graph and features are not read again.

        The result is that of a new `fit` with all labels. A node that has a label gets the new one;
        None, or another unknown label, removes its label.

        Args:
            labels: by node number, from 0 in the order of the graph's nodes.
            suggested: those of them that `suggest` chose, see `fit`; not those it drew at random.

        >>> from nodecopy.data import planted_partition
        >>> data = planted_partition(200, 2, seed=0)
        >>> y = np.where(np.arange(200) < 4, data.labels, -1)
        >>> clf = NodeCopyClassifier(random_state=0).fit(data.graph, data.features, y)
        >>> for _ in range(2):
        ...     asked, drawn = clf.suggest(1), clf.suggest(1, random=True)
        ...     answers = {node: data.labels[node] for node in [*asked, *drawn]}
        ...     clf = clf.add_labels(answers, suggested=asked)
        >>> len(clf.held_out_.nodes)
        8
        """
        return self._fit(self._nodes("add_labels").with_labels(labels, suggested))

    def suggest(
        self,
        n: int = 1,
        graph: Any = None,
        X: Any = None,
        *,
        exclude: ArrayLike = (),
        random: bool = False,
    ) -> NDArray[np.int64]:
        """Return the n nodes that are most worth labelling next, the best first.

        They are similar to many nodes whose label is uncertain, and dissimilar to each other:
        `nodecopy.active.next_labels`. Fewer come back where fewer have no label.

        Args:
            n: how many.
            graph: where no node has a label yet, the graph, as in `fit`; None is that of the fit.
            X: its features.
            exclude: nodes that are not to be suggested: their numbers, or a mask [N].
            random: draw the nodes at random instead: the estimated accuracy rests on such labels.

        >>> from nodecopy.data import planted_partition
        >>> data = planted_partition(200, 2, seed=0)
        >>> NodeCopyClassifier(random_state=0).suggest(3, data.graph, data.features).shape
        (3,)
        """
        state, posterior = self.random_state, None
        seed = int(state) if isinstance(state, (int, np.integer)) else 0
        if graph is None:
            nodes, posterior = self._nodes("suggest"), self.posterior_
        else:
            nodes = LabelledNodes.read(graph, X, None, (), self.normalise, labelled=False)
        if random:
            return nodes.draw(n, seed, exclude)
        return nodes.suggest(posterior, n, seed, exclude).nodes

    def predict(self, nodes: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable label of every node, or of some."""
        state = self._fitted().state
        return state.classes[_posterior(state, nodes).probabilities.argmax(1)]

    def predict_proba(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return class probabilities [n, K] of every node, or of some; columns as ``classes_``.

        Those of every node are the fit's own, and read-only.
        """
        return self.uncertainty(nodes).probabilities

    def uncertainty(self, nodes: ArrayLike | None = None) -> Posterior:
        """Return probabilities, their entropies, and where the uncertainty comes from."""
        return _posterior(self._fitted().state, nodes)

    def to_frame(self) -> Any:
        """Return the predictions of every node as a pandas DataFrame, by the name of the node.

        Nodes have the names of a networkx graph, or the ids of tables, and else their numbers,
        as in a model that was loaded from a file. The columns: predicted, confidence, entropy, and
        ``p_…`` for every class.
        """
        state, nodes = self._fitted()
        import pandas as pd

        posterior = _posterior(state)
        p = posterior.probabilities
        columns = {
            "predicted": state.classes[p.argmax(1)],
            "confidence": p.max(1),
            "entropy": posterior.entropy,
            **{f"p_{value}": p[:, k] for k, value in enumerate(state.classes)},
        }
        names = range(len(p)) if nodes is None or nodes.names is None else list(nodes.names)
        return pd.DataFrame(columns, index=pd.Index(names, name="node"))

    def predict_set(
        self, coverage: float = 0.9, nodes: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Return which classes the prediction set of every node, or of some, holds [n, K].

        Columns are as ``classes_``; ``clf.classes_[sets[i]]`` are the labels in set i. Over all
        nodes, the share ``coverage`` of the sets holds the true label (what is promised, and what
        is not: `nodecopy.calibration.sets`). The label of `predict` is in every set.
        """
        state = self._fitted().state
        return _assessment(state).sets.sets(_posterior(state, nodes).probabilities, coverage)

    def estimated_accuracy(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the share of nodes without a label that is predicted correctly, estimated.

        It comes with an interval that holds the true share with probability ``level``. A warning
        tells where classes have other shares of the labels than of the predictions.
        """
        state = self._fitted().state
        if self.class_prior == "estimate":
            for text in _assessment(state).share_warnings(state.classes):
                warnings.warn(text, stacklevel=2)
        return _assessment(state).accuracy(level)

    def suspect_labels(self) -> list[SuspectLabel]:
        """Return the given labels that predictions made without them contradict.

        The most suspect comes first; ``pandas.DataFrame(clf.suspect_labels())`` is a table.
        """
        state = self._fitted().state
        suspects, classes = _assessment(state).suspects(), state.classes
        columns = (
            suspects.nodes,
            classes[suspects.given],
            classes[suspects.suggested],
            suspects.probability,
        )
        return [SuspectLabel(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]

    def assessment(self) -> Assessment:
        """Return what held-out labels tell about the fit; the three methods above are made of it.

        On another graph: ``clf.assessment().sets.sets(clf.posterior_on(graph, X).probabilities)``.
        """
        return _assessment(self._fitted().state)

    def posterior_on(
        self, graph: Any, X: Any = None, *, numbers: NDArray[np.int64] | None = None
    ) -> Posterior:
        """Apply the fitted model to another graph: this one, grown or changed.

        Most methods remember something of the nodes they were fitted to, "paper" does not. Nodes
        with names are matched by name; others by position, new ones after those of the fit.

        Args:
            graph: see `nodecopy.data.convert.read_graph`.
            X: features [N, D], the columns as in `fit`.
            numbers: the number in the fit of each node, -1 for a new one [N]; None matches them.
        """
        state, nodes = self._fitted()
        given = read_features(graph, X, encoder=state.encoder)
        if numbers is None:
            numbers = numbers_by_name(given, nodes)
        graph, features = given.graph, given.features
        if features is None:
            features = _structural(state, graph, numbers)
        if features.shape[1] != state.num_features:
            raise ModelError(
                f"X has {features.shape[1]} features, but {type(self).__name__} is expecting "
                f"{state.num_features} features as input"
            )
        features = state.scaling.apply(graph, features)
        if numbers is not None:
            numbers = np.array(numbers, np.int64)
            new, known = np.flatnonzero(numbers < 0), len(_posterior(state).probabilities)
            numbers[new] = known + np.arange(len(new))
            graph, features = renumbered(graph, features, numbers, known + len(new))
        with torch_defaults(), opened(self.executor) as executor:
            at = Placement(memory=self.max_memory, executor=executor)
            posterior = predicted_by(state.model, graph, features, at)
        return posterior if numbers is None else posterior.take(numbers)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: arrays and settings only, no code.

        A part that such a file cannot hold, one of your own or a scikit-learn estimator, is an
        error that names it, and nothing is written.
        """
        state, arguments = self._fitted().state, self.get_params(deep=False)
        del arguments["executor"]  # belongs to the machine, not to the model
        write_fitted(path, state, arguments)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote, or that lies in a folder that `nodecopy fit` wrote."""
        state, arguments = read_fitted(path)
        try:
            classifier = cls(**arguments)
        except TypeError as error:
            raise FormatError(f"cannot read {path}: {error}") from error
        classifier.fit_ = Fit(state, None)
        return classifier

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels that the columns of probabilities stand for [K]."""
        return self._fitted().state.classes

    @property
    def n_features_in_(self) -> int:
        """D."""
        return self._fitted().state.num_features

    @property
    def model_(self) -> Fitted:
        """The fitted method; of a calibrated one a `nodecopy.calibration.FittedStack`."""
        return self._fitted().state.model

    @property
    def scaling_(self) -> Scaling:
        """How features are scaled."""
        return self._fitted().state.scaling

    @property
    def encoder_(self) -> ColumnEncoder | None:
        """How features were made of the columns of a table or DataFrame; None for a matrix."""
        return self._fitted().state.encoder

    @property
    def hubs_(self) -> NDArray[np.int64] | None:
        """The node of each column of `structural_features` [D]; None where features were given."""
        return self._fitted().state.hubs

    @property
    def nodes_(self) -> LabelledNodes:
        """The nodes that the model was fitted to; a model from a file does not have them."""
        return self._nodes("nodes_")

    @property
    def posterior_(self) -> Posterior:
        """Probabilities and uncertainty of every node, calibrated if the method is; read-only."""
        return _posterior(self._fitted().state)

    @property
    def held_out_(self) -> HeldOut | None:
        """What each component predicted for labels held out; None where none were."""
        held: HeldOut | None = getattr(self.model_, "held_out", None)
        return held if held is not None and len(held.nodes) else None

    @property
    def base_proba_(self) -> NDArray[np.floating]:
        """Predictions of the base of the first Bayesian GCN [N, K]; their argmax is ĉ."""
        return self._bayesian("base_probabilities")

    @property
    def graphs_(self) -> Sequence[RowGraph]:
        """The graphs of its members, drawn on demand; empty for a model from a file."""
        return self._bayesian("graphs")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that features may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether `fit` was called."""
        return hasattr(self, "fit_")

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted; a connection to a cluster is shared, not copied."""
        arguments = self.get_params(deep=False)
        for name in arguments.keys() - {"executor"}:
            arguments[name] = clone(arguments[name], safe=False)
        return type(self)(**arguments)

    def _check_arguments(self) -> NodeClassifier:
        """Return the method; refuse wrong arguments before anything is read."""
        check_executor(self.executor)
        most = self.max_memory
        if not (most is None or isinstance(most, np.integer) or fits(most, int)):
            raise ModelError(f"max_memory must be an integer of bytes, or None; got {shown(most)}")
        return method_of(self.method, self.calibrate, self.folds)

    def _fit(self, nodes: LabelledNodes) -> Self:
        method, task = self._check_arguments(), nodes.task(self.max_memory)
        method = with_class_prior(method, self.class_prior, nodes.labels.classes)
        with (
            torch_defaults(),
            opened(self.executor) as executor,
            progress_bar("fitting", self.progress) as progress,
        ):
            model = fitted_by(method, task, _seed(self.random_state), progress, executor)
        width = int(nodes.features.shape[1])
        parts = nodes.labels.classes, width, nodes.scaling, nodes.hubs, model, nodes.encoder
        state = FittedState(*parts, suggested=nodes.suggested if len(nodes.suggested) else None)
        self.fit_ = Fit(state, nodes)
        return self

    def _fitted(self) -> Fit:
        if not hasattr(self, "fit_"):
            raise _NotFittedError("this NodeCopyClassifier is not fitted yet; call fit first")
        return self.fit_

    def _nodes(self, asked: str) -> LabelledNodes:
        nodes = self._fitted().nodes
        if nodes is None:
            raise ModelError(
                f"{asked} needs the graph, which a model from a file does not hold: call fit first"
            )
        return nodes

    def _bayesian(self, attribute: str) -> Any:
        """Return an attribute of the first Bayesian GCN among the components."""
        for part in getattr(self.model_, "components", (self.model_,)):
            if hasattr(part, attribute):
                return getattr(part, attribute)
        raise AttributeError(f"there are no {attribute}: the model has no Bayesian GCN")


def _posterior(state: FittedState, nodes: ArrayLike | None = None) -> Posterior:
    """Return the posterior of every node, read-only, or of some."""
    posterior = posterior_of(state.model)
    if nodes is not None:
        return posterior.take(node_numbers(nodes, len(posterior.probabilities)))
    for array in vars(posterior).values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return posterior


def _assessment(state: FittedState) -> Assessment:
    validation = Validation.of(state.model)
    if validation is None:
        raise ModelError(
            "this needs known labels that were held out, and none were: fit with "
            "calibrate=True (--calibrate), and with two labels at least of some class"
        )
    return Assessment(validation, _posterior(state).probabilities, state.suggested)


def _structural(state: FittedState, graph: Graph, numbers: NDArray[np.int64] | None) -> Any:
    """Return `structural_features` of another graph, in the columns of the fit [N, D]."""
    if state.hubs is None:
        raise ModelError("X is missing: the model was fitted to features [N, D]")
    numbers = np.arange(graph.num_nodes) if numbers is None else numbers
    node_of = {int(number): node for node, number in enumerate(numbers)}
    return ties_to(graph, np.array([node_of.get(hub, -1) for hub in state.hubs.tolist()]))


def _seed(random_state: Any) -> int:
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    raise ModelError(
        "random_state must be an integer, None, a NumPy Generator or RandomState; got "
        f"{shown(random_state)}"
    )
