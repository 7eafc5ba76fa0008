"""Lists: what tables and pages list of a result, each of which may fail and the others remain."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nodecopy.trust.missing_edges import MissingEdges
from nodecopy.trust.next_labels import NextLabels
from nodecopy.trust.suspect_edges import SuspectEdges

if TYPE_CHECKING:
    from nodecopy.result import Result

# Nodes that are explained on a page, and nodes of a graph beyond which none is.
_EXPLAINED, _MOST_NODES = 300, 100_000
# From this probability on, a label is more likely wrong than right.
_LIKELY = 0.5

Value = TypeVar("Value")


class Lists:
    """What tables and pages list of a result; one that cannot be computed is empty.

    Attributes:
        failures: a sentence for each list that could not be computed, by its name.
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        self.failures: dict[str, str] = {}

    @cached_property
    def next_labels(self) -> NextLabels:
        """Nodes to label next."""
        nothing = NextLabels(np.zeros(0, np.int64), np.zeros(0))
        return self._attempt("next labels", self._result.next_labels, nothing)

    @cached_property
    def suspect_labels(self) -> Any:
        """Known labels that are contradicted; None where no label was held out."""
        if self._result.held_out is None:
            return None
        return self._attempt("suspect labels", lambda: self._result.suspect_labels, None)

    @property
    def probably_wrong(self) -> int:
        """How many known labels are more likely wrong than right."""
        suspects = self.suspect_labels
        return 0 if suspects is None else int(np.count_nonzero(suspects.probability >= _LIKELY))

    @cached_property
    def suspect_edges(self) -> SuspectEdges:
        """Edges that may be wrong."""
        nothing = SuspectEdges(np.zeros((0, 2), np.int64), np.zeros(0))
        return self._attempt("suspect edges", self._result.suspect_edges, nothing)

    @cached_property
    def missing_edges(self) -> MissingEdges:
        """Pairs that may lack an edge."""
        nothing = MissingEdges(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, object))
        return self._attempt("missing edges", self._result.missing_edges, nothing)

    @cached_property
    def novelty(self) -> NDArray[np.float64] | None:
        """The probability of each node to be unlike all labels [n]; None where there is no such."""
        return self._attempt("novelty", lambda: self._result.novelty, None)

    @cached_property
    def explanations(self) -> dict[int, Any]:
        """Why nodes have their prediction: of those in the lists, and of the least certain ones."""
        if len(self._result.given.labels) > _MOST_NODES:
            return {}
        lists = [self.next_labels.nodes, self.suspect_edges.nodes.ravel()]
        if self.suspect_labels is not None:
            lists.insert(1, self.suspect_labels.nodes)
        least_certain = np.argsort(self._result.certainty, kind="stable")
        nodes = list(dict.fromkeys(np.concatenate([*lists, least_certain]).tolist()))[:_EXPLAINED]
        none: list[Any] = []
        why = self._attempt("explanations", lambda: self._result.explanations(nodes), none)
        return dict(zip(nodes, why, strict=False))

    def _attempt(self, name: str, compute: Callable[[], Value], otherwise: Value) -> Value:
        try:
            return compute()
        except Exception as error:  # noqa: BLE001 - what was computed before must not be lost
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            self.failures[name] = f"{name} could not be computed: {reason}"
            return otherwise
