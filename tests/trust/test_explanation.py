"""Explanations: evidence that adds up, exactly where a model is linear."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib import pyplot

from nodecopy import BayesianGCN, Graph, NodeCopyClassifier
from nodecopy.classifiers import DiffusionClassifier, fit_one
from nodecopy.core.errors import ModelError
from nodecopy.graph import join_relations
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.evidence import Contrast, Neighbourhood, Terms
from nodecopy.presets import best
from nodecopy.problem.problem import Problem
from nodecopy.problem.task import Task
from nodecopy.read.synthetic import planted_partition
from nodecopy.stack.stacked import FittedStack
from nodecopy.trust import explainer
from nodecopy.trust.explainer import named_views, parts_of
from nodecopy.trust.explanation import Explanation, Row
from tests.problems import make_task, networkx_graph, short_gcn

NODES = [0, 7, 40, 88, 89]  # labelled, and others; the last two have no edge, the last no word


def fitted(task: Task, method: Any = None, **arguments: Any) -> NodeCopyClassifier:
    y = np.full(task.graph.num_nodes, -1)
    y[task.train] = task.labels[task.train]
    method = best(2) if method is None else method
    return NodeCopyClassifier(method, random_state=0, **arguments).fit(task.graph, task.features, y)


def problem(kind: str) -> tuple[Task, dict[str, Any]]:
    task = make_task(3, dense=kind == "numbers")
    graph, features = task.graph, task.features
    arguments: dict[str, Any] = {}
    if kind == "numbers":
        noise = np.random.default_rng(0).normal(size=features.shape)
        features = (features + noise).astype(np.float32)
    if kind == "directed":
        graph = Graph.from_edges(90, graph.edges(), directed=True)
    if kind == "weighted":
        weights = np.random.default_rng(0).gamma(2, 3, graph.num_edges)
        graph = Graph.from_edges(90, graph.edges(), weights=weights)
    if kind == "class prior":
        arguments["class_prior"] = {0: 0.1, 1: 0.2, 2: 0.7}
    return Task.of(graph, features, task.labels, task.train, num_classes=3), arguments


@pytest.mark.parametrize("kind", ["words", "numbers", "directed", "weighted", "class prior"])
def test_evidence_adds_up_to_the_log_odds(kind: str):
    task, arguments = problem(kind)
    clf = fitted(task, **arguments)
    p = clf.predict_proba()
    for node in NODES:
        why = clf.explain(node)
        first, second = np.sort(p[node])[::-1][:2]
        assert why.label == p[node].argmax()
        assert (why.probability, why.next_probability) == pytest.approx((first, second))
        assert why.log_odds == pytest.approx(np.log(first / second), abs=1e-9)
        assert sum(row.log_odds for row in why.evidence) == pytest.approx(why.log_odds, abs=1e-9)
        assert why.bars[-1].end == pytest.approx(why.log_odds, abs=1e-9)
        if why.labels:
            assert sum(row.log_odds for row in why.labels) == pytest.approx(why.log_odds, abs=1e-9)
        if why.log_odds > 1e-3:
            assert why.to_frame()["share"].sum() == pytest.approx(1.0, abs=1e-3)


def test_nodes_are_explained_together_as_each_alone(monkeypatch: pytest.MonkeyPatch):
    task, _ = problem("words")
    result = fitted(task).result_
    monkeypatch.setattr(explainer, "_MOST_ENTRIES", 3 * 90)  # so that there are two chunks
    for together in result.explanations(NODES):
        (alone,) = result.explanations([together.node])
        assert (together.label, together.against) == (alone.label, alone.against)
        evidence = {(row.source, row.name): row.log_odds for row in alone.evidence}
        learnt = {(row.source, row.name): row.log_odds for row in together.evidence}
        assert learnt == pytest.approx(evidence, abs=1e-5)


def test_json_holds_a_waterfall_that_ends_at_the_odds():
    task, _ = problem("words")
    clf = fitted(task)
    labelled, other = clf.explain(int(task.train[0])), clf.explain(40)
    for why in (labelled, other):
        read = json.loads(why.to_json())
        at = 0.0
        for bar in read["bars"]:
            assert bar["start"] == pytest.approx(at, abs=1e-9)
            at = bar["end"]
            pieces = sum(row["log_odds"] for row in bar["rows"])
            assert bar["log_odds"] == pytest.approx(pieces, abs=1e-9)
            assert bar["sentence"].endswith(".")
        odds = np.log(read["probability"] / read["next_probability"])
        assert at == pytest.approx(odds, abs=1e-9)
    assert "own label" in [bar.source for bar in labelled.bars]
    axes = labelled.plot(other)
    drawn = [sum(bar.get_width() for bar in ax.patches) for ax in axes]
    assert drawn == pytest.approx([labelled.log_odds, other.log_odds])
    pyplot.close(axes[0].figure)


def test_every_component_of_the_default_but_the_average_is_explained_exactly():
    task, _ = problem("words")
    clf, nodes = fitted(task), np.array(NODES)
    a, b = np.array([[0, 1, 2, 0, 0], [1, 2, 0, 2, 1]])
    assert isinstance(clf.model_, FittedStack)
    for part in parts_of(clf.model_, task.graph, clf.result_.given.scaled)[1:]:
        of = Contrast(nodes, a, b, part.probabilities)
        each = part.fitted.terms(part.near, of)
        for terms, odds in list(zip(each, of.log_odds, strict=True))[:-1]:  # the last has no word
            total = sum(value for (source, _), value in terms.items() if source != "labelled node")
            assert total == pytest.approx(odds, abs=1e-5)


def test_terms_of_a_diffusion_are_its_logit_and_what_is_lost_without_a_neighbour():
    task, _ = problem("words")
    one_hop = fit_one(DiffusionClassifier(Diffusion(0.3, hops=1)), task)
    near = Neighbourhood(task.graph, task.features)
    of = Contrast(*np.array([[40], [2], [0]]), one_hop.probabilities)
    (terms,) = one_hop.terms(near, of)
    assert sum(terms.values()) == pytest.approx(of.log_odds[0], abs=1e-5)
    for neighbour in task.graph.neighbours(40).tolist():
        kept = (np.arange(90) != neighbour).astype(np.float32)
        features = sp.csr_array(sp.diags_array(kept) @ task.features)
        p = one_hop.predict(task.graph, features).probabilities
        lost = of.log_odds[0] - Contrast(*np.array([[40], [2], [0]]), p).log_odds[0]
        assert lost == pytest.approx(terms["neighbour", neighbour], abs=1e-5)


def test_the_logit_of_a_linear_model_is_a_sum_over_labels():
    """The representer theorem, by hand: W is a combination of the rows of labelled nodes."""
    task, _ = problem("words")
    linear = fit_one(DiffusionClassifier(), task)
    near = Neighbourhood(task.graph, task.features, labels=task.train)
    of = Contrast(*np.array([[40], [2], [0]]), linear.probabilities)
    (terms,) = linear.terms(near, of)
    learnt = [value for (source, _), value in terms.items() if source == "labelled node"]
    rows = Diffusion().rows(near, np.append(task.train, 40)).double().numpy()
    w = linear.weights.weights["w"][0].double().numpy()
    coefficients = np.linalg.lstsq(rows[:-1].T, w[:, 2] - w[:, 0], rcond=None)[0]
    similarity = rows[:-1] @ rows[-1]
    assert similarity @ coefficients == pytest.approx(of.log_odds[0], abs=1e-4)
    expected = (similarity - similarity.mean()) * coefficients
    np.testing.assert_allclose(learnt, expected, atol=1e-3)


def test_a_model_fitted_within_a_part_explains_any_node():
    data = planted_partition(400, 3, seed=1)
    y = np.where(np.arange(400) < 24, data.labels, -1)
    clf = NodeCopyClassifier(replace(best(2), most_nodes=60), random_state=0).fit(
        data.graph, data.features, y
    )
    assert clf.model_.part is not None  # type: ignore[attr-defined]
    for node in (0, 150, 399):
        why = clf.explain(node)
        assert why.probability == pytest.approx(clf.predict_proba([node]).max())
        assert sum(row.log_odds for row in why.evidence) == pytest.approx(why.log_odds, abs=1e-6)
        neighbours = {row.number for row in why.evidence if row.source == "neighbour"}
        assert neighbours <= set(data.graph.neighbours(node).tolist())


def test_a_model_with_layers_is_not_explained():
    task, _ = problem("words")
    why = fitted(task, BayesianGCN(n_zeta=1, n_weights=1, base=short_gcn(5, 1, 1))).explain(40)
    (row,) = [row for row in why.evidence if abs(row.log_odds) > 1e-9]
    assert (row.source, row.log_odds) == ("not explained", pytest.approx(why.log_odds))


def test_nodes_words_and_numbers_have_the_names_that_the_user_gave():
    data = planted_partition(60, 2, seed=0)
    names = [f"<{node}>" for node in range(60)]
    graph = networkx_graph(data.graph, names)
    side = np.where(data.labels == 0, "apple", "<pear>")
    text = [f"{word} is number {node} of all that there are" for node, word in enumerate(side)]
    columns = pd.DataFrame(
        {"text": text, "age": data.labels + np.random.default_rng(0).normal(size=60)}, index=names
    )
    y = {names[node]: ("<no>", "yes")[data.labels[node]] for node in range(16)}
    clf = NodeCopyClassifier(best(2), random_state=0).fit(graph, columns, y)
    why = clf.explain("<40>")
    assert why.node == "<40>"
    by_source: dict[str, set[Any]] = {}
    for row in why.evidence:
        by_source.setdefault(row.source, set()).add(row.name)
    assert "numbers together" in by_source["column"]
    assert by_source["column"] & {"apple", "pear"}
    assert by_source["neighbour"] == set(graph["<40>"])
    html = why._repr_html_()
    assert "<40>" not in html
    assert "<no>" not in html
    assert "&lt;40&gt;" in html
    assert str(why).startswith("<40>: ")
    with pytest.raises(ModelError, match="nobody"):
        clf.explain("nobody")


def test_numeric_columns_are_divided_among_their_names():
    task, _ = problem("numbers")
    rng = np.random.default_rng(0)
    told = task.labels + rng.normal(0, 0.1, 90)
    frame = pd.DataFrame({"told": told, "noise": rng.normal(size=90)})
    y = np.where(np.isin(np.arange(90), task.train), task.labels, -1)
    why = NodeCopyClassifier(best(2), random_state=0).fit(task.graph, frame, y).explain(40)
    added = {row.name: row.log_odds for row in why.evidence if row.source == "column"}
    assert set(added) == {"told", "noise", "numbers together"}
    assert abs(added["told"]) > abs(added["noise"])


def test_neighbours_are_named_with_their_relations():
    relations = {
        "cites": Graph.from_edges(3, [(0, 1)]),
        "writes": Graph.from_edges(3, [(0, 1), (0, 2)]),
    }
    graph, names = join_relations(relations), ["n", "<i>", "k"]
    given = Problem("three", graph, np.ones((3, 1)), [0, 1, -1], ["a", "b"], names=names)
    terms: Terms = {("neighbour", 1): 0.2, ("neighbour", 2): 0.1}
    why = Explanation("n", "a", "b", 0.6, 0.3, *named_views(given, 0, terms, {}))
    assert "<i> (cites, writes) ×1.2, k (writes) ×1.1" in str(why)
    assert "&lt;i&gt; (cites, writes)" in why._repr_html_()


def test_labels_of_a_tie_are_finite():
    tie = Explanation("n", "a", "b", 0.5, 0.5, (Row("column", "x", 0.0, 0),))
    assert "+0.00" in str(tie)
    assert tie.to_frame()["share"].isna().all()


def test_the_smallest_of_very_many_neighbours_are_one_row() -> None:
    leaves = 3_000
    star = Graph.from_edges(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)])
    classes = np.arange(leaves + 1) % 2
    y = np.where(np.arange(leaves + 1) < 20, classes, -1)
    why = NodeCopyClassifier("fast", random_state=0).fit(star, np.eye(2)[classes], y).explain(0)
    neighbours = [row for row in why.evidence if row.source == "neighbour"]
    assert len(neighbours) == 1_001
    assert "all other neighbours" in [row.name for row in neighbours]
    assert sum(row.log_odds for row in why.evidence) == pytest.approx(why.log_odds)
