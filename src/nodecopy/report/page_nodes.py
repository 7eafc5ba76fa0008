"""Nodes and links of a page as columns packed into text, and why a node has its prediction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.rng import stream
from nodecopy.graph import Graph
from nodecopy.nn.evidence import OF_NODES, OTHERS
from nodecopy.result import Result
from nodecopy.result.words import packed
from nodecopy.trust.explanation import Bar, Explanation, Row

MAX_NODES = 20_000
# Rows of the lists of suggestions and of suspects; the files beside the page hold all.
MAX_LISTED = 500
# Neighbours of a node whose evidence a page has, as many as it draws; and pieces of other evidence.
MAX_EDGES, _PIECES = 60, 6

_DIGITS = re.compile("([0-9]+)")


def most_listed(max_nodes: int) -> int:
    """Return how many rows a list has at most, so that the page has room for all nodes in lists."""
    return min(MAX_LISTED, max_nodes // 5)


def choose_nodes(result: Result, max_nodes: int = MAX_NODES) -> NDArray[np.int64]:
    """Return the nodes that the page holds, in the order of their ids [n].

    All of them, if they are few enough; else those in its lists (suggested ones, ends of suspect
    and missing edges, those with a suspect label), some with a label, the least certain, and the
    ends of edges drawn at random, which show what the graph is like.
    """
    count = len(result.given.labels)
    nodes = np.arange(count) if count <= max_nodes else _telling_nodes(result, max_nodes)
    ids = [str(id) for id in result.given.ids[nodes]]
    order = sorted(range(len(nodes)), key=lambda place: natural(ids[place]))
    return nodes[order]


def _telling_nodes(result: Result, max_nodes: int) -> NDArray[np.int64]:
    """Return the nodes that matter most, and some others [max_nodes]."""
    rows, certainty = most_listed(max_nodes), result.certainty
    least = np.argsort(certainty, kind="stable")
    labelled = least[result.labels[least] >= 0]
    lists = result.lists
    pairs = lists.suspect_edges.nodes[:rows], lists.missing_edges.nodes[:rows]
    listed = [lists.next_labels.nodes[:rows], *(some.ravel() for some in pairs)]
    if lists.suspect_labels is not None:
        listed.append(lists.suspect_labels.nodes[:rows])
    some, graph = max_nodes // 4, result.nodes("report").graph
    drawn = ends_of_random_edges(graph, max_nodes, result.seed)
    ranked = np.concatenate([*listed, labelled[:some], least[:some], drawn, least])
    others = np.arange(len(result.labels), len(result.given.labels))  # of other node types
    ranked = np.append(ranked, others)
    return np.array(list(dict.fromkeys(ranked.tolist()))[:max_nodes], np.int64)


def ends_of_random_edges(graph: Graph, count: int, seed: int) -> NDArray[np.int64]:
    """Return both ends of edges drawn at random, which keep more links than random nodes [2n]."""
    if len(graph.indices) == 0:
        return np.zeros(0, np.int64)
    places = stream(seed, "sample of nodes").integers(len(graph.indices), size=count)
    starts = np.searchsorted(graph.indptr, places, side="right") - 1
    return np.stack([starts, graph.indices[places]], axis=1).ravel()


def natural(text: str) -> tuple[list[tuple[int, str]], str]:
    """Return a key that orders strings as people do, numbers in them by their size.

    >>> sorted(["n10", "n9", "N1", "a"], key=natural)
    ['a', 'N1', 'n9', 'n10']
    """
    key = []
    for i, part in enumerate(_DIGITS.split(text.casefold())):
        # Words and numbers alternate. A number sorts by its length, then by its digits: it may be
        # too long for an integer.
        digits = part.lstrip("0")
        key.append((len(digits), digits) if i % 2 else (0, part))
    return key, text


def place_of(nodes: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """Return where on the page each node of the graph is, -1 where it is not [N]."""
    place = np.full(num_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    return place


def node_columns(result: Result, nodes: NDArray[np.int64]) -> dict[str, Any]:
    """Return what the page shows about each of its nodes, column by column."""
    given = result.nodes("report")
    return {
        "ids": [str(id) for id in given.ids[nodes]],
        "names": None if given.titles is None else given.titles[nodes].tolist(),
        "degree": packed(given.graph.degrees[nodes], np.int32),
        **result.words.node_columns(nodes),
    }


def links_among(
    graph: Graph, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the links among some nodes [n] as offsets [n + 1] and targets, places in ``nodes``."""
    rows = graph.take_rows(nodes)
    start = np.repeat(np.arange(len(nodes)), np.diff(rows.indptr))
    end = place_of(nodes, graph.num_nodes)[rows.indices]
    here = (end >= 0) & (end != start)
    start, end = start[here], end[here]
    offsets = np.append(0, np.cumsum(np.bincount(start, minlength=len(nodes))))
    return offsets, end[np.lexsort((end, start))]


def link_relations(
    graph: Graph, nodes: NDArray[np.int64], links: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.uint8] | None:
    """Return the number of the relation of each of `links_among`, the first of several, up to 255.

    None where there are no relations.
    """
    n = len(nodes)

    def pairs(of: tuple[NDArray[np.int64], NDArray[np.int64]], back: bool) -> NDArray[np.int64]:
        start, end = np.repeat(np.arange(n), np.diff(of[0])), of[1]
        return end * n + start if back else start * n + end

    numbers = np.full(len(links[1]), 255, np.uint8)
    for number, relation in reversed(list(enumerate(graph.relations.values()))):
        some = links_among(relation, nodes)
        either = np.concatenate([pairs(some, False), pairs(some, True)])
        numbers[np.isin(pairs(links, False), either)] = min(number, 255)
    return numbers if graph.relations else None


def evidence_block(
    why: Explanation,
    place: Callable[[int], int],
    title: Callable[[int], str],
) -> dict[str, Any]:
    """Return an explanation as JSON can hold it: the bars of its waterfall.

    A bar is [source, title, sentence, log-odds, pieces, how many pieces are left out, what they
    add]; a piece is [name, log-odds, note], where the name of a node on the page is its place.

    Args:
        why: the explanation.
        place: returns where a node is on the page, given its number; -1 if it is not there.
        title: returns what people call a node, given its number.
    """

    def piece(row: Row) -> list[Any]:
        of_node = row.source in OF_NODES and row.number != OTHERS
        at = place(row.number) if of_node else -1
        name = at if at >= 0 else title(row.number) if of_node else str(row.name)
        return [name, round(row.log_odds, 4), *([row.note] if row.note else [])]

    def bar(one: Bar) -> list[Any]:
        named = [row for row in one.rows if row.name != "" and abs(row.log_odds) >= 1e-4]
        shown = named[: MAX_EDGES if one.source == "neighbour" else _PIECES]
        rest = one.log_odds - sum(row.log_odds for row in shown) if shown else 0.0
        start = one.source, one.title, one.sentence, round(one.log_odds, 4)
        return [*start, [*map(piece, shown)], len(named) - len(shown), round(rest, 4)]

    return {
        "bars": [bar(one) for one in why.bars if abs(one.log_odds) >= 1e-4],
        "labels": [*map(piece, why.top_labels)],
    }
