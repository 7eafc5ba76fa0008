"""Several tags per node in words: on the terminal, in summary.json, on the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import counted, listed, shortened
from nodecopy.core.metrics import in_bins
from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.result.tables import COLOURS, tag_bars
from nodecopy.result.words import Rows, Words, packed, packed_bits, packed_shares, points_of
from nodecopy.trust.explanation import Explanation
from nodecopy.trust.tags import EstimatedScore

if TYPE_CHECKING:
    from nodecopy.result.tags import TagResult

# Bins of probability in the diagram of calibration, and a probability that settles a tag.
_BINS, _SURE = 10, 0.9
# What a node without tags is called on the page.
NO_TAG = "no tag"
# Tags that a sentence names.
_NAMED = 5


class TagWords(Words):
    """Tags in words."""

    _of: TagResult
    noun, label, given, score = "tags", "known tag", "known tags", "F1"
    contradicted = " A tag may be wrong, or missing."

    def line_rows(self) -> Rows:
        """Return the number of tags, how many nodes get, and the estimated F1."""
        predicted = self._of.predicted()[self._of.without_label]
        none = f"{np.mean(~predicted.any(1)):.0%} of the nodes get none"
        return [
            ("tags", f"{len(self._of.names)}{self._left_out()}"),
            ("predicted", f"{predicted.sum(1).mean():.2f} tags per node; {none}"),
            ("F1", self.estimated_line()),
        ]

    def trust_rows(self) -> Rows:
        """Return how many pairs of a node and a tag are settled."""
        p = self._of.probabilities[self._of.without_label]
        sure = np.mean((p >= _SURE) | (p <= 1 - _SURE))
        return [("settled", f"{sure:.0%} of all pairs of a node and a tag, with {_SURE:.0%}")]

    def own_numbers(self) -> dict[str, Any]:
        """Return counts of each tag, and what held-out labels tell; null where none were."""
        estimate = None
        if self._of.estimate is not None:
            estimate = asdict(self._of.estimate)
            estimate["ranking"] = None if np.isnan(estimate["ranking"]) else estimate["ranking"]
        left_out = list(self._of.left_out)
        return {"tags": self._tag_rows(), "left_out": left_out, "estimated_f1": estimate}

    def _tag_rows(self) -> list[dict[str, Any]]:
        """Return how many nodes are known, predicted and expected to have each tag."""
        tags = self._tags()
        keys = "names", "known", "predicted", "expected", "threshold"
        names = "tag", *keys[1:]
        rows = zip(*(tags[key] for key in keys), strict=False)  # without that of no tag
        return [dict(zip(names, row, strict=True)) for row in rows]

    def quality(self) -> tuple[str, str]:
        """Say how good the predicted tags should be."""
        estimate = self._of.estimate
        micro, macro = _interval(estimate.micro_f1), _interval(estimate.macro_f1)
        return (
            f"{estimate.micro_f1.value:.0%}",
            f"is the estimated F1 of all predicted tags ({micro}), and "
            f"{estimate.macro_f1.value:.0%} ({macro}) its mean over tags, going by "
            f"{counted(estimate.num_labels, 'held-out label')}. F1 is the harmonic mean of the "
            "share of predicted tags that are right and the share of true tags that are predicted.",
        )

    def doubt(self) -> tuple[str, str]:
        """Say how many tags are undecided, and which tag the most."""
        p = self._of.probabilities[self._of.without_label]
        undecided = (p > 1 - _SURE) & (p < _SURE)
        most = int(undecided.sum(0).argmax())
        return (
            f"{undecided.sum(1).mean():.1f} of {p.shape[1]:,}",
            f"tags of a node are undecided on average, with a probability between {1 - _SURE:.0%} "
            f"and {_SURE:.0%}. “{shortened(str(self._of.names[most]))}” is undecided most often, "
            f"for {undecided[:, most].mean():.0%} of the nodes.",
        )

    def known(self) -> str:
        """Return how many tags there are."""
        return f"with {len(self._of.names):,} tags"

    def trust(self) -> str:
        """Say what the estimated F1 rests on, and how well tags are ranked."""
        held_out, ranking = self._of.checked_held_out, self._of.estimate.ranking
        ranked = (
            " Ranked by probability, the tags of a held-out node come first: the mean precision at "
            f"each of its tags is {ranking:.0%}."
        )
        return (
            f"F1 was estimated from the probabilities, and from "
            f"{counted(len(held_out.nodes), 'held-out label')}. It holds for nodes like the "
            "labelled ones, if the known tags are right and complete."
        ) + ("" if np.isnan(ranking) else ranked)

    def predicted(self) -> str:
        """Say when a tag is predicted, and which are not."""
        left = self._left_out()
        left = f" {left[2:3].upper()}{left[3:]}." if left else ""
        return (
            f"a probability for each of {len(self._of.names):,} tags. A tag is predicted where its "
            "probability is above its threshold, which lies between those of the largest expected "
            f"F1 of this tag and of all tags.{left}"
        )

    def suspect_values(self) -> dict[str, NDArray[Any]]:
        """Return the tag, whether the node is known to have it, and how probably that is wrong."""
        suspects = self._of.suspect_labels
        known = suspects.known.astype(np.int64)
        return {"tag": suspects.tags, "given": known, "probability": suspects.probability}

    def sections(self) -> dict[str, Any]:
        """Return counts of tags, and where labels were held out, how well each is predicted."""
        sections: dict[str, Any] = {"classes": self._tags()}
        if self._of.held_out is None:
            return sections
        weights = self.pool("Weights are means over tags.", [{}] * len(self._of.components))
        return sections | {"reliability": self._reliability(), "components": weights}

    def _tags(self) -> dict[str, Any]:
        """Return known, predicted and expected nodes of each tag; of held-out labels, what fits."""
        result = self._of
        known, predicted = result.known[result.labels >= 0], result.predicted()
        tags: dict[str, Any] = {
            "names": [*result.names.tolist(), NO_TAG],
            "known": [*known.sum(0).tolist(), int((~known.any(1)).sum())],
            "predicted": [*predicted.sum(0).tolist(), int((~predicted.any(1)).sum())],
            "expected": [
                *result.probabilities.sum(0).round(1).tolist(),
                round(float(none_of(result.probabilities).sum()), 1),
            ],
            "threshold": result.thresholds.round(4).tolist(),
        }
        if (held := result.held_out) is None:
            return tags
        guessed = result.predicted(held.probabilities)
        both = (guessed & held.truth).sum(0)
        return tags | {
            "precision": _shares(both, guessed.sum(0)),
            "recall": _shares(both, held.truth.sum(0)),
        }

    def _reliability(self) -> dict[str, Any]:
        """Say whether probabilities can be taken at their word; a point for each bin of them."""
        held = self._of.held_out
        p, truth = held.probabilities.ravel(), held.truth.ravel()
        sentence = (
            f"Over {counted(len(held.nodes), 'held-out label')}, a node was expected to have "
            f"{p.sum() / len(held.nodes):.2f} tags, and has {truth.sum() / len(held.nodes):.2f}. "
            "On the dashed line, the share of nodes that have a tag equals its probability; lines "
            "are 95% intervals, as if tags of a node were independent."
        )
        return {"sentence": sentence, "points": points_of(in_bins(p, truth, _BINS))}

    def node_columns(self, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """Return tags, probabilities and doubt; a node of another type has no tag."""
        result, (own, other, at) = self._of, self.places(nodes)
        posterior = result.posterior.take(at)
        p = posterior.probabilities
        with_none = np.hstack([p, none_of(p)[:, None]])
        predicted = result.predicted(p) & own[:, None]
        # Coloured by the clearest tag; the number after the last is none.
        first = np.where(predicted.any(1), result.clearest(p), p.shape[1])
        dtype = np.int16 if p.shape[1] < 2**15 - 1 else np.int32
        none = (0, 0), (0, 1)  # the last name stands for no tag
        return {
            "known": packed(np.where(result.given.labels[nodes] >= 0, 0, -1), dtype),
            "knownTags": packed_bits(np.pad(result.known[at] & own[:, None], none)),
            "predicted": packed(np.where(own, first, -other), dtype),
            "sets": packed_bits(np.pad(predicted, none)),
            "probabilities": packed_shares(with_none),
            "entropy": packed(posterior.entropy * own, np.float32),
        }

    def evidence(self, why: Explanation) -> dict[str, Any]:
        """Return the tag that is explained, and whether the node has it, rather than not."""
        has = str(why.label) in self._of.tags.names and str(why.against) == f"not {why.label}"
        return {"tag": self._of.place_of(str(why.label if has else why.against)), "has": has}

    def relation(self, relation: Graph) -> tuple[float, str]:
        """Say how much more often linked nodes share a predicted tag than others."""
        p = np.zeros((self._of.given.num_nodes, len(self._of.names)))
        p[: len(self._of.labels)] = self._of.predicted()
        ends = relation.row_of_entry(), relation.indices
        share = float(np.mean((p[ends[0]] * p[ends[1]]).any(1))) if len(ends[1]) else 0.0
        order = stream(self._of.seed, "edges by chance").permutation(len(ends[1]))
        chance = float(np.mean((p[ends[0]] * p[ends[1][order]]).any(1))) if len(order) else 0.0
        return share - chance, (
            f"{share:.0%} of the edges join nodes that share a tag, {chance:.0%} would by chance"
        )

    def shades(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[str, float]]]:
        """Return the colour of the clearest predicted tag; grey without any."""
        count, result = len(self._of.names), self._of
        own = np.full(result.given.num_nodes, count)
        some = np.asarray(result.predicted().any(1))
        clearest = result.clearest(result.probabilities)
        own[: len(some)] = np.where(some, clearest, count)
        shades = [(COLOURS[t % len(COLOURS)], 1.0) for t in range(count)]
        return own[nodes], [*shades, (COLOURS[-1], 0.45)]

    def notebook_chart(self) -> str:
        """Return a bar for each tag."""
        return tag_bars(self._of.tags.names, self._of.known, self._of.predicted())

    def estimated(self) -> str:
        """Return micro and macro F1 with their intervals."""
        estimate = self._of.estimate
        return (
            f"micro about {estimate.micro_f1.value:.0%} ({_interval(estimate.micro_f1)}), macro "
            f"about {estimate.macro_f1.value:.0%} ({_interval(estimate.macro_f1)}), from "
            f"{estimate.num_labels:,} known labels, each held out in turn"
        )

    def _left_out(self) -> str:
        """Say which tags are not predicted; empty where all are."""
        names = self._of.left_out
        if not names:
            return ""
        shown = listed([repr(shortened(name)) for name in names[:_NAMED]], len(names))
        return f"; not predicted, with too few labels: {shown}"


def none_of(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the probability that a node has no tag, as if tags were independent [n]."""
    absent = np.log1p(-np.minimum(probabilities, 1 - 1e-9)).sum(1)
    return np.asarray(np.exp(absent), np.float64)


def _interval(score: EstimatedScore) -> str:
    return f"95% interval {score.low:.0%} to {score.high:.0%}"


def _shares(part: NDArray[np.int64], whole: NDArray[np.int64]) -> list[float | None]:
    """Return ratios, None where there is nothing to divide by."""
    each = zip(part.tolist(), whole.tolist(), strict=True)
    return [round(some / of, 4) if of else None for some, of in each]
