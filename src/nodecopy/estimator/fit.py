"""A fit: the predictions of its nodes, how far to trust them, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodecopy.core.errors import ModelError
from nodecopy.estimator.method import torch_defaults
from nodecopy.estimator.names import NodeNames
from nodecopy.estimator.nodes import LabelledNodes
from nodecopy.estimator.saved import FittedState
from nodecopy.posterior import Posterior
from nodecopy.stack.evidence import Leads
from nodecopy.trust.assessment import Assessment, Validation
from nodecopy.trust.explanation import Explanation, Names, import_pandas

# Classes that a notebook names.
_NAMED = 12


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit, the names of its nodes, and these, which a model from a file does not have."""

    state: FittedState
    names: NodeNames
    nodes: LabelledNodes | None = None

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of every node that classes belong to, read-only."""
        posterior = classified(self.state.model.posterior, self.state.kinds)
        for array in vars(posterior).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return posterior

    def some(self, nodes: ArrayLike | None) -> Posterior:
        """Return the posterior of nodes by name or number; of all where none are given."""
        return self.posterior if nodes is None else self.posterior.take(self.names.numbers(nodes))

    @cached_property
    def assessment(self) -> Assessment:
        """What held-out labels tell about the fit."""
        validation = Validation.of(self.state.model)
        if validation is None:
            raise ModelError(
                "this needs known labels that were held out, and none were: fit with "
                "calibrate=True (--calibrate), and with two labels at least of some class"
            )
        return Assessment(validation, self.posterior.probabilities, self.state.suggested)

    @cached_property
    def novelty(self) -> NDArray[np.float64]:
        """The probability of every node to belong to none of the classes [n]."""
        assert self.nodes is not None  # who asks has asked for them
        return self.nodes.novelty(self.posterior)

    def explanations(self, nodes: Sequence[int]) -> list[Explanation]:
        """Return why some nodes have their class, given their numbers."""
        naming = self.naming
        with torch_defaults():
            leads = self._leads.of(nodes)
        return [naming.explanation(*each) for each in zip(nodes, leads, strict=True)]

    @cached_property
    def _leads(self) -> Leads:
        """What explanations of all nodes share."""
        assert self.nodes is not None  # who explains has asked for them
        return Leads(self.state.model, self.nodes.graph, self.nodes.features)

    @property
    def naming(self) -> Names:
        """What nodes, columns and classes are called."""
        state, names = self.state, self.names.names
        hubs = None if state.hubs is None else state.hubs.tolist()
        kinds = {} if self.nodes is None else self.nodes.graph.kinds
        nodes = None if names is None else names.tolist()
        return Names(nodes, state.encoder, state.columns, hubs, state.classes.tolist(), kinds)

    def html(self) -> str:
        """Return labels, classes and the estimated accuracy as a table."""
        p, classes = self.posterior.probabilities, list(map(str, self.state.classes.tolist()))
        rows = [("nodes", f"{len(p):,}")]
        if self.nodes is not None:
            numbers = self.nodes.labels.numbers
            counts = np.bincount(numbers[numbers >= 0], minlength=len(classes)).tolist()
            classes = [f"{name} ({count:,})" for name, count in zip(classes, counts, strict=True)]
            rows.append(("known labels", f"{sum(counts):,}"))
        more = [f"and {len(classes) - _NAMED:,} more"] if len(classes) > _NAMED else []
        rows.append((f"{len(classes):,} classes", ", ".join([*classes[:_NAMED], *more])))
        if Validation.of(self.state.model) is not None:
            estimate = self.assessment.accuracy()
            interval = f"95% interval {estimate.low:.0%} to {estimate.high:.0%}"
            rows.append(("estimated accuracy", f"{estimate.accuracy:.0%} ({interval})"))
        cells = (f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows)
        return f"<table><tbody>{''.join(cells)}</tbody></table>"

    def frame(self) -> Any:
        """Return the predictions of every node, see `NodeCopyClassifier.to_frame`."""
        pd = import_pandas()

        p, classes = self.posterior.probabilities, self.state.classes.tolist()
        columns: dict[str, Any] = {}
        if self.nodes is not None:
            columns["known"] = self.nodes.labels.values()[: len(p)]
        columns |= {"predicted": self.state.classes[p.argmax(1)], "confidence": p.max(1)}
        if Validation.of(self.state.model) is not None:
            sets = self.assessment.sets.sets(p, 0.9)
            ranked = np.argsort(-p, axis=1, kind="stable").tolist()
            columns["set_90"] = [
                tuple(classes[k] for k in order if held[k])
                for order, held in zip(ranked, sets, strict=True)
            ]
        if self.nodes is not None:
            columns["none_of_these"] = self.novelty
        columns["entropy"] = self.posterior.entropy
        columns |= {f"p_{value}": p[:, k] for k, value in enumerate(classes)}
        index = self.names.named(np.arange(len(p)))
        return pd.DataFrame(columns, index=pd.Index(index, name="node"))


def classified(posterior: Posterior, kinds: Mapping[str, int]) -> Posterior:
    """Return the posterior of the nodes that classes belong to: of the first kind, or all."""
    return posterior.take(slice(next(iter(kinds.values())))) if kinds else posterior
