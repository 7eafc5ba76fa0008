"""A result in words: lines of the terminal, summary.json, and the words of the page.

`Words` has what holds for every kind of target, and says what a kind adds.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import counted, shortened
from nodecopy.core.metrics import ReliabilityCurve, wilson_interval
from nodecopy.graph import Graph
from nodecopy.read.inspection import columns_read, printable
from nodecopy.trust.components import ComponentScore, weights_in_words

if TYPE_CHECKING:
    from nodecopy.result.base import Result

# Rows of a table of lines: a name, and what it stands for.
Rows = list[tuple[str, str]]
_COLUMNS = 40  # that are listed
_MOST = 20  # relations that are listed
# Probability from which on a contradicted label is listed as suspect.
SUSPECT = 0.05


class Words:
    """A result in words; a subclass for each kind of target.

    Args:
        result: of the fit.
    """

    def __init__(self, result: Result) -> None:
        self._of = result

    # What a kind of target adds.

    def line_rows(self) -> Rows:
        """Return what `nodecopy fit` prints below the number of nodes, up to the relations."""
        raise NotImplementedError

    def trust_rows(self) -> Rows:
        """Return what `nodecopy fit` prints of sets or intervals."""
        raise NotImplementedError

    def own_numbers(self) -> dict[str, Any]:
        """Return what summary.json has of predictions and of trust in them."""
        raise NotImplementedError

    def estimated(self) -> str:
        """Return the estimated quality for the terminal, where it was estimated."""
        raise NotImplementedError

    def quality(self) -> tuple[str, str]:
        """Answer "How good?" on the page, likewise: a figure, and the sentence that it begins."""
        raise NotImplementedError

    def doubt(self) -> tuple[str, str]:
        """Answer "Where unsure?" on the page, likewise."""
        raise NotImplementedError

    def known(self) -> str:
        """Return a remark on the number of known labels."""
        raise NotImplementedError

    def predicted(self) -> str:
        """Say what nodes without a label got, to end a sentence."""
        raise NotImplementedError

    def trust(self) -> str:
        """Say how good predictions can be expected to be, where it was estimated."""
        raise NotImplementedError

    def suspect_values(self) -> dict[str, NDArray[Any]]:
        """Return what the page says of each suspect label, beside its node."""
        suspects = self._of.suspect_labels
        return {"predicted": suspects.predicted, "probability": suspects.probability}

    def sections(self) -> dict[str, Any]:
        """Return the sections of the page that only this kind has, by name."""
        raise NotImplementedError

    def node_columns(self, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """Return what the page shows of each of its nodes, column by column, packed."""
        raise NotImplementedError

    def evidence(self, why: Any) -> dict[str, Any]:
        """Return what an explanation on the page explains, as JSON can hold it."""
        raise NotImplementedError

    def relation(self, relation: Graph) -> tuple[float, str]:
        """Return how much the edges of a relation tell of predictions, for order, and in words."""
        raise NotImplementedError

    def shades(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[str, float]]]:
        """Return colours with opacities of a small map, and which of them each node has [n]."""
        raise NotImplementedError

    def notebook_chart(self) -> str:
        """Return HTML for a notebook: what is predicted."""
        raise NotImplementedError

    # What nodes are compared by, in the plural; a known label, what came with it, and its score.
    noun, label, given, score = "predictions", "known label", "a label", "accuracy"
    # What else is said of contradicted labels, and of nodes to label next.
    contradicted, suggested_first = "", ""

    # What all kinds share.

    @property
    def num_known(self) -> int:
        """How many labels are known."""
        return int(np.count_nonzero(self._of.labels >= 0))

    def notebook_rows(self) -> Rows:
        """Return what a notebook shows of labels and quality."""
        rows = [("known labels", f"{self.num_known:,} {self.known()}")]
        quality = [(f"estimated {self.score}", self.estimated())] if self._of.estimate else []
        return [*rows, *quality]

    def estimated_line(self) -> str:
        """Return the estimated quality, or why there is none."""
        why = f"not estimated: {self._of.why_not_estimated}"
        return why if self._of.estimate is None else self.estimated()

    def numbers(self) -> dict[str, Any]:
        """Return what summary.json has of a result; null where no label was held out."""
        held, suspects = self._of.held_out, self._of.lists.suspect_labels
        return self.own_numbers() | {
            "why_not_estimated": self._of.why_not_estimated or None,
            "held_out_labels": 0 if held is None else len(held.nodes),
            "components": [
                {"name": one.name, "learns_from": one.source, "weight": float(one.weight)}
                | self.component_score(one)
                for one in self._of.components
            ],
            "suspect_labels": None if suspects is None else len(suspects.nodes),
        }

    def component_score(self, component: ComponentScore) -> dict[str, Any]:
        """Return how well a component predicts held-out labels, for summary.json."""
        return {}

    def summary(self) -> list[str]:
        """Say what was predicted, and how good it can be expected to be."""
        known, count = self.num_known, len(self._of.labels)
        unknown = f"How good predictions are was not estimated: {self._of.why_not_estimated}."
        start = f"{counted(known, 'node')} of {count:,} came with {self.given}. From these, the "
        if known == 0:
            start = f"No node came with {self.given}. From descriptions of the classes, all "
        return [
            f"{start}{'other ' * (known > 0)}{count - known:,} got {self.predicted()}",
            unknown if self._of.estimate is None else self.trust(),
        ]

    def pool(
        self, more: str, rows: Sequence[Mapping[str, Any]], ours: Any = None
    ) -> dict[str, Any]:
        """Say what the pool is made of; give weight and scores of each component, ours first.

        Args:
            more: what else is said of it.
            rows: scores of each component.
            ours: those of the pool, where there are any.
        """
        components = self._of.components
        if not components:
            return {"sentence": "The method is a single component."}
        own = [{"name": "nodecopy", "source": "all of it", "weight": 1.0} | ours] if ours else []
        for one, score in zip(components, rows, strict=True):
            own.append({"name": one.name, "source": one.source, "weight": one.weight, **score})
        words = weights_in_words(components)
        return {"sentence": f"The prediction is a weighted mean: {words}. {more}", "rows": own}

    def places(
        self, nodes: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Return which nodes of the page have a target, the number of their type, and a place.

        The type is 0 for nodes that have a target; the place is that of their prediction, and any
        for others.
        """
        given = self._of.nodes("report")
        sizes = list(given.node_types.values()) or [len(given.labels)]
        own = nodes < len(self._of.labels)
        return own, np.repeat(np.arange(len(sizes)), sizes)[nodes], np.where(own, nodes, 0)

    def components(self) -> Rows:
        """Return what the components of the pool learn from."""
        words = weights_in_words(self._of.components)
        return [("learnt from", words)] if words else []

    def relations(self) -> list[str]:
        """Return a sentence on each relation, the one that tells most first."""
        graph = self._of.nodes("report").graph
        told = {name: self.relation(relation) for name, relation in graph.relations.items()}
        sentences = []
        for name in sorted(told, key=lambda name: -told[name][0])[:_MOST]:
            edges = counted(graph.relations[name].num_edges, "edge")
            directed = ", directed" * graph.relations[name].directed
            sentences.append(f"{name}: {edges}{directed}; {told[name][1]}")
        return [*sentences, *([f"and {len(told) - _MOST:,} more"] if len(told) > _MOST else [])]

    def columns(self) -> list[str]:
        """Say what became of each column, of the first ones where there are many."""
        made = [f"{name} ({file}): {text}" for file, name, text in columns_read(self._of.given)]
        more = [f"and {len(made) - _COLUMNS:,} more"] if len(made) > _COLUMNS else []
        return [*made[:_COLUMNS], *more]

    def method(self) -> str:
        """Name the method, its folds and its seed."""
        method, seed = (self._of.arguments[name] for name in ("method", "random_state"))
        parts = [f"nodecopy: method {method if isinstance(method, str) else type(method).__name__}"]
        if self._of.held_out is not None:
            parts.append(f"calibrated in {self._of.held_out.num_folds} folds")
        return ", ".join([*parts, f"seed {seed}"] if isinstance(seed, int) else parts)

    def answers(self) -> list[dict[str, str]]:
        """Say how good the predictions are, where they are unsure, and what to do next."""
        lists = self._of.lists
        more, wrong = len(lists.next_labels.nodes) - 1, lists.probably_wrong
        words = f"and {counted(more, 'other node')}: their labels would tell most about the rest."
        check = f" {counted(wrong, 'known label')} should be checked: more likely wrong than right."
        then = "" if more < 0 else words if more else "Its label would tell most about the rest."
        score = self.score[:1].upper() + self.score[1:]
        unknown = "unknown", f"{score} was not estimated: {self._of.why_not_estimated}."
        rows = (
            ("How good?", *(unknown if self._of.estimate is None else self.quality())),
            ("Where unsure?", *self.doubt()),
            ("What next?", "nothing to label" if more < 0 else "", then + check * (wrong > 0)),
        )
        return [dict(zip(("title", "value", "words"), row, strict=True)) for row in rows]

    def facts(self) -> list[dict[str, str]]:
        """Return the figures of the summary, each with its name and a remark."""
        given, labels = self._of.nodes("report"), self._of.labels
        isolated = int(np.count_nonzero(given.graph.degrees == 0))
        edges = f"{isolated:,} without an edge" if isolated else "all with an edge"
        components = counted(len(self._of.inspection.components), "connected part")
        noun, *others = given.node_types or ["Nodes"]
        sizes = [f"{given.node_types[name]:,} {name}" for name in others]
        beside = f"beside {' and '.join(sizes)}" if sizes else edges
        rows = [
            (noun, f"{len(labels):,}", beside),
            ("Edges", f"{given.graph.num_edges:,}", components),
            ("Known labels", f"{self.num_known:,}", self.known()),
        ]
        return [dict(zip(("name", "value", "remark"), row, strict=True)) for row in rows]

    def warnings(self) -> list[str]:
        """Return what to beware of, and what could not be computed."""
        return [*self._of.warnings, *self._of.lists.failures.values()]

    def _failure(self, name: str) -> str:
        """Return why a list could not be computed; empty where it was."""
        text = self._of.lists.failures.get(name, "")
        return f"{text[:1].upper()}{text[1:]}." if text else ""

    def suggestions(self) -> str:
        """Introduce the nodes to label next."""
        if len(self._of.lists.next_labels.nodes) == 0:
            none = "No node is suggested: every node has a label."
            return self._failure("next labels") or none
        return (
            "The nodes whose labels would tell most about the others, the best first: each is like "
            "many uncertain nodes, and unlike those above it. A gain of 10 means that its label "
            "tells as much as the labels of 10 nodes of which nothing is known, beside the labels "
            f"above it.{self.suggested_first}"
        )

    def suspect_labels(self) -> str:
        """Introduce the known labels that may be wrong."""
        suspects = self._of.lists.suspect_labels
        if suspects is None:
            unchecked = f"Known labels were not checked: {self._of.why_not_estimated}."
            return self._failure("suspect labels") or unchecked
        count, listed = len(suspects.nodes), self.listed_suspects()
        contradict = f"Held-out predictions contradict {counted(count, self.label)}"
        if count == 0:
            return f"Held-out predictions contradict no {self.label}."
        if listed == 0:
            return (
                f"{contradict}, but none of these is likely wrong: each with less than "
                f"{SUSPECT:.0%}.{self.contradicted} suspect_labels.csv lists them."
            )
        return (
            f"{contradict}; {self._of.lists.probably_wrong:,} of these are more likely wrong than "
            f"right, and {listed:,}, wrong with {SUSPECT:.0%} or more, are listed."
            f"{self.contradicted} Look before you change one: an odd node with a true label looks "
            "the same."
        )

    def listed_suspects(self) -> int:
        """Return how many of the labels that are contradicted may well be wrong: the first ones."""
        suspects = self._of.lists.suspect_labels
        return 0 if suspects is None else int(np.count_nonzero(suspects.probability >= SUSPECT))

    def missing_edges(self) -> str:
        """Say what the list of missing edges is, and how much to expect of it."""
        missing = self._of.lists.missing_edges
        if not len(missing.nodes):
            none = "No pair is listed: none looks like an edge of this graph."
            return self._failure("missing edges") or none
        sample = ""
        if missing.searched is not None:
            sample = f" Pairs were looked for around {missing.searched:,} nodes drawn at random."
        return (
            f"{counted(len(missing.nodes), 'pair')} of nodes that are not linked, most like the "
            f"edges of this graph by their {self.noun}, shared neighbours, positions and features. "
            f"The probability is that of a missing edge if {missing.share:.0%} of all edges are "
            f"missing, checked on edges that were held out: about {missing.probability.sum():.0f} "
            f"of these are then true.{sample}"
        )

    def suspect_edges(self) -> str:
        """Say what the list of suspect edges is, and how much to expect of it."""
        suspects, count = self._of.lists.suspect_edges, len(self._of.lists.suspect_edges.nodes)
        if count == 0:
            none = "No edge is listed: none looks like a pair of random nodes."
            return self._failure("suspect edges") or none
        sample = (
            "" if suspects.ranked is None else f"Of {suspects.ranked:,} edges drawn at random: "
        )
        doubt = (
            "In this graph edges hardly differ from random pairs: expect little of this list."
            if suspects.at_most > 0.5
            else f"At most about {max(suspects.at_most, 0.01):.0%} of all edges can be random. "
            "Look before you delete: a rare but true link looks the same."
        )
        return (
            f"{sample}{counted(count, 'edge')} most like random pairs of nodes, by their "
            f"{self.noun}, shared neighbours and features. Surprise says how many times as common "
            "such a pair is among random pairs as among the edges: if 1 in 100 edges were random, "
            "an edge with a surprise of 30 would be so with 30%, and about "
            f"{suspects.expected_wrong(0.01):.0f} of these {count:,} would be. {doubt}"
        )

    def next_names(self, count: int) -> str:
        """Return what the first nodes to label next are called."""
        nodes = self._of.lists.next_labels.nodes
        names = [printable(shortened(self._of.given.title(n))) for n in nodes[:count]]
        return f"{', '.join(names)}{', …' if len(nodes) > count else ''}" or "nothing"


def packed(values: NDArray[Any], dtype: type[np.generic]) -> str:
    """Return numbers as base64 text, little-endian, for a typed array of the page.

    >>> packed(np.array([1, 2]), np.uint16)
    'AQACAA=='
    """
    plain = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(plain.tobytes()).decode()


def packed_bits(rows: NDArray[np.bool_]) -> str:
    """Return a bit for each class of a node, in whole bytes a node."""
    return packed(np.packbits(rows, axis=1, bitorder="little"), np.uint8)


def packed_shares(probabilities: NDArray[np.floating]) -> str:
    """Return probabilities in ten-thousandths: a reader cannot tell finer ones apart."""
    return packed((probabilities * 10_000).round(), np.uint16)


def share_of(right: float, count: int) -> dict[str, float]:
    """Return a share of correct predictions with its 95% interval."""
    low, high = wilson_interval(right, count)
    return {"right": round(right, 4), "low": round(low, 4), "high": round(high, 4)}


def points_of(curve: ReliabilityCurve) -> list[dict[str, Any]]:
    """Return the bins of a reliability diagram that are not empty."""
    bins = zip(curve.confidence, curve.accuracy, curve.count, strict=True)
    return [
        {"confidence": round(float(mean), 4), "count": int(n)} | share_of(float(right), int(n))
        for mean, right, n in bins
        if n
    ]
