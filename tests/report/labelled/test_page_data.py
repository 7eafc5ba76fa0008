"""What the page shows is what the fit found."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nodecopy.graph import Graph
from nodecopy.labelling import LabelledGraph, Validation
from nodecopy.report.labelled.page_data import page_data
from nodecopy.report.labelled.page_map import node_map
from nodecopy.report.labelled.page_nodes import choose_nodes, link_columns
from tests.report.labelled.fabricated import HOSTILE_IDS, contradicted, make_found


def unpacked(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), kind)


def node_of(found: LabelledGraph, data: dict[str, Any]) -> NDArray[np.int64]:
    """Return the node of the graph at each place of the page."""
    where = {str(node_id): node for node, node_id in enumerate(found.table.ids)}
    return np.array([where[node_id] for node_id in data["nodes"]["ids"]])


@pytest.fixture(scope="module")
def data(found: LabelledGraph) -> dict[str, Any]:
    return page_data(found)


def test_every_node_is_there_with_its_id_as_text(found, data):
    assert sorted(data["nodes"]["ids"]) == sorted(map(str, found.table.ids))
    assert set(HOSTILE_IDS) <= set(data["nodes"]["ids"])


def test_columns_are_those_of_the_posterior(found, data):
    nodes, columns = node_of(found, data), data["nodes"]
    posterior = found.posterior.take(nodes)
    p = unpacked(columns["probabilities"], "<u2").reshape(len(nodes), -1) / 10_000
    assert np.abs(p - posterior.probabilities).max() <= 0.00005 + 1e-12
    assert np.array_equal(unpacked(columns["predicted"], "<i2"), posterior.probabilities.argmax(1))
    assert np.array_equal(unpacked(columns["known"], "<i2"), found.table.dataset.labels[nodes])
    assert np.allclose(unpacked(columns["entropy"], "<f4"), posterior.entropy)
    assert np.allclose(unpacked(columns["fromGraph"], "<f4"), posterior.graph_information)
    assert np.allclose(unpacked(columns["fromWeights"], "<f4"), posterior.weight_information)
    assert np.allclose(unpacked(columns["fromModel"], "<f4"), posterior.model_information)
    degrees = found.table.dataset.graph.degrees[nodes]
    assert np.array_equal(unpacked(columns["degree"], "<i4"), degrees)


def test_links_are_those_of_the_graph(found, data):
    nodes, graph = node_of(found, data), found.table.dataset.graph
    offsets = unpacked(data["links"]["offsets"], "<i4")
    targets = unpacked(data["links"]["targets"], "<i4")
    for place, node in enumerate(nodes):
        shown = nodes[targets[offsets[place] : offsets[place + 1]]]
        assert sorted(shown.tolist()) == graph.neighbours(node).tolist()


def test_donors_are_those_drawn(found, data):
    nodes, donors = node_of(found, data), data["donors"]
    drawn = unpacked(donors["drawn"], "<i4").reshape(len(nodes), -1)
    assert donors["graphs"] == donors["allGraphs"] == 2
    assert np.array_equal(nodes[drawn], found.donors.nodes[:, nodes].T)
    base = found.classifier.base_proba_.argmax(1)
    assert np.array_equal(unpacked(donors["classOf"], "<i4"), base[nodes])
    assert donors["classSizes"] == np.bincount(base, minlength=3).tolist()


def test_nodes_outside_the_part_that_was_fitted_to_have_no_donors():
    found = make_found(50)
    part = np.arange(0, 50, 2)
    drawn = np.stack([np.roll(np.arange(25), shift) for shift in (1, 2, 3)]).astype(np.int32)
    donors = replace(found.donors, nodes=drawn, classes=found.donors.classes[part], part=part)
    found = replace(found, donors=donors)
    data = page_data(found)
    nodes, columns = node_of(found, data), data["donors"]
    classes = unpacked(columns["classOf"], "<i4")
    shown = unpacked(columns["drawn"], "<i4").reshape(50, 3)
    for place, node in enumerate(nodes):
        if node % 2:
            assert classes[place] == -1
            assert shown[place].tolist() == [-1] * 3
        else:
            assert classes[place] == found.posterior.probabilities[node].argmax()
            assert nodes[shown[place]].tolist() == [(node - 2 * s) % 50 for s in (1, 2, 3)]
    assert sum(columns["classSizes"]) == 25


def test_classes_are_counted_in_three_ways(found, data):
    labels, p = found.table.dataset.labels, found.posterior.probabilities
    assert data["classes"]["names"] == list(found.class_names)
    assert data["classes"]["known"] == np.bincount(labels[labels >= 0]).tolist() == [8, 8, 8]
    assert data["classes"]["predicted"] == np.bincount(p.argmax(1), minlength=3).tolist()
    assert np.allclose(data["classes"]["expected"], p.sum(0), atol=0.05)


def test_the_histogram_counts_nodes_without_a_label(data):
    assert sum(data["confidence"]["counts"]) == 61 - 24


def test_lists_name_nodes_by_their_place(found, data):
    nodes = node_of(found, data)
    assert nodes[data["next"]["nodes"]].tolist() == found.next_labels.nodes.tolist()
    assert np.allclose(data["next"]["gain"], found.next_labels.gain, atol=0.0001)
    made = make_found(30, ids=[f"n{30 - i}" for i in range(30)])
    suspects = page_data(made)["suspects"]
    ends = node_of(made, page_data(made))[np.array(suspects["nodes"])]
    assert ends.tolist() == made.suspects.nodes.tolist()
    assert suspects["total"] == 4


def test_reliability_has_a_point_for_each_bin_and_an_honest_interval():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4]])
    validation = Validation(np.arange(3), np.array([0, 1, 0]), probabilities, 2)
    found = make_found(20, 2, validation=validation)
    low, high = page_data(found)["reliability"]["points"]
    assert (low["count"], high["count"]) == (1, 2)
    assert high["accuracy"] == 0.5
    assert (high["low"], high["high"]) == (0.0945, 0.9055)


@pytest.mark.parametrize(("labels", "few"), [(99, True), (100, False)])
def test_few_validated_labels_are_said_to_be_few(labels, few):
    probabilities = np.tile([[0.7, 0.3]], (labels, 1))
    validation = Validation(np.arange(labels), np.zeros(labels, np.int64), probabilities, 5)
    sentence = page_data(make_found(200, 2, validation=validation))["reliability"]["sentence"]
    assert ("a hint at most" in sentence) is few
    assert "right more often than their confidence says" in sentence


def test_without_validation_the_page_says_why():
    data = page_data(make_found(20))
    assert data["reliability"]["points"] == []
    assert data["sets"]["counts"] == data["suspectLabels"]["nodes"] == []
    assert data["nodes"]["sets"] is None
    assert data["sets"]["sentence"].startswith("There are no prediction sets: no label was held")
    assert data["suspectLabels"]["sentence"].startswith("Known labels were not checked: no label")
    assert "no label was held out, since the model is not calibrated" in data["summary"][1]
    asked = make_found(20)
    impossible = replace(asked, settings=replace(asked.settings, calibrate=True))
    assert "that takes a class with two labels" in page_data(impossible)["summary"][1]


def test_the_estimate_of_accuracy_is_that_of_the_model(found, data):
    estimate = found.classifier.estimated_accuracy()
    assert found.accuracy == estimate
    assert f"About {estimate.accuracy:.0%} of the predictions can be" in data["summary"][1]
    assert data["facts"][3]["value"] == f"{estimate.accuracy:.0%}"
    assert data["facts"][3]["remark"] == f"95% interval {estimate.low:.0%}–{estimate.high:.0%}"


def test_sets_are_those_of_the_model_bit_by_bit(found, data):
    nodes, sets = node_of(found, data), found.classifier.predict_set()
    bits = unpacked(data["nodes"]["sets"], "u1").reshape(len(nodes), -1)
    assert np.array_equal(np.unpackbits(bits, axis=1, count=3, bitorder="little"), sets[nodes])
    unlabelled = found.table.dataset.labels < 0
    sizes = sets[unlabelled].sum(1)
    counts = data["sets"]["counts"]
    assert sum(counts) == 37
    assert counts == [np.count_nonzero(sizes == m + 1) for m in range(len(counts))]
    assert "nothing is promised" in data["sets"]["sentence"]
    assert "not promised for a single node" in data["sets"]["sentence"]


def test_suspect_labels_are_listed_in_the_order_of_the_file():
    found = make_found(40, validation=contradicted(6, 2))
    data = page_data(found)
    suspects = data["suspectLabels"]
    assert node_of(found, data)[suspects["nodes"]].tolist() == found.suspect_labels.nodes.tolist()
    assert sorted(found.suspect_labels.nodes.tolist()) == [4, 5]
    assert suspects["suggested"] == [2, 0]
    assert np.allclose(suspects["probability"], found.suspect_labels.probability, atol=0.0001)
    assert "2 known labels, each predicted without itself, came out" in suspects["sentence"]
    none = page_data(make_found(40, validation=contradicted(6, 0)))["suspectLabels"]
    assert none["nodes"] == []
    assert none["sentence"] == "Predicted without it, each known label came out as given."


def test_a_suspect_label_is_on_the_page_however_many_labels_there_are():
    found = make_found(3_000, validation=contradicted(2_900, 10))
    assert set(range(2_890, 2_900)) <= set(choose_nodes(found, 100).tolist())


def test_nodes_are_ordered_as_people_order_ids():
    ids = ["n10", "n9", "N1", "a", "n" + "9" * 5000, "n" + "0" * 4999 + "8"]
    shown = page_data(make_found(6, 2, ids=ids))["nodes"]["ids"]
    assert shown == ["a", "N1", ids[5], "n9", "n10", ids[4]]


def test_a_graph_too_large_for_the_page_keeps_what_matters():
    found = make_found(400, 4)
    chosen = set(choose_nodes(found, 60).tolist())
    assert len(chosen) == 60
    p = found.posterior.probabilities.max(1)
    needed = {*range(8), *found.next_labels.nodes, *found.suspects.nodes.ravel()}
    assert needed <= chosen
    others = np.setdiff1d(np.arange(400), list(needed))
    doubtful = others[np.argsort(p[others], kind="stable")][: int(0.75 * (60 - len(needed)))]
    assert len(doubtful) > 20
    assert set(doubtful.tolist()) <= chosen
    assert chosen == set(choose_nodes(found, 60).tolist())
    sample = chosen - needed - set(doubtful.tolist())
    seed = replace(found, settings=replace(found.settings, seed=1))
    assert not sample <= set(choose_nodes(seed, 60).tolist())
    data = page_data(found, max_nodes=60)
    assert "60 of 400 nodes" in data["leftOut"]
    assert "those with a label" in data["leftOut"]
    assert sum(data["classes"]["predicted"]) == 400
    assert unpacked(data["nodes"]["degree"], "<i4").tolist() == [2] * 60
    assert len(unpacked(data["links"]["targets"], "<i4")) < 120
    drawn = unpacked(data["donors"]["drawn"], "<i4")
    assert drawn.min() == -1
    assert drawn.max() < 60
    assert page_data(found)["leftOut"] is None


def test_half_of_the_room_is_for_labels_and_lists_are_cut_to_what_there_is_room_for():
    found = make_found(3_000, validation=contradicted(2_900, 1_000), suggestions=90)
    labels = np.where(np.arange(3_000) < 2_000, 0, -1)
    dataset = replace(found.table.dataset, labels=labels)
    found = replace(found, table=replace(found.table, dataset=dataset))
    chosen = choose_nodes(found, 100)
    assert len(chosen) == 100
    data = page_data(found, 100)
    assert len(data["suspectLabels"]["nodes"]) == len(data["next"]["nodes"]) == 20
    held = np.count_nonzero(choose_nodes(found, 100, node_map(found).first(20).nodes) < 2_000)
    assert f"{held} of 2,000 with a label" in data["leftOut"]
    differ = np.count_nonzero(found.posterior.probabilities[:2_000].argmax(1) != 0)
    assert f"{differ:,} known labels differ from them" in data["suspectLabels"]["sentence"]
    assert min(data["suspectLabels"]["nodes"] + data["next"]["nodes"]) >= 0
    listed = {*found.suspect_labels.nodes[:25], *found.next_labels.nodes[:25]}
    others = np.setdiff1d(chosen, [*listed, *found.suspects.nodes.ravel()])
    assert np.count_nonzero(others < 2_000) >= len(others) // 2


def test_hubs_keep_their_labelled_neighbours_when_links_are_many():
    star = Graph.from_edges(601, [(0, i) for i in range(1, 601)])
    first = np.arange(601) >= 590
    packed = link_columns(star, np.arange(601), first, max_links=0)
    offsets = unpacked(packed["offsets"], "<i4")
    targets = unpacked(packed["targets"], "<i4")
    assert targets[: offsets[1]].tolist() == [*range(590, 601), *range(1, 6)]
    assert np.diff(offsets)[1:].tolist() == [1] * 600


def test_what_may_be_absent():
    found = make_found(12, graphs=0, suggestions=0, suspects=0, edges=[(0, 1)])
    data = page_data(found)
    assert data["donors"] is None
    assert data["next"]["nodes"] == data["suspects"]["nodes"] == []
    assert data["facts"][0]["remark"] == "10 without an edge"
    assert data["warnings"][0].startswith("10 of 12 nodes have no edge")
