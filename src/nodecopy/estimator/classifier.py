"""NodeCopyClassifier: the whole method behind ``fit`` and ``predict``, by scikit-learn's rules."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path
from typing import Any, Literal, Self, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.classifiers import NodeClassifier
from nodecopy.data.dataset import sparse_where_cheaper
from nodecopy.data.structural import NO_FEATURES, structural_features, ties_to
from nodecopy.data.task import Task
from nodecopy.errors import FormatError, ModelError
from nodecopy.estimator.inputs import node_numbers, read_described, read_labelled
from nodecopy.estimator.labels import encode_labels
from nodecopy.estimator.progress import progress_bar
from nodecopy.estimator.saved import (
    check_counts,
    check_inputs,
    check_posterior,
    check_samples,
    saved_classes,
)
from nodecopy.estimator.scaling import Normalise, Scaling, scaling_of
from nodecopy.estimator.size import check_size
from nodecopy.estimator.words import WeightsWord, schedule_of, weights_of
from nodecopy.graph_models import GraphModel, NodeCopying
from nodecopy.nn.gcn import GCN
from nodecopy.nn.network import Network
from nodecopy.persistence import (
    SavedModel,
    check_types,
    decode,
    encode,
    read_model,
    write_model,
)
from nodecopy.posterior import BayesianGCN, OnlineSchedule, Posterior
from nodecopy.weights import TrainConfig, WeightPosterior, WeightSamples

# What `load` looks for in a folder.
MODEL_FILE = "model.safetensors"
_POSTERIOR = ("probabilities", "expected_entropy", "graph_information", "weight_information")


class NodeCopyClassifier:
    """Label every node of a graph from a few labels, with probabilities, by node copying.

    Args:
        n_zeta: V, draws of ζ.
        n_graphs: N_G, graphs for each ζ; a network is trained on every graph.
        n_weights: S, weight draws for each network.
        epsilon: ε of `NodeCopying`, used where ``graph_model`` is None.
        base: the classifier that predicts ĉ; None is a GCN.
        graph_model: None is ``NodeCopying(epsilon)``.
        weights: how weights are drawn: a weight posterior, or "dropout" or "point", as on the
            command line, for `MCDropout` and `PointEstimate`; None is MC dropout, or dropout off
            when online.
        network: the architecture; None is the paper's GCN.
        training: how networks are trained; None is the paper's way.
        schedule: "algorithm1", "online", or an `OnlineSchedule`, which counts its own epochs and
            graphs.
        predict_on: "observed" (the paper) or "sampled".
        normalise: "columns" brings each column of features to mean 0 and deviation 1, "rows" makes
            each row sum to one, False leaves them; "auto" takes columns where they are dense, and
            rows where they count or mark things. See `nodecopy.estimator.scaling.scaling_of`.
        random_state: a seed, None for a fresh one at each fit, or a NumPy generator.
        progress: show a bar while fitting; None shows one on a terminal.
        max_memory: bytes that weights and probabilities may take; a fit that needs more is refused
            before it begins. None is half of what this process may use.

    Attributes:
        classes_: the labels that the columns of probabilities stand for [K].
        posterior_: probabilities and uncertainty of every node.
        base_proba_: what the base classifier gave [N, K].
        samples_: the weights of the fitted networks.
        graphs_: the graphs they were trained on, drawn on demand; not saved.
        n_features_in_: D.
        hubs_: the nodes that each column of `structural_features` stands for [D]; None where
            features were given.
        scaling_: how features are scaled, then and ever after.

    >>> from nodecopy.data import planted_partition
    >>> data = planted_partition(200, 2, seed=0).dataset
    >>> y = np.where(np.arange(200) < 20, data.labels, -1)
    >>> clf = NodeCopyClassifier(n_zeta=2, training=TrainConfig(epochs=30), random_state=0)
    >>> clf.fit(data.graph, data.features, y).predict([150, 151]).shape
    (2,)
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        n_zeta: int = 10,
        n_graphs: int = 1,
        n_weights: int = 10,
        epsilon: float | NDArray[np.floating] = 0.01,
        *,
        base: NodeClassifier | None = None,
        graph_model: GraphModel | None = None,
        weights: WeightPosterior | WeightsWord | None = None,
        network: Network | None = None,
        training: TrainConfig | None = None,
        schedule: Literal["algorithm1", "online"] | OnlineSchedule = "algorithm1",
        predict_on: Literal["observed", "sampled"] = "observed",
        normalise: Normalise = "auto",
        random_state: int | np.random.Generator | None = None,
        progress: bool | None = None,
        max_memory: int | None = None,
    ) -> None:
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

    def fit(self, graph: Any, X: Any = None, y: Any = None, *, validation: ArrayLike = ()) -> Self:
        """Learn from the labelled nodes; forgets any earlier fit.

        Args:
            graph: see `nodecopy.data.convert.read_graph`.
            X: features [N, D], dense or sparse, a row per node; dense ones that are mostly zero are
                kept sparse, which gives the same, faster. Nodes of a networkx graph are in the
                order of ``list(graph)``. None takes those of a PyTorch Geometric Data, or, where
                there are none, `structural_features` of the graph, with a warning.
            y: one label per node [N] of any type; -1, None, NaN or '' where unknown. From a PyTorch
                Geometric Data if None, hidden outside its ``train_mask``, which it must have.
            validation: labelled nodes to hold out for early stopping, where ``training`` or the
                base uses it: their numbers, or a mask [N]. They are not trained on.

        Rows of a pandas object go by its index: 0, 1, 2, … as pandas makes it is the order of the
        nodes, else it must name them (by number, or as a networkx graph does); a Series may then
        leave nodes out, whose labels are unknown.
        """
        model = self._model()
        given, labels = read_labelled(graph, X, y)
        features, hubs = given.features, None
        if features is None:
            warnings.warn(NO_FEATURES, stacklevel=2)
            features, hubs = structural_features(given.graph)
        scaling = scaling_of(features, self.normalise)
        features = sparse_where_cheaper(scaling.apply(given.graph, features))
        encoded = encode_labels(labels)
        held = node_numbers(validation, given.graph.num_nodes, "validation")
        train = np.setdiff1d(np.flatnonzero(encoded.numbers >= 0), held)
        task = Task.of(
            given.graph, features, encoded.numbers, train, held, num_classes=len(encoded.classes)
        )
        model = self._model()
        members = model.n_zeta * model.n_graphs if model.schedule == "algorithm1" else 1
        sizes = features.shape[0], features.shape[1], len(encoded.classes)
        check_size(model.network, members, sizes, self.max_memory)
        with progress_bar("fitting", self.progress) as progress:
            fitted = model.fit(task, self._seed(), progress)
        self.classes_ = encoded.classes
        self.posterior_ = fitted.posterior
        self.base_proba_ = np.asarray(fitted.base_probabilities)
        self.samples_ = fitted.samples
        self.graphs_ = fitted.graphs
        self.n_features_in_ = int(features.shape[1])
        self.scaling_ = scaling
        self.hubs_ = hubs
        return self

    def predict(self, nodes: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable label of every node, or of some."""
        best = self.predict_proba(nodes).argmax(1)
        return self.classes_[best]

    def predict_proba(self, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return class probabilities [n, K] of every node, or of some; columns as ``classes_``."""
        return self.uncertainty(nodes).probabilities

    def uncertainty(self, nodes: ArrayLike | None = None) -> Posterior:
        """Return probabilities, entropies and what the graph and the weights contribute to them."""
        self._check_fitted()
        if nodes is None:
            return self.posterior_
        picked = node_numbers(nodes, len(self.posterior_.probabilities))
        return self.posterior_.take(picked)

    def score(self, nodes: ArrayLike, y_true: ArrayLike) -> float:
        """Return the share of ``nodes`` whose predicted label is that of ``y_true`` [n]."""
        predicted, truth = self.predict(nodes), np.asarray(y_true)
        if predicted.shape != truth.shape:
            raise ModelError(f"{len(predicted)} nodes but {len(truth)} true labels")
        return float(np.mean(predicted == truth))

    def posterior_on(self, graph: Any, X: Any = None) -> Posterior:
        """Apply the trained networks to another graph, e.g. this one with new nodes."""
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
        sizes = features.shape[0], features.shape[1], len(self.classes_)
        check_size(self.samples_.network, len(self.samples_), sizes, self.max_memory)
        features = sparse_where_cheaper(self.scaling_.apply(given.graph, features))
        return self._model().average(self.samples_, given.graph, features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: arrays and settings only, no code.

        A part that such a file cannot hold, one of your own or a scikit-learn estimator, is an
        error that names it, and nothing is written.
        """
        self._check_fitted()
        if self.classes_.dtype.kind not in "biufU":
            raise ModelError(f"classes of type {self.classes_.dtype} cannot be saved")
        settings = {
            "parameters": {name: self._encoded(name) for name in self.get_params()},
            "model": encode(self._model(), "the model"),
            "classes": {"values": self.classes_.tolist(), "dtype": self.classes_.dtype.str},
            "features": self.n_features_in_,
            "scaled_rows": self.scaling_.rows,
            "members": list(self.samples_.seeds),
            "keys": list(self.samples_.keys),
            "stored": self.samples_.stored,
            "draws": [self.posterior_.num_members, self.posterior_.num_draws],
        }
        arrays: dict[str, NDArray[Any]] = {"base_proba": self.base_proba_}
        arrays |= {f"posterior.{name}": getattr(self.posterior_, name) for name in _POSTERIOR}
        optional = {
            "hubs": self.hubs_,
            "scaling.shift": self.scaling_.shift,
            "scaling.scale": self.scaling_.scale,
        }
        arrays |= {name: array for name, array in optional.items() if array is not None}
        arrays |= {f"weights.{n}": w.numpy() for n, w in self.samples_.weights.items()}
        write_model(path, SavedModel(settings, arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote, or that lies in a folder that `nodecopy fit` wrote."""
        import torch

        file = model_file(path)
        settings, arrays = read_model(file)
        try:
            parameters = settings["parameters"]
            arguments = {name: decode(value) for name, value in parameters.items()}
            check_types("the model", arguments, get_type_hints(cls.__init__))
            check_counts(arguments)
            loaded = cls(**arguments)
            loaded.classes_ = saved_classes(settings["classes"])
            loaded.n_features_in_ = settings["features"]
            columns = arrays.get("scaling.shift"), arrays.get("scaling.scale")
            loaded.scaling_ = Scaling(settings["scaled_rows"], *columns)
            loaded.base_proba_ = arrays["base_proba"]
            loaded.hubs_ = arrays.get("hubs")
            parts = {name: arrays[f"posterior.{name}"] for name in _POSTERIOR}
            members, draws = settings["draws"]
            loaded.posterior_ = Posterior(**parts, num_members=members, num_draws=draws)
            weights = {
                name.removeprefix("weights."): torch.as_tensor(array)
                for name, array in arrays.items()
                if name.startswith("weights.")
            }
            network = decode(settings["model"]).network
            loaded.samples_ = WeightSamples(
                network,
                weights,
                tuple(settings["members"]),
                tuple(settings["keys"]),
                settings["stored"],
            )
            check_inputs(loaded.scaling_, loaded.hubs_, loaded.n_features_in_)
            check_posterior(loaded.posterior_, loaded.base_proba_, len(loaded.classes_))
            check_samples(loaded.samples_, loaded.n_features_in_, len(loaded.classes_))
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path} lacks a part of the model: {error}") from error
        except (ValueError, OverflowError, RecursionError, MemoryError) as error:
            raise FormatError(f"{path} holds no model: {error}") from error
        return loaded

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {name: getattr(self, name) for name in _parameters(type(self))}

    def set_params(self, **parameters: Any) -> Self:
        """Set constructor arguments by name."""
        accepted = _parameters(type(self))
        for name, value in parameters.items():
            if name not in accepted:
                raise ModelError(
                    f"unknown parameter {name!r}; accepted: {', '.join(sorted(accepted))}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the arguments that differ from their defaults."""
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(_parameters(type(self))[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

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
        return hasattr(self, "posterior_")

    def _encoded(self, name: str) -> Any:
        """Return an argument as a file can hold it, and as `load` reads it back."""
        try:
            encoded = encode(getattr(self, name), name)
            check_types("the model", {name: decode(encoded)}, get_type_hints(type(self).__init__))
        except FormatError as error:
            raise ModelError(f"{name} cannot be saved: {error}") from error
        except ModelError as error:
            # The trained networks predict without these two.
            spared = f"; to save without it, set_params({name}=None)"
            raise ModelError(
                f"{error}{spared if name in ('base', 'graph_model') else ''}"
            ) from error
        return encoded

    def _model(self) -> BayesianGCN:
        schedule = schedule_of(self.schedule)
        return BayesianGCN(
            base=self.base,
            graph_model=NodeCopying(self.epsilon) if self.graph_model is None else self.graph_model,
            weights=weights_of(self.weights, self.training, schedule),
            n_zeta=self.n_zeta,
            n_graphs=self.n_graphs,
            n_weights=self.n_weights,
            network=GCN() if self.network is None else self.network,
            schedule=schedule,
            predict_on=self.predict_on,
        )

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**62))
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        if hasattr(self.random_state, "integers"):
            return int(self.random_state.integers(2**62))
        kind = type(self.random_state).__name__
        raise ModelError(f"random_state must be an integer, None or a NumPy Generator; got {kind}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "posterior_"):
            raise ModelError("this NodeCopyClassifier is not fitted yet; call fit first")


def model_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of a model, given it or its folder."""
    folder = Path(path)
    if not folder.is_dir():
        return folder
    if not (folder / MODEL_FILE).exists() and (folder / "model" / MODEL_FILE).exists():
        raise FormatError(f"the model is in the folder {folder / 'model'}, not in {folder}")
    return folder / MODEL_FILE


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(kind).parameters
    return {name: parameter for name, parameter in parameters.items() if name != "self"}
