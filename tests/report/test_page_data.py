"""The page shows the values of the result."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import rankdata

from nodecopy.graph import Graph, join_relations
from nodecopy.report.page import page_data
from nodecopy.report.page_nodes import choose_nodes, link_relations, links_among
from nodecopy.result import Result
from tests.report.fabricated import HOSTILE_IDS, contradicted, make_result


def unpacked(text: str, dtype: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), dtype)


def node_of(result: Result, data: dict[str, Any]) -> NDArray[np.int64]:
    """Return the node of the graph at each place of the page."""
    where = {str(node_id): node for node, node_id in enumerate(result.given.ids)}
    return np.array([where[node_id] for node_id in data["nodes"]["ids"]])


@pytest.fixture(scope="module")
def data(result: Result) -> dict[str, Any]:
    return page_data(result, "tables")


def test_columns_and_links_are_those_of_the_result(result, data):
    nodes, columns, graph = node_of(result, data), data["nodes"], result.given.graph
    assert set(HOSTILE_IDS) <= set(columns["ids"])
    assert len(nodes) == 61
    posterior = result.posterior.take(nodes)
    p = unpacked(columns["probabilities"], "<u2").reshape(len(nodes), -1) / 10_000
    assert np.abs(p - posterior.probabilities).max() <= 0.00005 + 1e-12
    assert np.array_equal(unpacked(columns["predicted"], "<i2"), posterior.probabilities.argmax(1))
    assert np.array_equal(unpacked(columns["known"], "<i2"), result.given.labels[nodes])
    for name, part in {
        "entropy": posterior.entropy,
        "fromGraph": posterior.graph_information,
        "fromWeights": posterior.weight_information,
        "fromModel": posterior.model_information,
    }.items():
        assert np.allclose(unpacked(columns[name], "<f4"), part)
    assert np.array_equal(unpacked(columns["degree"], "<i4"), graph.degrees[nodes])
    sets = result.sets()
    bits = unpacked(columns["sets"], "u1").reshape(len(nodes), -1)
    assert np.array_equal(np.unpackbits(bits, axis=1, count=3, bitorder="little"), sets[nodes])
    degrees, targets = (unpacked(data["links"][key], "<u2") for key in ("degrees", "targets"))
    starts = nodes[np.repeat(np.arange(len(nodes)), degrees)]
    drawn = {tuple(sorted(pair)) for pair in zip(starts, nodes[targets], strict=True)}
    assert drawn == set(map(tuple, graph.edges().tolist()))
    assert [column["name"] for column in data["map"]["columns"]] == [f"f{d}" for d in range(6)]
    codes = unpacked(data["map"]["columns"][0]["codes"], "u1")
    values = np.asarray(result.given.features[:, 0]).ravel()[nodes]
    assert np.array_equal(codes, (254 * rankdata(values) / 60 - 254 / 60).round())
    right, held_out = np.zeros(len(nodes)), result.held_out
    right[held_out.nodes] = np.where(held_out.right, 1, 2)
    assert np.array_equal(unpacked(data["map"]["heldOut"], "u1"), right[nodes])


def test_evidence_is_that_of_the_explanations(result, data):
    nodes = node_of(result, data)
    assert len(data["evidence"]) == len(nodes)
    for place, block in data["evidence"].items():
        why = result.lists.explanations[nodes[int(place)]]
        assert result.given.class_names[block["label"]] == why.label
        assert sum(bar[3] for bar in block["bars"]) == pytest.approx(why.log_odds, abs=0.001)
        for _, _, _, total, pieces, _, rest in block["bars"]:
            if pieces:
                assert sum(piece[1] for piece in pieces) + rest == pytest.approx(total, abs=0.01)


def test_counts_and_lists_are_those_of_the_result(result, data):
    labels, p = result.given.labels, result.probabilities
    assert data["classes"]["names"] == list(result.given.class_names)
    assert data["classes"]["known"] == np.bincount(labels[labels >= 0]).tolist() == [8, 8, 8]
    assert data["classes"]["predicted"] == np.bincount(p.argmax(1), minlength=3).tolist()
    assert np.allclose(data["classes"]["expected"], p.sum(0), atol=0.05)
    assert sum(data["confidence"]["counts"]) == sum(data["sets"]["counts"]) == 61 - 24
    nodes = node_of(result, data)
    assert nodes[data["next"]["nodes"]].tolist() == result.lists.next_labels.nodes.tolist()
    assert np.allclose(data["next"]["gain"], result.lists.next_labels.gain, atol=0.0001)
    estimate = result.estimate
    good, unsure, _ = data["answers"]
    assert good["value"] == f"{estimate.accuracy:.0%}"
    assert f"{estimate.low:.0%} to {estimate.high:.0%}" in good["words"]
    assert unsure["value"] == f"{(p[labels < 0].max(1) < 0.5).mean():.0%}"
    made = make_result(30, ids=[f"n{30 - i}" for i in range(30)])
    suspects = page_data(made, "tables")["suspects"]
    ends = node_of(made, page_data(made, "tables"))[np.array(suspects["nodes"])]
    assert ends.tolist() == made.lists.suspect_edges.nodes.tolist()
    wrong = np.minimum(1, 0.01 * made.lists.suspect_edges.surprise).sum()  # the rule of the column
    assert f"about {wrong:.0f} of these" in suspects["sentence"]
    missing = page_data(made, "tables")["missing"]
    ends = node_of(made, page_data(made, "tables"))[np.array(missing["nodes"])]
    assert ends.tolist() == made.lists.missing_edges.nodes.tolist()
    assert missing["probability"] == [0.5, 0.25]


def test_without_validation_the_page_says_why():
    data = page_data(make_result(20), "")
    assert data["nodes"]["sets"] is None
    assert data["suspectLabels"]["nodes"] == []
    for section in ("reliability", "components", "confusion", "sets"):
        assert list(data[section]) == ["sentence"]
        assert "no label was held out" in data[section]["sentence"]
    assert data["suspectLabels"]["sentence"].startswith("Known labels were not checked: no label")
    assert "no label was held out, since the model is not calibrated" in data["summary"][1]
    impossible = page_data(make_result(20, per_class=1), "")
    assert "that takes a class with two labels" in impossible["summary"][1]


def test_suspect_labels_are_listed_in_the_order_of_the_file():
    result = make_result(40, held_out=contradicted(6, 2))
    data = page_data(result, "tables")
    suspects = data["suspectLabels"]
    expected = result.suspect_labels
    assert node_of(result, data)[suspects["nodes"]].tolist() == expected.nodes.tolist()
    assert sorted(expected.nodes.tolist()) == [4, 5]
    assert suspects["predicted"] == [2, 0]
    assert np.allclose(suspects["probability"], expected.probability, atol=0.0001)
    assert "2 known labels" in suspects["sentence"]
    none = page_data(make_result(40, held_out=contradicted(6, 0)), "")["suspectLabels"]
    assert none["nodes"] == []


def test_a_graph_too_large_for_the_page_keeps_what_matters():
    result = make_result(400, 4)
    chosen = set(choose_nodes(result, 60).tolist())
    assert len(chosen) == 60
    p = result.probabilities.max(1)
    needed = {*range(8), *result.lists.next_labels.nodes, *result.lists.suspect_edges.nodes.ravel()}
    assert needed <= chosen
    doubtful = set(np.argsort(p, kind="stable")[:15].tolist())
    assert doubtful <= chosen
    rest = chosen - needed - doubtful
    assert len(rest) > 15
    assert sum(bool({node - 1, node + 1} & chosen) for node in rest) >= len(rest) - 1
    data = page_data(result, "", max_nodes=60)
    assert "60 of 400 nodes" in data["leftOut"]
    assert sum(data["classes"]["predicted"]) == 400
    assert unpacked(data["nodes"]["degree"], "<i4").tolist() == [2] * 60
    assert 0 < len(unpacked(data["links"]["targets"], "<u2")) < 60
    assert page_data(result, "tables")["leftOut"] is None


def test_relations_are_ordered_by_what_they_tell_about_the_classes(result):
    classes = result.probabilities.argmax(1)
    alike = [np.flatnonzero(classes == k) for k in np.unique(classes)]
    agrees = np.concatenate([np.stack([group, np.roll(group, 1)], 1) for group in alike])
    pairs = np.random.default_rng(0).integers(len(classes), size=(4000, 2))
    relations = {
        "noise": Graph.from_edges(len(classes), pairs),
        "cites": Graph.from_edges(len(classes), agrees, directed=True),
    }
    given = replace(result.given, graph=join_relations(relations))
    shown = page_data(replace(result, given=given), "")["relations"]
    assert [text.split(":")[0] for text in shown] == ["cites", "noise"]
    assert "directed" in shown[0]
    assert "tells 97% of" in shown[0]
    assert page_data(result, "tables")["relations"] == []


def test_labels_that_are_hardly_wrong_are_counted_and_not_listed():
    result = make_result(60, held_out=contradicted(6, 2))
    suspects = result.suspect_labels
    hardly = replace(suspects, probability=np.full(len(suspects.nodes), 0.001))
    vars(result.lists)["suspect_labels"] = hardly
    data = page_data(result, "")
    assert data["suspectLabels"]["nodes"] == []
    assert "2 known labels, but none" in data["suspectLabels"]["sentence"]
    assert "4 were predicted correctly" in data["confusion"]["sentence"]


def test_links_have_the_number_of_their_relation():
    relations = {
        "cites": Graph.from_edges(4, [(0, 1), (2, 1)], directed=True),
        "writes": Graph.from_edges(4, [(0, 1), (1, 3)]),
    }
    graph, nodes = join_relations(relations), np.array([3, 1, 0, 2])
    offsets, targets = links = links_among(graph, nodes)
    starts = np.repeat(nodes, np.diff(offsets))
    numbers = link_relations(graph, nodes, links)
    ends = map(frozenset, zip(starts.tolist(), nodes[targets].tolist(), strict=True))
    assert dict(zip(ends, numbers.tolist(), strict=True)) == {
        frozenset({0, 1}): 0,
        frozenset({1, 2}): 0,
        frozenset({1, 3}): 1,
    }
    assert link_relations(relations["writes"], nodes, links) is None
