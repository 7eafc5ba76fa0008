"""A trial: one method, one split, one seed; and the values that describe it and its result.

Only values: whoever reads rows imports neither data nor models. `nodecopy.experiment.measure` runs
a trial.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from nodecopy.errors import SplitError, unknown_name

SplitKind = Literal["fixed", "random"]

# Part of every trial's digest: raise it when the numbers that a trial gives may have changed.
NUMERICS_VERSION = 1


@dataclass(frozen=True)
class Trial:
    """Everything that determines a result: flat and hashable.

    Args:
        dataset: a built-in dataset.
        split: "fixed" (the public one) or "random" (drawn anew from ``seed``).
        labels_per_class: L.
        method: a name in the registry.
        seed: of the split, if random, and of the method, on separate streams.
    """

    dataset: str
    split: SplitKind
    labels_per_class: int
    method: str
    seed: int

    def __post_init__(self) -> None:
        """Check the kind of split."""
        if self.split not in get_args(SplitKind):
            raise SplitError(unknown_name("split", self.split, get_args(SplitKind)))

    @cached_property
    def digest(self) -> str:
        """A hash of all that determines the result: data, split, settings, seed, code version."""
        from nodecopy.experiment.methods import build_method

        method = build_method(self.method, self.dataset, self.labels_per_class)
        content = [asdict(self), _data_digest(self.dataset), described(method), NUMERICS_VERSION]
        return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        """Name the trial for people: ``cora fixed 5 gcn seed 0``."""
        cell = f"{self.dataset} {self.split} {self.labels_per_class} {self.method}"
        return f"{cell} seed {self.seed}"


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave; scores are on the test nodes.

    Attributes:
        digest: of the trial, computed where it ran.
        accuracy, nll, brier, ece_width, ece_mass, error_auroc: see `nodecopy.metrics`.
        reliability: 15 equal-width bins of (confidence, accuracy, count); None in empty bins.
        outcomes: for Bayesian methods, by degree group ("low", "high" around the median): shares
            of nodes that base and method both get right, that the method corrects, that it breaks,
            that both get wrong.
        cpu_seconds, wall_seconds: cost of fit and prediction.
        peak_megabytes: most memory of the process during the trial; outside Linux, since it began.
        versions: of what computed it.
    """

    digest: str
    accuracy: float
    nll: float
    brier: float
    ece_width: float
    ece_mass: float
    error_auroc: float
    reliability: tuple[tuple[float | None, float | None, int], ...]
    outcomes: dict[str, dict[str, float]]
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: float
    versions: dict[str, str]


def described(value: Any) -> Any:
    """Return settings as JSON can hold them: the type of a value and what is not at its default.

    An option that is added later, at a default that changes nothing, leaves the text as it was, and
    with it every digest.

    >>> from nodecopy.graph_models import NodeCopying
    >>> described(NodeCopying(epsilon=0.5))
    {'type': 'NodeCopying', 'epsilon': 0.5}
    """
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    if hasattr(value, "tobytes"):  # an array: its text would leave out the middle
        return hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()
    if not is_dataclass(value) or isinstance(value, type):
        return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
    text: dict[str, Any] = {"type": type(value).__name__}
    for part in fields(value):
        given, default = described(getattr(value, part.name)), part.default
        if part.default_factory is not MISSING:
            default = part.default_factory()
        if default is MISSING or given != described(default):
            text[part.name] = given
    return text


@lru_cache(maxsize=16)
def _data_digest(name: str) -> str:
    from nodecopy.data import load_dataset

    return load_dataset(name).digest
