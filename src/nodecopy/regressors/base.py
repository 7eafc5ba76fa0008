"""What a fit of numbers is: a number for every node, and how far several fits differ in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.base import Fitted
from nodecopy.core.errors import ModelError
from nodecopy.core.saving import savable
from nodecopy.problem.task import Task


@savable
@dataclass(frozen=True, eq=False)
class NumberPosterior:
    """Numbers of nodes on the scale that they were fitted on.

    Attributes:
        values: what is predicted [N].
        deviation: standard deviation between the components of a pool; zeros of a single one [N].
    """

    values: NDArray[np.float64]
    deviation: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.values.ndim != 1 or self.values.shape != self.deviation.shape:
            raise ModelError(f"{self.values.shape} numbers with {self.deviation.shape} deviations")

    @classmethod
    def single(cls, values: NDArray[np.floating]) -> NumberPosterior:
        """Return the predictions of one component."""
        plain = np.asarray(values, np.float64)
        return cls(plain, np.zeros(len(plain)))

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The numbers as one column [N, 1]."""
        return self.values[:, None]

    @property
    def most_entropy(self) -> float:
        """The unit of `entropy`, log 2: a number twice as doubtful in variance as is typical."""
        return float(np.log(2))

    @property
    def entropy(self) -> NDArray[np.float64]:
        """How doubtful each number is, compared with the others: log(1 + d² / d̄²) [N]."""
        typical = float(np.mean(self.deviation**2))
        doubt: NDArray[np.float64] = np.log1p(self.deviation**2 / max(typical, 1e-300))
        return doubt

    def take(self, nodes: NDArray[np.integer] | slice) -> NumberPosterior:
        """Return those of some nodes."""
        return NumberPosterior(self.values[nodes], self.deviation[nodes])


class FittedNumbers(Fitted):
    """The result of a fit: derive from it, and give it `values`."""

    if TYPE_CHECKING:  # only: a dataclass would take an inherited property for a default

        @property
        def values(self) -> NDArray[np.floating]:
            """A number for every node of the task's graph [N]."""

    @property
    def posterior(self) -> NumberPosterior:  # type: ignore[override]
        """The numbers as a prediction."""
        return NumberPosterior.single(self.values)

    @property
    def outputs(self) -> NDArray[np.floating]:
        """The numbers as one column [N, 1]."""
        return np.asarray(self.values)[:, None]


def known_numbers(task: Task) -> NDArray[np.float64]:
    """Return the numbers of the training nodes of a task [n]."""
    assert task.values is not None  # or its labels are not numbers
    return task.values[task.labels[task.train]]
