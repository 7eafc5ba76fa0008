"""The settings of a planted partition: degrees, words and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nodecopy.errors import DatasetError, InputError, unknown_name

_LAWS = ("poisson", "power")


@dataclass(frozen=True)
class Degrees:
    """How many edges nodes have.

    Args:
        mean: the mean degree.
        law: "poisson" (all nodes alike) or "power" (propensities θ with density ∝ θ^-exponent).
        exponent: of the power law, above 2. The law is cut where two nodes of one class would
            expect more than one edge between them: at a degree of sqrt(mean · N / K).
    """

    mean: float = 5.0
    law: Literal["poisson", "power"] = "poisson"
    exponent: float = 2.5

    def __post_init__(self) -> None:
        if self.law not in _LAWS:
            raise DatasetError(unknown_name("degree law", self.law, _LAWS))
        if not (math.isfinite(self.mean) and self.mean >= 0):
            raise DatasetError(f"the mean degree must be 0 or more; got {self.mean}")
        if not (math.isfinite(self.exponent) and self.exponent > 2):
            raise DatasetError(
                f"the exponent of a power law must be above 2, or its mean is infinite; "
                f"got {self.exponent}"
            )


@dataclass(frozen=True)
class Words:
    """Which of D binary features nodes have: each node draws words, repeated ones count once.

    Args:
        vocabulary: D; every class has an equal share of it to itself.
        per_node: how many words each node draws.
        signal: the chance that a word comes from the share of the node's class, and not from the
            whole vocabulary.
    """

    vocabulary: int = 500
    per_node: int = 10
    signal: float = 0.5

    def __post_init__(self) -> None:
        check_count("vocabulary", self.vocabulary, least=1)
        check_count("per_node", self.per_node, least=0)
        check_share("signal", self.signal)


@dataclass(frozen=True)
class Noise:
    """What is wrong with the data.

    Args:
        labels: share of the nodes whose label is replaced by another one.
        spurious: edges added between random nodes, as a share of the true edges.
        missing: share of the true edges taken away.
    """

    labels: float = 0.0
    spurious: float = 0.0
    missing: float = 0.0

    def __post_init__(self) -> None:
        check_share("labels", self.labels)
        check_share("spurious", self.spurious, most=math.inf)
        check_share("missing", self.missing)


def check_count(name: str, value: int, least: int, error: type[InputError] = DatasetError) -> None:
    """Raise an error unless ``value`` is a whole number of at least ``least``."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise error(f"{name} must be a whole number, at least {least}; got {value!r}")


def check_share(name: str, value: float, most: float = 1.0) -> None:
    """Raise DatasetError unless ``value`` is a finite number from 0 to ``most``."""
    if not 0 <= value <= most or math.isinf(value):
        raise DatasetError(f"{name} must be a number from 0 to {most:g}; got {value!r}")
