"""The method that the arguments of a classifier stand for: a preset, changed as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from nodecopy import presets
from nodecopy.calibration import Component, FittedStack, StackedClassifier
from nodecopy.classifiers import Fitted, NodeClassifier
from nodecopy.data.task import FeatureMatrix, Task
from nodecopy.errors import ModelError, shown, unknown_name
from nodecopy.executors import Executor, Serial
from nodecopy.graph import RowGraph
from nodecopy.graph_models import NodeCopying
from nodecopy.posterior import BayesianGCN, OnlineSchedule, Posterior, predicted_by, within
from nodecopy.posterior.parts import check_classifier
from nodecopy.progress import Progress
from nodecopy.typed import fits
from nodecopy.weights import MCDropout, PointEstimate, TrainConfig, WeightPosterior

PresetName = Literal["best", "fast", "paper"]
WeightsWord = Literal["dropout", "point"]
Schedule = Literal["algorithm1"] | OnlineSchedule

_WEIGHTS: dict[str, type[MCDropout | PointEstimate]] = {
    "dropout": MCDropout,
    "point": PointEstimate,
}

ALGORITHM_1 = (
    "n_zeta",
    "n_graphs",
    "n_weights",
    "epsilon",
    "base",
    "graph_model",
    "weights",
    "network",
    "training",
    "schedule",
    "predict_on",
)
_ACCEPTED = "'best', 'fast', 'paper', or a node classifier such as BayesianGCN() or presets.best()"


def method_of(arguments: Mapping[str, Any]) -> NodeClassifier:
    """Return the method: a preset with its arguments, calibrated or not.

    Args:
        arguments: of `NodeCopyClassifier`, by name.
    """
    preset = arguments["preset"]
    given = {name: arguments[name] for name in ALGORITHM_1 if arguments[name] is not None}
    refuse_foreign(preset, given)
    return _calibrated(_method(preset, given), arguments["calibrate"], arguments["folds"])


def fitted_by(
    method: NodeClassifier, task: Task, seed: int, progress: Progress | None, executor: Executor
) -> Fitted:
    """Fit a method: a stack part by part, any other as a whole, wherever that is."""
    if isinstance(method, StackedClassifier):
        return method.fit(task, seed, progress, executor)
    if isinstance(executor, Serial):
        return method.fit(task, seed, progress)
    (fitted,) = executor.map(_whole, [(method, seed)], task)
    return fitted


def applied_by(
    fitted: Fitted,
    graph: RowGraph,
    features: FeatureMatrix,
    executor: Executor,
    memory: int | None = None,
) -> Posterior:
    """Apply a fit to another graph: a stack part by part, any other here.

    Args:
        fitted: what to apply.
        graph: the other graph.
        features: of its nodes.
        executor: where parts are applied.
        memory: bytes that what is computed at a time may take, see `Task`.
    """
    if isinstance(fitted, FittedStack):
        return fitted.predict(graph, features, executor, memory)
    return predicted_by(within(fitted, memory), graph, features)


def _whole(unit: tuple[NodeClassifier, int], task: Task) -> Fitted:
    method, seed = unit
    return method.fit(task, seed)


def refuse_foreign(preset: Any, given: Sequence[str] | Mapping[str, Any]) -> None:
    """Refuse an unknown preset, and arguments that a preset does not have."""
    if isinstance(preset, str):
        if preset not in get_args(PresetName):
            raise ModelError(f"{unknown_name('preset', preset, get_args(PresetName))}")
    else:
        check_classifier("preset", preset, _ACCEPTED)
    foreign = [name for name in given if preset != "paper" and (preset, name) != ("best", "n_zeta")]
    if foreign:
        which = "'best' or 'paper'" if foreign == ["n_zeta"] else "'paper'"
        verb = "belongs" if len(foreign) == 1 else "belong"
        raise ModelError(f"{', '.join(foreign)} {verb} to the preset {which}; got {shown(preset)}")


def _method(preset: Any, given: dict[str, Any]) -> NodeClassifier:
    if preset == "paper":
        return _algorithm_1(given)
    if preset == "best":
        return presets.best(**given)
    if preset == "fast":
        return presets.fast()
    method: NodeClassifier = preset
    return method


def _algorithm_1(given: dict[str, Any]) -> BayesianGCN:
    """Return the paper's method, with what is given in place of its settings."""
    schedule = _schedule(given.pop("schedule", "algorithm1"))
    weights = _weights(given.pop("weights", None), given.pop("training", None), schedule)
    epsilon = given.pop("epsilon", None)
    if epsilon is not None:
        given.setdefault("graph_model", NodeCopying(epsilon))
    return replace(presets.paper(), weights=weights, schedule=schedule, **given)


def _calibrated(method: NodeClassifier, calibrate: Any, folds: Any) -> NodeClassifier:
    """Return a method with its probabilities calibrated, or not, or as it has them."""
    if calibrate not in (True, False, None):
        raise ModelError(f"calibrate must be True, False or None; got {shown(calibrate)}")
    wanted = isinstance(method, StackedClassifier) if calibrate is None else calibrate
    if not wanted and folds is not None:
        raise ModelError("folds is for a calibrated model: leave it out, or pass calibrate=True")
    if not isinstance(method, StackedClassifier):
        if not wanted:
            return method
        # As it is given: on the whole graph, with weights in their unit.
        method = StackedClassifier((Component(method),), scale_weights=False, most_nodes=None)
    if not wanted:
        return replace(method, folds=0)
    return method if folds is None else replace(method, folds=folds)


def _schedule(given: Any) -> Schedule:
    """Return the schedule that a word or an object stands for."""
    if given == "online":
        return OnlineSchedule()
    if given == "algorithm1" or isinstance(given, OnlineSchedule):
        return given
    raise ModelError(
        f"schedule must be 'algorithm1', 'online' or an OnlineSchedule(…); got {shown(given)}"
    )


def _weights(given: Any, training: Any, schedule: Schedule) -> Any:
    """Return the weight posterior that a word or an object stands for, trained as asked.

    What is neither is returned as it is, for `BayesianGCN` to refuse.

    Args:
        given: None is "dropout", or "point" where the schedule is online.
        training: a TrainConfig, or None for what the posterior has or the paper's way.
        schedule: see `_schedule`.
    """
    if training is not None and not isinstance(training, TrainConfig):
        raise ModelError(f"training must be a TrainConfig(…) or None; got {shown(training)}")
    if given is None:
        given = "dropout" if schedule == "algorithm1" else "point"
    if isinstance(given, str):
        if given not in _WEIGHTS:
            raise ModelError(
                f"{unknown_name('weights', given, _WEIGHTS)}, or a weight posterior such as "
                "MCDropout() or PointEstimate()"
            )
        return _WEIGHTS[given](training or TrainConfig())
    if training is None or isinstance(given, type) or not fits(given, WeightPosterior):
        return given
    if isinstance(given, (MCDropout, PointEstimate)):
        return replace(given, training=training)
    raise ModelError(
        f"training does not apply to {type(given).__name__}, which has settings of its own; leave "
        "it out"
    )
