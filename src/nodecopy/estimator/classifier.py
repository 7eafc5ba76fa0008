"""NodeCopyClassifier: the whole method behind ``fit`` and ``predict``, by scikit-learn's rules."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.calibration import ClassShares, EstimatedAccuracy, FittedStack, HeldOut
from nodecopy.classifiers import Fitted, NodeClassifier
from nodecopy.data.structural import NO_FEATURES, structural_features, ties_to
from nodecopy.data.task import Task
from nodecopy.errors import ModelError, NotFittedError
from nodecopy.estimator.assessment import Assessment, SuspectLabel, Validation
from nodecopy.estimator.given import GivenNodes
from nodecopy.estimator.inputs import node_numbers, read_described, read_labelled
from nodecopy.estimator.method import PresetName, WeightsWord, applied_by, fitted_by, method_of
from nodecopy.estimator.parameters import Parameters
from nodecopy.estimator.progress import lines_on_stderr, progress_bar
from nodecopy.estimator.saved import FittedState, read_fitted, write_fitted
from nodecopy.estimator.scaling import Normalise, scaling_of
from nodecopy.estimator.size import Sizes, check_application, check_size
from nodecopy.executors import check_executor, opened
from nodecopy.graph import RowGraph
from nodecopy.graph_models import GraphModel
from nodecopy.nn.network import Network
from nodecopy.posterior import FittedBayesianGCN, OnlineSchedule, Posterior, posterior_of
from nodecopy.weights import TrainConfig, WeightPosterior, WeightSamples


class NodeCopyClassifier(Parameters):
    """Label every node of a graph from a few labels, with probabilities.

    Args:
        preset: the method: "best" (see `nodecopy.presets.best`), "fast" (its simplest part),
            "paper" (Algorithm 1 to the letter), or a node classifier of your own, such as
            ``replace(presets.best(), folds=3)`` or ``BayesianGCN()``.
        calibrate: whether known labels are held out in turn, to weigh the parts of a method and to
            make its probabilities as sure as they are right. None does so where the preset does:
            "best" and "fast" do, "paper" does not. True calibrates any method; False holds nothing
            out, and leaves weights and temperatures as they are before any label is seen.
        folds: parts of the labels, of which each is held out once; None is the preset's, 5.
        n_zeta: V, draws of ζ: copied graphs; of "best" and "paper", 10 by default.
        n_graphs: N_G, graphs for each ζ; a network is trained on every graph. This and what
            follows, up to ``predict_on``, are arguments of "paper"; None is the paper's way.
        n_weights: S, weight draws for each network.
        epsilon: ε of `NodeCopying`, used where ``graph_model`` is None.
        base: the classifier that predicts ĉ; None is a GCN.
        graph_model: None is ``NodeCopying(epsilon)``.
        weights: how weights are drawn: a weight posterior, or "dropout" or "point", as on the
            command line, for `MCDropout` and `PointEstimate`; None is MC dropout, or dropout off
            when online.
        network: the architecture; None is the paper's GCN.
        training: how networks are trained.
        schedule: "algorithm1", "online", or an `OnlineSchedule`, which counts its own epochs and
            graphs.
        predict_on: "observed" (the paper) or "sampled".
        normalise: "columns" brings each column of features to mean 0 and deviation 1, "rows" makes
            each row sum to one, False leaves them; "auto" takes columns where they are dense, and
            rows where they count or mark things. See `nodecopy.estimator.scaling.scaling_of`.
        random_state: a seed, None for a fresh one at each fit, or a NumPy generator.
        progress: show a bar while fitting; None shows one on a terminal.
        max_memory: bytes that a fit may take beside the graph and its features. It decides how much
            is computed at a time; a fit that needs more even so is refused before it begins. None
            refuses what needs more than half of the memory that this process may use.
        executor: where the parts of a fit are computed: None, in this process; the address of a
            Dask scheduler, "tcp://host:8786", a Dask ``Client``, or a
            `nodecopy.executors.DaskCluster`, on its workers with the same result (docs/cluster.md).
            It is no property of the model, and not saved.

    Attributes:
        classes_: the labels that the columns of probabilities stand for [K].
        model_: what was fitted; of a calibrated method a `nodecopy.calibration.FittedStack`, with
            its components and their weights.
        n_features_in_: D.
        hubs_: the nodes that each column of `structural_features` stands for [D]; None where
            features were given.
        scaling_: how features are scaled, then and ever after.

    >>> from nodecopy.data import planted_partition
    >>> data = planted_partition(200, 2, seed=0).dataset
    >>> y = np.where(np.arange(200) < 20, data.labels, -1)
    >>> clf = NodeCopyClassifier(random_state=0)
    >>> clf.fit(data.graph, data.features, y).predict([150, 151]).shape
    (2,)
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        preset: PresetName | NodeClassifier = "best",
        *,
        calibrate: bool | None = None,
        folds: int | None = None,
        n_zeta: int | None = None,
        n_graphs: int | None = None,
        n_weights: int | None = None,
        epsilon: float | NDArray[np.floating] | None = None,
        base: NodeClassifier | None = None,
        graph_model: GraphModel | None = None,
        weights: WeightPosterior | WeightsWord | None = None,
        network: Network | None = None,
        training: TrainConfig | None = None,
        schedule: Literal["algorithm1", "online"] | OnlineSchedule | None = None,
        predict_on: Literal["observed", "sampled"] | None = None,
        normalise: Normalise = "auto",
        random_state: int | np.random.Generator | None = None,
        progress: bool | None = None,
        max_memory: int | None = None,
        executor: object = None,
    ) -> None:
        self.preset = preset
        self.calibrate = calibrate
        self.folds = folds
        self.n_zeta = n_zeta
        self.n_graphs = n_graphs
        self.n_weights = n_weights
        self.epsilon = epsilon
        self.base = base
        self.graph_model = graph_model
        self.weights = weights
        self.network = network
        self.training = training
        self.schedule = schedule
        self.predict_on = predict_on
        self.normalise = normalise
        self.random_state = random_state
        self.progress = progress
        self.max_memory = max_memory
        self.executor = executor

    def fit(self, graph: Any, X: Any = None, y: Any = None, *, validation: ArrayLike = ()) -> Self:
        """Learn from the labelled nodes; forgets any earlier fit.

        Args:
            graph: see `nodecopy.data.convert.read_graph`.
            X: features [N, D], dense or sparse, a row per node; they are kept sparse where most are
                zero, and dense elsewhere, however they came. Nodes of a networkx graph are in the
                order of ``list(graph)``. None takes those of a PyTorch Geometric Data, or, where
                there are none, `structural_features` of the graph, with a warning.
            y: one label per node [N] of any type; -1, None, NaN or '' where unknown; or a mapping
                {node: label}. From a PyTorch Geometric Data if None, hidden outside its
                ``train_mask``, which it must have; or from a dataset.
            validation: labelled nodes to hold out for early stopping, where ``training`` or the
                base uses it: their numbers, or a mask [N]. They are not trained on.

        Rows of a pandas object go by its index: 0, 1, 2, … as pandas makes it is the order of the
        nodes, else it must name them (by number, or as a networkx graph or the ids of tables do); a
        Series may then leave nodes out, whose labels are unknown.
        """
        method_of(self.get_params())  # refuses what is wrong with them before anything is read
        check_executor(self.executor)
        given, labels = read_labelled(graph, X, y)
        features, hubs = given.features, None
        if features is None:
            warnings.warn(NO_FEATURES, stacklevel=2)
            features, hubs = structural_features(given.graph)
        scaling = scaling_of(features, self.normalise)
        held = node_numbers(validation, given.graph.num_nodes, "validation")
        return self._fit(
            GivenNodes(given.graph, features, hubs, scaling, labels, held, given.names)
        )

    def add_labels(self, labels: Mapping[int, Any]) -> Self:
        """Fit again with more labels; graph and features are not read again.

        The result is that of a new `fit` with all labels. A node that has a label gets the new one;
        None, or anything else that means unknown, takes its label away.

        Args:
            labels: by node number, from 0 in the order of the graph's nodes.

        >>> from nodecopy.data import planted_partition
        >>> data = planted_partition(200, 2, seed=0).dataset
        >>> y = np.where(np.arange(200) < 4, data.labels, -1)
        >>> clf = NodeCopyClassifier(random_state=0).fit(data.graph, data.features, y)
        >>> for _ in range(2):  # whoever knows the labels is asked for two at a time
        ...     asked = clf.suggest(2)
        ...     clf = clf.add_labels({node: data.labels[node] for node in asked})
        >>> len(clf.held_out_.nodes)
        8
        """
        return self._fit(self._given("add_labels").with_labels(labels))

    def suggest(self, n: int = 1, *, exclude: ArrayLike = ()) -> NDArray[np.int64]:
        """Return the n nodes that are most worth labelling next, the best first.

        They are like many nodes whose label is in doubt, and unlike each other:
        `nodecopy.acquisition.next_labels`. Fewer come back where fewer have no label.

        Args:
            n: how many.
            exclude: nodes that are not to be suggested: their numbers, or a mask [N].
        """
        given, state = self._given("suggest"), self.random_state
        seed = int(state) if isinstance(state, (int, np.integer)) else 0
        return given.suggest(self.posterior_, n, exclude, seed)

    def predict(self, nodes: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable label of every node, or of some."""
        best = self.predict_proba(nodes).argmax(1)
        return self.classes_[best]

    def predict_proba(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return class probabilities [n, K] of every node, or of some; columns as ``classes_``."""
        return self.uncertainty(nodes).probabilities

    def uncertainty(self, nodes: ArrayLike | None = None) -> Posterior:
        """Return probabilities, their entropies, and what these are made of."""
        self._check_fitted()
        if nodes is None:
            return self.posterior_
        picked = node_numbers(nodes, len(self.posterior_.probabilities))
        return self.posterior_.take(picked)

    def to_frame(self) -> Any:
        """Return what is predicted for every node as a pandas DataFrame, by the name of the node.

        Nodes have the names of a networkx graph, or the ids of tables, and else their numbers,
        as in a model that was loaded from a file. The columns: predicted, confidence, entropy, and
        ``p_…`` for every class.
        """
        posterior, given = self.posterior_, getattr(self, "_fitted_to", None)
        try:
            import pandas as pd
        except ImportError as error:
            raise ModelError("to_frame needs pandas: pip install pandas") from error
        p = posterior.probabilities
        columns = {
            "predicted": self.classes_[p.argmax(1)],
            "confidence": p.max(1),
            "entropy": posterior.entropy,
            **{f"p_{value}": p[:, k] for k, value in enumerate(self.classes_)},
        }
        names = range(len(p)) if given is None or given.names is None else list(given.names)
        return pd.DataFrame(columns, index=pd.Index(names, name="node"))

    def predict_set(
        self, coverage: float = 0.9, nodes: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Return which classes the prediction set of every node, or of some, holds [n, K].

        Columns are as ``classes_``; ``clf.classes_[sets[i]]`` are the labels in set i, among which
        the true one is as often as was asked for, over all nodes (what is promised, and what is
        not: `nodecopy.calibration.sets`). The label of `predict` is in every set.
        """
        return self.assessment().sets.sets(self.predict_proba(nodes), coverage)

    def estimated_accuracy(self, level: float = 0.95) -> EstimatedAccuracy:
        """Return the share of nodes without a label that is predicted right, from labels alone.

        It comes with an interval that holds the truth with probability ``level``.
        """
        return self.assessment().accuracy(level)

    def suspect_labels(self) -> list[SuspectLabel]:
        """Return the given labels that predictions made without them contradict.

        The most suspect comes first; ``pandas.DataFrame(clf.suspect_labels())`` is a table.
        """
        found, classes = self.assessment().suspects(), self.classes_
        columns = (found.nodes, classes[found.given], classes[found.suggested], found.probability)
        return [SuspectLabel(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]

    def class_shares(self) -> ClassShares:
        """Return how frequent classes are among the labels, and among all nodes, estimated.

        ``clf.class_shares().apply(clf.predict_proba())`` are probabilities for these shares, which
        help on balance where labels are even and classes are not, but not on every graph. With
        fewer than ten labels a class, at the median, they are those of the labels.
        """
        return self.assessment().shares()

    def assessment(self) -> Assessment:
        """Return what labels that were held out tell about the fit; the four above are made of it.

        On another graph: ``clf.assessment().sets.sets(clf.posterior_on(graph, X).probabilities)``.
        """
        held = Validation.of(self._check_fitted())
        if held is None:
            raise ModelError(
                "this needs known labels that were held out, and none were: fit with "
                "calibrate=True (--calibrate), and with two labels at least of some class"
            )
        return Assessment(held, self.posterior_.probabilities)

    @property
    def posterior_(self) -> Posterior:
        """Probabilities and uncertainty of every node, calibrated where the method is."""
        return posterior_of(self._check_fitted())

    @property
    def held_out_(self) -> HeldOut | None:
        """What each component predicted for labels held out; None where none were."""
        model = self._check_fitted()
        held = model.held_out if isinstance(model, FittedStack) else None
        return held if held is not None and len(held.nodes) else None

    @property
    def base_proba_(self) -> NDArray[np.floating]:
        """What the base classifier of the (first) Bayesian GCN gave [N, K]; its argmax is ĉ."""
        return self._bayesian("base_proba_").base_probabilities

    @property
    def samples_(self) -> WeightSamples:
        """The weights of the members of the (first) Bayesian GCN."""
        return self._bayesian("samples_").samples

    @property
    def graphs_(self) -> Sequence[RowGraph]:
        """The graphs that they were fitted to, drawn on demand; none of a model from a file."""
        return self._bayesian("graphs_").graphs

    def score(self, nodes: ArrayLike, y_true: ArrayLike) -> float:
        """Return the share of ``nodes`` whose predicted label is that of ``y_true`` [n]."""
        predicted, truth = self.predict(nodes), np.asarray(y_true)
        if truth.ndim != 1:
            raise ModelError(f"y_true must be one label for each node; got shape {[*truth.shape]}")
        if predicted.shape != truth.shape:
            raise ModelError(f"{len(predicted)} nodes but {len(truth)} true labels")
        return float(np.mean(predicted == truth))

    def posterior_on(self, graph: Any, X: Any = None) -> Posterior:
        """Apply the fitted model to another graph: this one, grown or changed.

        Nodes that were there when it was fitted keep their numbers; new ones come after them. Most
        methods remember something of the nodes they know, "paper" does not.
        """
        self._check_fitted()
        given = read_described(graph, X)
        features = given.features
        if features is None:
            if self.hubs_ is None:
                raise ModelError("X is missing: the model was fitted to features [N, D]")
            here = self.hubs_ < given.graph.num_nodes
            features = ties_to(given.graph, np.where(here, self.hubs_, -1))
        if features.shape[1] != self.n_features_in_:
            raise ModelError(
                f"fitted to {self.n_features_in_} features per node; got {features.shape[1]}"
            )
        sizes = Sizes.of(given.graph, features, len(self.classes_))
        memory = check_application(self.model_, sizes, self.max_memory)
        features = self.scaling_.apply(given.graph, features)
        with opened(self.executor, lines_on_stderr(self.progress)) as executor:
            return applied_by(self.model_, given.graph, features, executor, memory)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: arrays and settings only, no code.

        A part that such a file cannot hold, one of your own or a scikit-learn estimator, is an
        error that names it, and nothing is written.
        """
        model, arguments = self._check_fitted(), self.get_params(deep=False)
        del arguments["executor"]  # where it was computed is no property of a model
        inputs = self.classes_, self.n_features_in_, self.scaling_, self.hubs_
        hints = get_type_hints(type(self).__init__)
        write_fitted(path, FittedState(*inputs, model), arguments, hints)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote, or that lies in a folder that `nodecopy fit` wrote."""
        state, arguments = read_fitted(path, get_type_hints(cls.__init__))
        return cls(**arguments)._take(state)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this is."""
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether `fit` was called."""
        return hasattr(self, "model_")

    def _fit(self, given: GivenNodes) -> Self:
        """Fit to what was read and checked."""
        method = method_of(self.get_params())
        features, encoded = given.scaled(), given.labels
        train = np.setdiff1d(np.flatnonzero(encoded.numbers >= 0), given.held)
        task = Task.of(
            given.graph,
            features,
            encoded.numbers,
            train,
            given.held,
            num_classes=len(encoded.classes),
        )
        sizes = Sizes.of(given.graph, features, len(encoded.classes), len(train))
        task = replace(task, memory=check_size(method, sizes, self.max_memory))
        with (
            opened(self.executor, lines_on_stderr(self.progress)) as executor,
            progress_bar("fitting", self.progress) as progress,
        ):
            fitted = fitted_by(method, task, self._seed(), progress, executor)
        state = FittedState(encoded.classes, sizes.features, given.scaling, given.hubs, fitted)
        self._fitted_to: GivenNodes | None = given
        return self._take(state)

    def _given(self, asked: str) -> GivenNodes:
        self._check_fitted()
        given = getattr(self, "_fitted_to", None)
        if given is None:
            raise ModelError(
                f"{asked} needs the graph, which a model from a file does not hold: call fit first"
            )
        return given

    def _take(self, state: FittedState) -> Self:
        self.classes_ = state.classes
        self.n_features_in_ = state.num_features
        self.scaling_ = state.scaling
        self.hubs_ = state.hubs
        self.model_ = state.model
        return self

    def _bayesian(self, attribute: str) -> FittedBayesianGCN:
        """Return the first Bayesian GCN that was fitted."""
        model = self._check_fitted()
        for part in model.components if isinstance(model, FittedStack) else (model,):
            if isinstance(part, FittedBayesianGCN):
                return part
        raise AttributeError(f"there is no {attribute}: the model has no Bayesian GCN")

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**62))
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        if hasattr(self.random_state, "integers"):
            return int(self.random_state.integers(2**62))
        kind = type(self.random_state).__name__
        raise ModelError(f"random_state must be an integer, None or a NumPy Generator; got {kind}")

    def _check_fitted(self) -> Fitted:
        if not hasattr(self, "model_"):
            raise NotFittedError("this NodeCopyClassifier is not fitted yet; call fit first")
        return self.model_
