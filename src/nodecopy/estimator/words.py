"""Words for parts: the command line's, which Python accepts too, and what they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from nodecopy.errors import ModelError, shown, unknown_name
from nodecopy.posterior import OnlineSchedule
from nodecopy.typed import fits
from nodecopy.weights import MCDropout, PointEstimate, TrainConfig, WeightPosterior

WeightsWord = Literal["dropout", "point"]
Schedule = Literal["algorithm1"] | OnlineSchedule

_WEIGHTS: dict[str, type[MCDropout | PointEstimate]] = {
    "dropout": MCDropout,
    "point": PointEstimate,
}


def schedule_of(given: Any) -> Schedule:
    """Return the schedule that a word or an object stands for."""
    if given == "online":
        return OnlineSchedule()
    if given == "algorithm1" or isinstance(given, OnlineSchedule):
        return given
    raise ModelError(
        f"schedule must be 'algorithm1', 'online' or an OnlineSchedule(…); got {shown(given)}"
    )


def weights_of(given: Any, training: Any, schedule: Schedule) -> Any:
    """Return the weight posterior that a word or an object stands for, trained as asked.

    What is neither is returned as it is, for `BayesianGCN` to refuse.

    Args:
        given: None is "dropout", or "point" where the schedule is online.
        training: a TrainConfig, or None for what the posterior has or the paper's way.
        schedule: see `schedule_of`.
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
