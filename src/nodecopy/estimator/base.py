"""What the estimators of all kinds of target share: a graph in, one value out, questions to it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
import sklearn.exceptions
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from nodecopy.classifiers import Fitted, NodeClassifier
from nodecopy.core.errors import FormatError, ModelError, NotFittedError, shown
from nodecopy.core.executors import check_executor, opened
from nodecopy.core.machine import torch_defaults
from nodecopy.core.progress import Show, progress_bar
from nodecopy.estimator.growth import Grown, grow, read_new
from nodecopy.estimator.method import MethodName, fitted_by, method_of, predict_another
from nodecopy.features.scaling import Normalise
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.read.objects import read_problem
from nodecopy.result import SUSPECTS, Result, incomplete_model
from nodecopy.stack.numbers import StackedRegressor
from nodecopy.trust.missing_edges import SHARE, MissingEdge
from nodecopy.trust.next_labels import draw_nodes, suggest_nodes
from nodecopy.trust.suspect_edges import SuspectEdge

if TYPE_CHECKING:
    from nodecopy.report.page import Report

# The result of a kind of target.
Answer = TypeVar("Answer", bound=Result)


class _NotFittedError(NotFittedError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """Also scikit-learn's error of that name."""


class NodeCopyEstimator(BaseEstimator, Generic[Answer]):  # type: ignore[misc]
    """A method behind ``fit`` and ``predict``; a subclass for each kind of target.

    A subclass has ``predict`` and `_result_type`, and may have further arguments. All that a fit
    gives is one value, ``result_``, and the methods below are made of it. It is replaced at once:
    predictions made while another thread fits again are those of one of the two fits.
    """

    result_: Answer
    _result_type: type[Answer]

    def __init__(
        self,
        method: MethodName | NodeClassifier | StackedRegressor = "best",
        *,
        calibrate: bool | None = None,
        folds: int | None = None,
        normalise: Normalise = "auto",
        text_model: Any = "auto",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        progress: Show = None,
        executor: object = None,
    ) -> None:
        self.method = method
        self.calibrate = calibrate
        self.folds = folds
        self.normalise = normalise
        self.text_model = text_model
        self.random_state = random_state
        self.progress = progress
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
            graph: see `nodecopy.read.graphs.read_graph`.
            X: features [N, D], dense or sparse, a row per node; stored sparse if less than a
                quarter of them are non-zero, and dense otherwise. Columns of a pandas or polars
                DataFrame may be numbers with gaps, booleans, dates, categories and text
                (`nodecopy.features.column_encoder`). Nodes of a networkx graph are in
                the order of ``list(graph)``. None takes those of a PyTorch Geometric Data or
                the attributes of networkx nodes, or, where there are none, `structural_features` of
                the graph, with a warning. By node type, {node_type: X}: `nodecopy.read.hetero`;
                predictions are then of the type with labels, in the order of its rows.
            y: the label of each node [N], see the class; None, NaN, '' or masked where unknown,
                and -1 where labels are classes; or a mapping {node: label}; or the name of the
                column of X, or of the attribute of networkx nodes, that has them: it is then not a
                feature, and neither are copies of a column of numbers. From a PyTorch Geometric
                Data if None, hidden outside its ``train_mask``, which it must have; or from a
                dataset.
            validation: labelled nodes to hold out for early stopping, where the method uses it:
                their names or numbers, or a mask [N]. They are not trained on.
            suggested: labelled nodes that `suggest` chose, as above. They are harder than others;
                sets, intervals and the estimated quality rest on the other labels.

        Nodes go in and come out by their names, where there are names: those of a networkx graph,
        the ids of tables, or the strings of the index of X; else by their numbers. Where no name is
        an integer, numbers are accepted, too. Rows of a pandas object go by its index: 0, 1, 2, …
        as pandas makes it is the order of the nodes, else it must name them (by number, or as a
        networkx graph or the ids of tables do); a Series may then leave nodes out, whose labels are
        unknown.
        """
        self._check_arguments()
        if y is None and X is not None and np.ndim(X) == 1:
            raise ModelError(
                "fit takes a graph, X [N, D] and y; X is a single column. cross_val_score and "
                "searches of scikit-learn cannot be used, as they slice rows and a graph must stay "
                "whole: held_out_ and estimated_accuracy() are cross-validated over labelled nodes"
            )
        labelled = self._needs_labels(graph, y)
        target = self._result_type.target
        y = y if labelled else None
        problem = read_problem(graph, X, y, validation, suggested, labelled=labelled, target=target)
        return self._fit(self._prepared(problem))

    def add_labels(self, labels: Mapping[Any, Any], *, suggested: ArrayLike = ()) -> Self:
        """Fit again with more labels; graph and features are not read again.

        The result is that of a new `fit` with all labels. A node that has a label gets the new one;
        None, or another unknown label, removes its label.

        Args:
            labels: by node: its name where there are names, else its number, from 0 in the order of
                the graph's nodes.
            suggested: those of them that `suggest` chose, see `fit`; not those it drew at random.

        >>> from nodecopy import NodeCopyClassifier, planted_partition
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
        return self._fit(self._fitted().nodes("add_labels").relabelled(labels, suggested))

    def suggest(
        self,
        n: int = 1,
        graph: Any = None,
        X: Any = None,
        *,
        exclude: ArrayLike = (),
        random: bool = False,
    ) -> NDArray[Any]:
        """Return the n nodes that are most worth labelling next, the best first.

        They are similar to many nodes whose label is uncertain, and dissimilar to each other:
        `nodecopy.trust.next_labels.next_labels`. Fewer come back where fewer have no label.

        Args:
            n: how many.
            graph: where no node has a label yet, the graph, as in `fit`; None is that of the fit.
            X: its features. Of several node types, {node_type: X}, the first is to be labelled, or
                the one that has ``y`` in a HeteroData.
            exclude: nodes that are not to be suggested: their names or numbers, or a mask [N].
            random: draw the nodes at random instead: the estimated accuracy rests on such labels.

        >>> from nodecopy import NodeCopyClassifier, planted_partition
        >>> data = planted_partition(200, 2, seed=0)
        >>> NodeCopyClassifier(random_state=0).suggest(3, data.graph, data.features).shape
        (3,)
        """
        state, posterior = self.random_state, None
        seed = int(state) if isinstance(state, (int, np.integer)) else 0
        if graph is None:
            given, posterior = self._fitted().nodes("suggest"), self._fitted().posterior
        else:
            given = self._prepared(read_problem(graph, X, labelled=False))
        if random:
            return given.ids[draw_nodes(given, n, seed, exclude)]
        return given.ids[suggest_nodes(given, posterior, n, seed, exclude).nodes]

    def to_frame(self) -> Any:
        """Return the predictions of every node as a pandas DataFrame, by the name of the node.

        Nodes have the names of a networkx graph or DataFrame, or the ids of tables, and else their
        numbers. The columns are those of predictions.csv: known (None where it is not), predicted,
        and what the kind of target adds. Of classes these are confidence, set_90 (the labels in
        the 90 % set, the most probable first; where labels were held out), novelty (not in a model
        from a file), entropy, mutual_information, and ``p_…`` for every class.
        """
        return self._fitted().predictions.frame()

    def to_networkx(self) -> Any:
        """Return the graph with the predictions as attributes of its nodes, for networkx.

        Attributes are the columns of predictions.csv, classes by their names; one that is missing,
        such as the known label of most nodes, is not set. Edges have their weight and relation: of
        several relations it is a MultiGraph with a key for each, and directed if any of them is.
        It needs the graph, which a model from a file does not hold.
        """
        return self._fitted().to_networkx()

    def suspect_labels(self) -> list[Any]:
        """Return the known labels that predictions made without them contradict.

        The most suspect comes first; ``pandas.DataFrame(clf.suspect_labels())`` is a table.
        """
        result = self._fitted()
        nodes = result.given.ids[result.suspect_labels.nodes]
        return _rows(result.suspect_type, nodes, *result.suspect_values())

    def suspect_edges(self, n: int = SUSPECTS) -> list[SuspectEdge]:
        """Return the n edges that look most like pairs of random nodes, the most suspect first.

        Fewer come back where fewer are more like random pairs than like edges of this graph
        (`nodecopy.trust.suspect_edges`). It needs the graph, which a model from a file does not
        hold. ``pandas.DataFrame(clf.suspect_edges())`` is a table.
        """
        result = self._fitted()
        suspects = result.suspect_edges(n)
        source, target = (result.given.ids[ends] for ends in suspects.nodes.T)
        return _rows(SuspectEdge, source, target, suspects.surprise)

    def missing_edges(self, n: int = SUSPECTS, *, share: float = SHARE) -> list[MissingEdge]:
        """Return the n pairs of nodes that most probably lack an edge, the most probable first.

        From classes, features, positions and shared neighbours of the two ends
        (`nodecopy.trust.missing_edges`). It needs the graph, which a model from a file does not
        hold. ``pandas.DataFrame(clf.missing_edges())`` is a table.

        Args:
            n: how many.
            share: of the edges that are missing, which probabilities depend on.
        """
        result = self._fitted()
        missing = result.missing_edges(n, share)
        source, target = (result.given.ids[ends] for ends in missing.nodes.T)
        return _rows(MissingEdge, source, target, missing.relation, missing.probability)

    def edge_probability(self, pairs: ArrayLike) -> NDArray[np.float64]:
        """Return how probable an edge between two nodes is, for pairs of nodes [n, 2] -> [n].

        That is, were it not known whether there is one: every pair is scored by the graph without a
        tenth of its edges, its own among them. Over all pairs of types that are linked, the
        probabilities add up to the number of edges (`nodecopy.trust.edge_model`).
        """
        return self._fitted().edge_probability(pairs)

    def predict_on(
        self, graph: Any, X: Any = None, *, numbers: NDArray[np.int64] | None = None
    ) -> Any:
        """Apply the fitted model to another graph: this one, grown or changed.

        Most methods remember something of the nodes they were fitted to, "paper" does not. Nodes
        with names are matched by name; others by position, new ones after those of the fit.

        Args:
            graph: see `nodecopy.read.graphs.read_graph`.
            X: features [N, D], the columns as in `fit`.
            numbers: the number in the fit of each node, -1 for a new one [N]; None matches them;
                -1 alone is for a graph of other nodes.

        Where no node is of the fit, components that remember nodes are left out, and a warning says
        what accuracy held-out labels let expect (``clf.result_.elsewhere(posterior)``).

        Of several types of nodes, predictions cover the type that has labels; nodes without names
        are matched by their place among their type. What comes back is as `posterior_`; prediction
        sets of other nodes are ``clf.result_.sets(0.9, posterior.probabilities)``.
        """
        result = self._fitted()
        posterior, elsewhere = predict_another(
            result,
            graph,
            X,
            numbers,
            self.executor,
            text_model=self.text_model,
            show=self.progress,
        )
        if elsewhere is not None:
            warnings.warn(elsewhere.note, stacklevel=2)
        return posterior

    def predict_new(self, X: Any = None, edges: Any = ()) -> Any:
        """Return predictions for nodes that came after the fit, as a pandas DataFrame.

        The model is not fitted again. The columns are those of `to_frame`, and ``new``; see
        `grown` for the arguments.
        """
        new = self._grown(X, edges)
        return new.predictions(self._fitted()).frame()

    def grown(self, X: Any = None, edges: Any = ()) -> Self:
        """Return a classifier of the graph with new nodes, without fitting again.

        Its `predict`, `novelty`, `explain` and others take the names of new nodes, too. Of a graph
        of more than 20,000 nodes, it holds the part that the predictions are computed from
        (`nodecopy.estimator.growth`). It needs the graph, which a folder of `nodecopy fit` holds.

        Args:
            X: columns of the new nodes, as in `fit`, a row for each: the index of a DataFrame names
                them, rows of an array are numbered after the nodes of the fit. None where the model
                was fitted without features; new nodes are then those that only the edges name.
            edges: between new nodes, or new and old ones: pairs of names [E, 2], or a DataFrame
                with columns source and target, and perhaps weight and relation. A node without an
                edge gets what its columns say.

        >>> from nodecopy import NodeCopyClassifier, planted_partition
        >>> data = planted_partition(200, 2, seed=0)
        >>> y = np.where(np.arange(200) < 20, data.labels, -1)
        >>> clf = NodeCopyClassifier(random_state=0).fit(data.graph, data.features, y)
        >>> clf.grown(data.features[:1], [(200, 5), (200, 7)]).predict([200]).shape
        (1,)
        """
        classifier = clone(self)
        classifier.result_ = self._grown(X, edges).result
        return classifier

    def _grown(self, X: Any, edges: Any) -> Grown:
        result = self._fitted()
        new = read_new(result.nodes("new nodes"), X, edges, self.text_model)
        return grow(result, new)

    def explain(self, node: Hashable) -> Any:
        """Return why a node has its most probable class and not the next one, in parts that add up.

        How much its columns, neighbours and similar nodes add to the log-odds of the class, and
        which labels it was learnt from; see `Explanation`, which a notebook shows, `plot` draws
        and `to_json` writes.

        Args:
            node: its name, or its number where nodes have no names.

        It needs the graph, which a model from a file does not hold.

        >>> from nodecopy import NodeCopyClassifier, planted_partition
        >>> data = planted_partition(200, 2, seed=0)
        >>> y = np.where(np.arange(200) < 20, data.labels, -1)
        >>> clf = NodeCopyClassifier(random_state=0).fit(data.graph, data.features, y)
        >>> why = clf.explain(150)
        >>> bool(np.isclose(sum(row.log_odds for row in why.evidence), why.log_odds))
        True
        """
        return self._fitted().explanations(self._numbers([node]).tolist())[0]

    def report(self, path: str | os.PathLike[str]) -> Report:
        """Write the page of the fit, as `nodecopy fit` does; a notebook shows what is returned.

        It needs the graph, which a model from a file does not hold.

        Args:
            path: of the HTML file, which is replaced if it is there.
        """
        from nodecopy.report.page import write_report

        result = self._fitted()
        result.nodes("report")
        return write_report(result, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file: arrays and settings only, no code.

        A part that such a file cannot hold, one of your own or a scikit-learn estimator, is an
        error that names it, and nothing is written.
        """
        self._fitted().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote, or that lies in a folder that `nodecopy fit` wrote.

        There is a warning if the folder is incomplete.
        """
        result = cls._result_type.load(path)
        if line := incomplete_model(path):
            warnings.warn(line, stacklevel=2)
        try:
            classifier = cls(**result.arguments)
        except TypeError as error:
            raise FormatError(f"cannot read {path}: {error}") from error
        classifier.result_ = result
        return classifier

    @property
    def n_features_in_(self) -> int:
        """D."""
        return self._fitted().given.num_features

    @property
    def model_(self) -> Fitted:
        """The fitted method; of a calibrated one a `nodecopy.stack.stacked.FittedStack`."""
        return self._fitted().model

    @property
    def posterior_(self) -> Any:
        """What is predicted for every node, calibrated if the method is; read-only."""
        return self._fitted().posterior

    @property
    def held_out_(self) -> Any:
        """Predictions of labels that were held out, and their scores; None where none were."""
        return self._fitted().held_out

    def _repr_html_inner(self) -> str:
        """Return the fit in numbers, bars and a map, and scikit-learn's diagram below it."""
        diagram: str = super()._repr_html_inner()
        if not hasattr(self, "result_"):
            return diagram
        drawn = ""
        if self.result_.given.has_graph:
            from nodecopy.report.map import still_map

            drawn = still_map(self.result_)
        return self.result_._repr_html_() + drawn + diagram

    def _repr_mimebundle_(self, **given: Any) -> dict[str, str]:
        """Return what a notebook shows."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**given)
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that features may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether `fit` was called."""
        return hasattr(self, "result_")

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted; a connection to a cluster is shared, not copied."""
        arguments = self.get_params(deep=False)
        for name in arguments.keys() - {"executor", "progress"}:
            arguments[name] = clone(arguments[name], safe=False)
        return type(self)(**arguments)

    def _fit(self, given: Problem) -> Self:
        """Fit to a problem that was read and scaled."""
        method, task = self._method(given)
        with (
            torch_defaults(),
            opened(self.executor) as executor,
            progress_bar("fitting", self.progress) as progress,
        ):
            model = fitted_by(method, task, seed_of(self.random_state), progress, executor)
        self.result_ = self._result_type(given, model, self._arguments())
        return self

    def _check_arguments(self) -> Any:
        """Return the method that the arguments name; refuse wrong ones before anything is read."""
        check_executor(self.executor)
        return method_of(self.method, self.calibrate, self.folds, self._result_type.target)

    def _needs_labels(self, graph: Any, y: Any) -> bool:
        """Tell whether a fit is to labels; else classes are guessed."""
        return True

    def _prepared(self, problem: Problem) -> Problem:
        """Return a problem with its texts read by their meaning, and features scaled."""
        return problem.by_meaning(self.text_model, self.progress).scaled_by(self.normalise)

    def _method(self, given: Problem) -> tuple[Any, Task]:
        """Return the method that is fitted to a problem, and what it learns from."""
        return self._check_arguments(), given.task()

    def _arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = self.get_params(deep=False)
        del arguments["executor"], arguments["progress"]  # of the machine, not of the result
        return arguments

    def _fitted(self) -> Answer:
        if not hasattr(self, "result_"):
            name = type(self).__name__
            raise _NotFittedError(f"this {name} is not fitted yet; call fit first")
        return self.result_

    def _numbers(self, nodes: Any) -> NDArray[np.int64]:
        return self._fitted().given.numbers(nodes)


def _rows(kind: Callable[..., Any], *columns: NDArray[Any]) -> list[Any]:
    """Return a value for each row of a table, given its columns."""
    return [kind(*row) for row in zip(*(own.tolist() for own in columns), strict=True)]


def seed_of(random_state: Any) -> int:
    """Return the seed of a fit, given the argument of that name."""
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
