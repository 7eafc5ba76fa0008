"""Inspection: what a dataset looks like before anything is fitted to it, and what to beware of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from nodecopy.core.errors import counted, listed
from nodecopy.features.tag_values import tags_of
from nodecopy.graph import Graph
from nodecopy.problem.problem import Problem

# Classes, relations and columns that are shown.
_MOST = 30


@dataclass(frozen=True)
class Inspection:
    """What a dataset looks like.

    Attributes:
        components: sizes of the connected components, largest first.
        label_counts: how many labels each class has [K].
        warnings: what to beware of, in sentences.
    """

    components: NDArray[np.int64]
    label_counts: NDArray[np.int64]
    warnings: tuple[str, ...]


def inspect_dataset(problem: Problem) -> Inspection:
    """Count, and say what matters for fitting.

    >>> from nodecopy.problem.dataset import load_dataset
    >>> cora = inspect_dataset(load_dataset("cora"))
    >>> len(cora.components), int(cora.components[0]), cora.warnings
    (78, 2485, ())
    """
    graph, labels = problem.graph, problem.labels
    component = connected_components(graph.to_scipy(), directed=False)[1]
    counts = np.bincount(labels[labels >= 0], minlength=problem.num_classes)
    sizes = np.sort(np.bincount(component))[::-1]
    return Inspection(sizes, counts, tuple(_warnings(problem, component, counts)))


def inspection_lines(problem: Problem, inspection: Inspection) -> list[str]:
    """Return counts, columns and labels, then notes and warnings, as lines of text."""
    return [
        *aligned(_counts(problem, inspection)),
        *column_lines(problem),
        *listed_sentences("note", problem.notes),
        *listed_sentences("warning", inspection.warnings),
    ]


def columns_read(problem: Problem) -> list[tuple[str, str, str]]:
    """Return file and name of each column, and what became of it; X is no file."""
    if problem.read or problem.encoder is None:
        return list(problem.read) or [("X", name, "number") for name in problem.columns]
    return [("X", name, text) for name, text in problem.encoder.made.items()]


def column_lines(problem: Problem) -> list[str]:
    """Return what became of each column, of very many the first, between empty lines."""
    rows = [(*map(printable, names), text) for *names, text in columns_read(problem)]
    shown = [("file", "column", "what became of it"), *rows]
    widths = [max(len(row[at]) for row in shown) for at in (0, 1)]
    lines = [f"{file:<{widths[0]}}  {name:<{widths[1]}}  {text}" for file, name, text in shown]
    return ["", *(text for _, text in _rows("", lines)), ""] if rows else [""]


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and what they stand for, in two columns."""
    return [f"{name:<12}{text}" for name, text in rows]


def listed_sentences(what: str, sentences: Sequence[str]) -> list[str]:
    """Return notes or warnings, one in a line, each with what it is in front."""
    return [f"{what}: {printable(sentence)}" for sentence in sentences]


def printable(text: str) -> str:
    """Return text of a user's file so that it cannot control the terminal."""
    return text if text.isprintable() else repr(text)


def _warnings(
    problem: Problem, component: NDArray[np.int32], counts: NDArray[np.int64]
) -> Iterator[str]:
    graph, names = problem.graph, problem.class_names if problem.target == "class" else ()
    of_all, degrees, known = f"of {graph.num_nodes:,} nodes", graph.degrees, counts.any()
    isolated = np.count_nonzero(degrees == 0)
    if isolated:
        yield f"{isolated:,} {of_all} have no edge: only their features tell their label"
    far = ~np.isin(component, component[problem.labels >= 0]) & (degrees > 0)
    if far.any() and known:
        yield f"{np.count_nonzero(far):,} {of_all} are in components without a label"
    if not known:
        yield "no node has a label"
    single = [repr(name) for name, count in zip(names, counts, strict=False) if count == 1]
    if np.count_nonzero(counts) == 1:
        yield "all labels are of one class: a fit predicts others with a label or description"
    if single:
        yield f"a class with a single label cannot be checked: {listed(single[:5], len(single))}"


def _counts(problem: Problem, inspection: Inspection) -> list[tuple[str, str]]:
    graph, degrees, n = problem.graph, problem.graph.degrees, problem.num_nodes
    id_type = "integers" if problem.ids.dtype.kind == "i" else "strings"
    count, largest = len(inspection.components), int(inspection.components[0])
    layout = "dense" if isinstance(problem.features, np.ndarray) else "sparse"
    features = f"{problem.num_features:,} per node, {layout}"
    weighted = "" if graph.weights is None else ", weighted"
    median, mean = np.median(degrees), degrees.mean()
    known, first = int(inspection.label_counts.sum()), problem.num_classified
    noun = next(iter(problem.node_types), "nodes")
    types = ": " + ", ".join(f"{size:,} {name}" for name, size in problem.node_types.items())
    return [
        ("nodes", f"{n:,} (ids are {id_type}){types * bool(problem.node_types)}"),
        ("edges", f"{graph.num_edges:,}{weighted}"),
        *_rows("relations", _relation_rows(graph)),
        ("components", f"{count:,}, the largest of {largest:,} nodes ({largest / n:.0%})"),
        ("degrees", f"median {median:g}, mean {mean:.1f}, largest {degrees.max():,}"),
        ("features", "none" if problem.features is None else features),
        ("labels", f"{known:,} of {first:,} {noun} ({known / first:.1%})"),
        *_labels(problem, inspection.label_counts),
    ]


def _rows(name: str, lines: list[str]) -> list[tuple[str, str]]:
    """Return lines as rows, with a name before the first; of very many the first."""
    more = [f"… and {len(lines) - _MOST:,} more"] if len(lines) > _MOST else []
    return [("" if at else name, text) for at, text in enumerate([*lines[:_MOST], *more])]


def _relation_rows(graph: Graph) -> list[str]:
    counts = sorted(graph.relations.items(), key=lambda item: -item[1].num_edges)
    return [
        f"{printable(name)}: {counted(one.num_edges, 'edge')}{', directed' * one.directed}"
        for name, one in counts
    ]


def _labels(problem: Problem, counts: NDArray[np.int64]) -> list[tuple[str, str]]:
    """Return how many labels each class or tag has, or the range of numbers; nothing if none."""
    if not counts.any():
        return []
    if problem.target == "number":
        ends = np.quantile(np.repeat(problem.classes, counts), [0, 0.5, 1])
        low, middle, high = (f"{end:,.6g}" for end in ends)
        return [("numbers", f"from {low} to {high}, median {middle}")]
    names, title = problem.class_names, "classes"
    if problem.target == "tags":
        tags = tags_of(names)
        names, counts, title = tags.names, counts @ tags.members, "tags"
    named = zip(names, counts.tolist(), strict=True)
    lines = [f"{printable(name)}: {counted(count, 'label')}" for name, count in named]
    return _rows(title, lines)
