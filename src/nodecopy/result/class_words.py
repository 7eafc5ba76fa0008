"""One class per node in words: on the terminal, in summary.json, on the page."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.classifiers.posterior import entropy
from nodecopy.core.errors import counted, listed, shortened
from nodecopy.core.metrics import reliability_curve, wilson_interval
from nodecopy.graph import Graph
from nodecopy.result.tables import COLOURS, SURE, class_bars
from nodecopy.result.words import (
    Rows,
    Words,
    packed,
    packed_bits,
    packed_shares,
    points_of,
    share_of,
)
from nodecopy.stack.held_out import HeldOut
from nodecopy.trust.components import ComponentScore
from nodecopy.trust.explanation import Explanation

if TYPE_CHECKING:
    from nodecopy.result.classes import ClassResult

_BINS = 20
# Below this many held-out labels, a reliability diagram shows chance more than calibration.
_FEW_HELD_OUT = 100
# Classes that a line names.
_LISTED = 8
_UNCHECKED = (
    "Nothing checks the sets of nodes that are predicted to be of a class without a label. "
)
# Classes that a table of mistakes has at most, and rows of the list in its place.
_MATRIX, _PAIRS = 15, 20
# Below this confidence a prediction is unsure; classes with a smaller share are not named for it.
_UNSURE, _NAMED_SHARE = 0.5, 0.02


class ClassWords(Words):
    """Classes in words."""

    _of: ClassResult
    noun = "classes"
    contradicted = " The probability is that the known label is wrong, not that the other is right."

    def line_rows(self) -> Rows:
        """Return the number of classes, confidence and the estimated accuracy."""
        confidence, names = self._of.certainty, self._of.given.class_names
        sure = f"{(confidence >= SURE).mean():.0%} of the nodes have {SURE:.0%} or more"
        return [
            ("classes", f"{len(names)}: {listed(names[:_LISTED], len(names))}"),
            ("confidence", f"median {np.median(confidence):.0%}; {sure}"),
            ("accuracy", self.estimated_line()),
        ]

    def trust_rows(self) -> Rows:
        """Return sizes of sets, and the share of classes without a label."""
        result, rows = self._of, list[tuple[str, str]]()
        if result.held_out is not None:
            sizes = result.sets().sum(1)[result.without_label]
            single = f"{(sizes == 1).mean():.0%} of the nodes have a single one"
            name = f"{100 * result.coverage:.10g}% sets"
            rows.append((name, f"{sizes.mean():.2f} classes on average; {single}"))
        if result.missing_mass is not None and result.missing_mass.share > 0:
            rows.append(("unseen", self.unseen()))
        return rows

    def own_numbers(self) -> dict[str, Any]:
        """Return counts of each class, and what held-out labels tell; null where none were."""
        result = self._of
        held, missing = result.held_out, result.missing_mass
        estimate = sets = None
        if held is not None and result.estimate is not None:
            unchecked = [result.given.class_names[k] for k in result.estimate.unchecked]
            estimate = asdict(result.estimate) | {"unchecked": unchecked}
            sizes = result.sets().sum(1)[result.without_label]
            sets = {"coverage": result.coverage, "mean_size": float(sizes.mean())}
        return {
            "classes": self._class_rows(),
            "estimated_accuracy": estimate,
            "held_out_accuracy": None if held is None else held.scores.accuracy,
            "sets": sets,
            "unseen_classes": None if missing is None else asdict(missing),
        }

    def component_score(self, component: ComponentScore) -> dict[str, Any]:
        """Return the share of held-out labels that it predicts."""
        right = component.held_out
        return {"held_out_accuracy": float(right.mean()) if len(right) else None}

    def _class_rows(self) -> list[dict[str, Any]]:
        """Return how many nodes of each class are known, predicted, and to be expected."""
        counts = self._classes()
        expected = self._of.probabilities.sum(0).tolist()
        rows = zip(*(counts[key] for key in ("names", "known", "predicted")), expected, strict=True)
        return [{"class": c, "known": n, "predicted": m, "expected": e} for c, n, m, e in rows]

    def quality(self) -> tuple[str, str]:
        """Say how many predictions should be right."""
        accuracy = self._of.estimate
        return (
            f"{accuracy.accuracy:.0%}",
            f"of the predictions should be right (95% interval {accuracy.low:.0%} to "
            f"{accuracy.high:.0%}), going by {counted(accuracy.num_labels, 'held-out label')}"
            f"{self._not_checked}.",
        )

    def doubt(self) -> tuple[str, str]:
        """Say how many predictions are unsure, and of which class the most."""
        p = self._of.probabilities[self._of.without_label]
        confidence, predicted = p.max(1), p.argmax(1)
        counts = np.bincount(predicted, minlength=p.shape[1])
        mean = np.bincount(predicted, confidence, p.shape[1]) / np.maximum(counts, 1)
        least = int(np.where(counts >= max(_NAMED_SHARE * len(p), 1), mean, np.inf).argmin())
        return (
            f"{np.mean(confidence < _UNSURE):.0%}",
            f"of the nodes have a confidence below {_UNSURE:.0%}. Least sure are predictions of "
            f"“{shortened(self._of.given.class_names[least])}”, with {mean[least]:.0%} on average.",
        )

    def known(self) -> str:
        """Return how many classes there are."""
        return f"of {len(self._of.classes):,} classes"

    def predicted(self) -> str:
        """Say what probabilities, predictions and confidence are."""
        return (
            "a probability for every class; the most probable class of a node is its prediction, "
            "and the probability of that class its confidence."
        )

    def trust(self) -> str:
        """Say what the estimated accuracy rests on, and what share of classes has no label."""
        held_out, unseen = self._of.checked_held_out, self.unseen()
        return (
            "The accuracy was estimated from the confidence of predictions, and from "
            f"{counted(len(held_out.nodes), 'held-out label')}, of which "
            f"{held_out.scores.accuracy:.0%} were predicted correctly. It holds for nodes like "
            f"the labelled ones, if the known labels are right. {unseen[:1].upper()}{unseen[1:]}."
        )

    def unseen(self) -> str:
        """Say what share of nodes has a class without any label, and what that means for sets."""
        missing = self._of.missing_mass
        if missing is None:
            return (
                "these labels cannot tell whether there are classes without a label: they are as "
                "many of each class, or were suggested, not drawn at random"
            )
        share = f"{missing.share:.0%} ± {2 * missing.error:.0%}"  # two standard errors
        if missing.share == 0:
            share = f"at most {2 * missing.error:.0%}"
        if self._of.unlabelled_classes.any():
            share = f"beside the described ones, {share}"
        sets = ", and no prediction set covers these" if missing.share > 0 else ""
        return (
            f"if labels were drawn at random, {share} of the other nodes have a class without any "
            f"label: every prediction for them is wrong{sets}"
        )

    def sections(self) -> dict[str, Any]:
        """Return the sections by name; without held-out labels, some say why they are empty."""
        held_out = self._of.held_out
        sections = {"classes": self._classes(), "confidence": self._confidence()}
        if held_out is None:
            names = ("reliability", "components", "confusion", "sets")
            sentence = f"This cannot be estimated: {self._of.why_not_estimated}."
            return sections | {name: {"sentence": sentence} for name in names}
        return sections | {
            "reliability": _reliability(held_out),
            "components": self._components(held_out),
            "confusion": _confusion(held_out, len(self._of.classes)),
            "sets": self._sets(),
        }

    def node_columns(self, nodes: NDArray[np.int64]) -> dict[str, Any]:
        """Return classes, probabilities and doubt; a node of the second type has the class -1."""
        result, (own, other, at) = self._of, self.places(nodes)
        labels, novelty = result.given.labels, result.lists.novelty
        novelty = np.zeros(len(result.labels)) if novelty is None else novelty
        posterior = result.posterior.take(at)
        dtype = np.int16 if len(result.classes) < 2**15 else np.int32
        sets = None
        if result.held_out is not None:
            sets = packed_bits(result.sets(None, posterior.probabilities))
        return {
            "known": packed(labels[nodes], dtype),
            "predicted": packed(np.where(own, posterior.probabilities.argmax(1), -other), dtype),
            "probabilities": packed_shares(posterior.probabilities),
            "entropy": packed(posterior.entropy * own, np.float32),
            "fromGraph": packed(posterior.graph_information * own, np.float32),
            "fromWeights": packed(posterior.weight_information * own, np.float32),
            "fromModel": packed(posterior.model_information * own, np.float32),
            "novelty": packed((novelty[at] * own * 1000).round(), np.uint16),  # thousandths
            "sets": sets,
        }

    def evidence(self, why: Explanation) -> dict[str, Any]:
        """Return the class that is explained, and the next one."""
        classes = self._of.classes.tolist()
        return {"label": classes.index(why.label), "against": classes.index(why.against)}

    def relation(self, relation: Graph) -> tuple[float, str]:
        """Say how much the predicted class of one end tells of that of the other."""
        classes = self._of.groups.argmax(1)  # of every node type
        information, equal, by_chance = _told(relation, classes)
        return information, (
            f"the class of one end tells {information:.0%} of the class of the other; {equal:.0%} "
            f"join equal classes, {by_chance:.0%} would by chance"
        )

    def shades(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[str, float]]]:
        """Return the colours of the classes, pale where a prediction is unsure."""
        p, k = self._of.groups[nodes], len(self._of.classes)
        own = nodes < self._of.given.num_classified
        shades = [(COLOURS[c % len(COLOURS)], opacity) for c in range(k) for opacity in (0.45, 1.0)]
        others = [(COLOURS[-1], 0.45), (COLOURS[-1], 1.0)]
        return np.where(own, p.argmax(1), k) * 2 + (p.max(1) >= SURE), [*shades, *others]

    def notebook_chart(self) -> str:
        """Return a bar for each class."""
        return class_bars(self._of.given.class_names, self._of.probabilities, self._of.labels)

    def estimated(self) -> str:
        """Return the estimated accuracy with its interval."""
        accuracy = self._of.estimate
        text = (
            f"about {accuracy.accuracy:.0%} (95 % interval {accuracy.low:.0%} to "
            f"{accuracy.high:.0%}), from {accuracy.num_labels:,} known labels, each held out in "
            "turn, and the confidence"
        )
        return f"{text}{self._not_checked}"

    @property
    def _not_checked(self) -> str:
        """Name the classes that the estimated accuracy does not check, if there are any."""
        names = [self._of.given.class_names[k] for k in self._of.estimate.unchecked]
        some = listed(names[:_LISTED], len(names))
        return f"; not checked, with fewer than two labels: {some}" if names else ""

    @property
    def suggested_first(self) -> str:  # type: ignore[override]
        """Say which nodes come first while there are fewer labels than classes."""
        few = self.num_known < len(self._of.classes)
        return " Before these come nodes that may be of a class without a label." * few

    def _classes(self) -> dict[str, Any]:
        """Return how many nodes of each class are known, predicted, and to be expected."""
        p, k, labels = self._of.probabilities, len(self._of.classes), self._of.labels
        return {
            "names": list(self._of.given.class_names),
            "known": np.bincount(labels[labels >= 0], minlength=k).tolist(),
            "predicted": np.bincount(p.argmax(1), minlength=k).tolist(),
            "expected": p.sum(0).round(1).tolist(),
        }

    def _confidence(self) -> dict[str, Any]:
        """Say how many predictions are sure, and how many are not; count them by confidence."""
        values = self._of.certainty[self._of.labels < 0]
        sentence = "Every node has a known label."
        if len(values):
            high, low = np.count_nonzero(values >= 0.9), np.count_nonzero(values < 0.5)
            sentence = (
                f"Of {counted(len(values), 'node')} without a label, {high:,} "
                f"({high / len(values):.0%}) are predicted with a confidence of 90% or more, and "
                f"{low:,} ({low / len(values):.0%}) with less than 50%."
            )
        return {"sentence": sentence, "counts": np.histogram(values, _BINS, (0, 1))[0].tolist()}

    def _components(self, held_out: HeldOut) -> dict[str, Any]:
        """Say what the pool is made of; give weight and accuracy of each component, ours first."""
        components = self._of.components
        if not components:
            return self.pool("", [])
        n, right = len(held_out.nodes), held_out.right
        best = max(components, key=lambda one: float(one.held_out.mean()))
        gap, error = best.gap(right)
        chance = "as the best of several that is partly chance"
        if isfinite(error) and abs(gap) <= 2 * error:
            points = f"{200 * error:.0f} points"
            chance = f"with so many labels, chance alone makes a difference of {points}"
        more = (
            f"Of {counted(n, 'held-out label')} it was right in {right.mean():.0%}, and the "
            f"component that did best, {best.name}, in {best.held_out.mean():.0%}; {chance}."
        )
        shares = [share_of(float(one.held_out.mean()), n) for one in components]
        return self.pool(more, shares, share_of(float(right.mean()), n))

    def _sets(self) -> dict[str, Any]:
        """Say what is promised of a prediction set; count those of one class, of two, and so on."""
        result = self._of
        sizes: NDArray[np.int64] = result.sets().sum(1)[result.without_label]
        coverage = f"{100 * result.coverage:.10g}%"
        missing = 0.0 if result.missing_mass is None else result.missing_mass.share
        most = (
            f", and {1 - missing:.0%} are the most that can, as classes without a label have the "
            "rest"
        )
        nodes, unchecked = ("the other", _UNCHECKED) if result.unchecked_share else ("all", "")
        sentence = (
            f"{unchecked}The set of a node holds its most probable classes, as many as it takes "
            f"for {coverage} of {nodes} sets to hold the true class"
            f"{most * (result.coverage > 1 - missing)}; "
            f"they have {sizes.mean():.2f} classes on average. The "
            "rate is an average over nodes, if labels were drawn at random; it is not promised for "
            "a single node or class, nor where somebody chose what to label."
        )
        counts = np.bincount(sizes, minlength=2)[1:].tolist()
        return {"sentence": sentence, "coverage": coverage, "counts": counts}


def _reliability(held_out: HeldOut) -> dict[str, Any]:
    """Say whether confidence can be taken at its word; give a point for each bin of it."""
    n = len(held_out.nodes)
    mean = float(held_out.probabilities.max(-1).mean())
    low, high = wilson_interval(held_out.scores.accuracy, n)
    if mean < low:
        verdict = "predictions are right more often than their confidence says"
    elif mean > high:
        verdict = "predictions are right less often than their confidence says"
    else:
        verdict = "the two agree within the uncertainty of so many labels"
    few = "" if n >= _FEW_HELD_OUT else f" Fewer than {_FEW_HELD_OUT} labels are a hint at most."
    sentence = (
        f"Over {counted(n, 'held-out label')}, mean confidence was {mean:.0%} and "
        f"{held_out.scores.accuracy:.0%} were right: {verdict}. On the dashed line, the share of "
        f"correct predictions equals their confidence; lines are 95% intervals.{few}"
    )
    curve = reliability_curve(held_out.probabilities, held_out.truth, n_bins=10)
    return {"sentence": sentence, "points": points_of(curve)}


def _confusion(held_out: HeldOut, k: int) -> dict[str, Any]:
    """Return counts of known labels by what was predicted; of many classes, the commonest pairs."""
    sentence = (
        f"Of {counted(len(held_out.nodes), 'held-out label')}, {held_out.right.sum():,} were "
        "predicted correctly. A row is a known label, a column what was predicted in its place."
    )
    predicted = held_out.probabilities.argmax(1)
    counts = np.bincount(held_out.truth * k + predicted, minlength=k * k).reshape(k, k)
    if k <= _MATRIX:
        return {"sentence": sentence, "counts": counts.tolist()}
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[: min(_PAIRS, np.count_nonzero(counts))]
    pairs = [[int(at // k), int(at % k), int(counts.flat[at])] for at in order]
    return {"sentence": sentence, "pairs": pairs}


def _told(graph: Graph, classes: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return the mutual information of the classes of two ends as a share of the entropy of one.

    Corrected for chance in few edges (Miller and Madow); then the share of edges that join equal
    classes, and the share to expect.
    """
    k = int(classes.max()) + 1
    pairs = np.bincount(classes[graph.row_of_entry()] * k + classes[graph.indices], minlength=k * k)
    total = max(int(pairs.sum()), 1)
    joint = pairs.reshape(k, k) / total
    rows, columns = joint.sum(1), joint.sum(0)
    chance = (
        (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * graph.num_edges or 1)
    )
    information = float(entropy(rows) + entropy(columns) - entropy(joint.ravel())) - chance
    share = max(information, 0.0) / max(float(entropy(columns)), 1e-12)
    return share, float(np.trace(joint)), float(rows @ columns)
