"""What the page of a fit shows, words and values, as JSON can hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.report import page_nodes
from nodecopy.report.map import Links, column_blocks, packed_links, packed_positions
from nodecopy.report.page_nodes import MAX_NODES, evidence_block
from nodecopy.result import Result
from nodecopy.result.words import packed


def page_data(result: Result, source: str, max_nodes: int = MAX_NODES) -> dict[str, Any]:
    """Return everything the page shows; long columns are packed, see `nodecopy.result.words`.

    Nodes are named by their place on the page, 0 … n-1, in the order of their ids.

    Args:
        result: what to show.
        source: what was read.
        max_nodes: how many nodes the page holds at most.
    """
    rows = page_nodes.most_listed(max_nodes)
    nodes = page_nodes.choose_nodes(result, max_nodes)
    given, lists, words = result.nodes("report"), result.lists, result.words
    graph = given.graph
    place = page_nodes.place_of(nodes, graph.num_nodes)
    links = page_nodes.links_among(graph, nodes)
    relations = page_nodes.link_relations(graph, nodes, links)

    def listing(sentence: str, of: NDArray[np.int64], **columns: NDArray[Any]) -> dict[str, Any]:
        """Return the first rows of a list of nodes, or of pairs of them."""
        count = min(rows, len(of))
        values = {
            name: (column[:count].round(4) if column.dtype.kind == "f" else column[:count]).tolist()
            for name, column in columns.items()
        }
        listed = place[of[:rows]].tolist()
        return {"sentence": sentence, "total": len(of), "nodes": listed} | values

    chosen, edges, suspects = lists.next_labels, lists.suspect_edges, lists.suspect_labels
    missing = lists.missing_edges
    contradicted, columns = np.zeros(0, np.int64), {}
    if suspects is not None:
        contradicted = suspects.nodes[: words.listed_suspects()]
        columns = words.suspect_values()
    evidence, sections = _evidence(result, place), words.sections()
    return {
        "target": result.target,
        "files": source,
        "method": words.method(),
        "answers": words.answers(),
        "facts": words.facts(),
        "summary": words.summary(),
        "warnings": [f"{text[:1].upper()}{text[1:]}." for text in words.warnings()],
        "columns": words.columns(),
        "relations": words.relations(),
        "notes": list(given.notes),
        "otherTypes": list(given.node_types)[1:],
        "leftOut": _left_out(len(nodes), graph.num_nodes),
        "total": len(result.labels),
        **sections,
        "next": listing(words.suggestions(), chosen.nodes, gain=chosen.gain),
        "suspectLabels": listing(words.suspect_labels(), contradicted, **columns),
        "suspects": listing(words.suspect_edges(), edges.nodes, surprise=edges.surprise),
        "missing": listing(words.missing_edges(), missing.nodes, probability=missing.probability)
        | ({"relation": missing.relation[:rows].tolist()} if graph.relations else {}),
        "nodes": page_nodes.node_columns(result, nodes),
        "links": packed_links(links, relations) | {"relationNames": list(graph.relations)},
        "map": _map(result, nodes, links),
        "evidence": evidence,
    }


def _map(result: Result, nodes: NDArray[np.int64], links: Links) -> dict[str, Any]:
    """Return where the nodes lie, and what they can be coloured by.

    A held-out label that was predicted is 1, another one 2; a node without one is 0.
    """
    given = result.nodes("report")
    outcome = np.zeros(given.num_nodes)
    if (held_out := result.held_out) is not None:
        outcome[held_out.nodes] = np.where(result.right, 1, 2)
    return {
        "positions": packed_positions(links, result.groups[nodes], result.seed),
        "heldOut": packed(outcome[nodes], np.uint8),
        "columns": column_blocks(given.plain, nodes),
    }


def _evidence(result: Result, place: NDArray[np.int64]) -> dict[str, Any]:
    """Return why nodes have their prediction, by their place on the page."""
    title = result.nodes("report").title
    return {
        str(place[node]): result.words.evidence(why)
        | evidence_block(why, lambda at: int(place[at]), title)
        for node, why in result.lists.explanations.items()
        if place[node] >= 0
    }


def _left_out(shown: int, total: int) -> str | None:
    """Say which nodes the page does not hold; None if it holds all."""
    if shown == total:
        return None
    return (
        f"The page holds {shown:,} of {total:,} nodes, so that it stays under 5 MB: those of "
        "its lists, labelled ones, the least certain, and ends of edges drawn at random. Charts "
        "count all nodes, and predictions.csv lists them."
    )
