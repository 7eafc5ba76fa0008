"""What a weight posterior is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from nodecopy.data.task import Task
from nodecopy.graph import RowGraph
from nodecopy.nn.network import Computing, Network
from nodecopy.progress import Progress
from nodecopy.weights.samples import WeightSamples


@runtime_checkable
class WeightPosterior(Protocol):
    """A way to draw weights from p(W | Y, X, G): a value that holds settings only.

    The rules, which one contract test checks for every implementation:

    - member m depends on its task, graph and seed alone, not on the others or on their order;
    - the same task, graphs and seeds give the same draws;
    - where the posterior is known in closed form, the draws have its mean, and the spread that the
      method promises.
    """

    @property
    def computing(self) -> Computing:
        """Where to compute, when fitting and when predicting."""
        ...

    def fit(
        self,
        network: Network,
        tasks: Task | Sequence[Task],
        graphs: Sequence[RowGraph],
        seeds: Sequence[int],
        n_weights: int,
        progress: Progress | None = None,
    ) -> WeightSamples:
        """Draw S weights for each member (lines 8-9 of Algorithm 1).

        Args:
            network: the architecture.
            tasks: features and labels; one for all members, or one for each (of equal features).
            graphs: M graphs, one for each member.
            seeds: M seeds.
            n_weights: S; a posterior that has one answer gives one draw, whatever S is.
            progress: called as the work goes on.
        """
        ...
