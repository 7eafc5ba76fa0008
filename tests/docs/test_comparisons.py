"""Comparisons of methods on made problems: rows are kept, and tables are those of the rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from benchmarks import other_kinds, wrong_graphs
from benchmarks.compared import DEFAULT, Comparison, Problem, arguments, read_rows, run, tables
from benchmarks.kinds import KINDS, as_problem
from benchmarks.paper_tables import BEGIN, END, replace_block
from nodecopy.classifiers import GivenProbabilities, LabelPropagation
from nodecopy.data import load_dataset
from tests.problems import make_task, true_labels

ROOT = Path(__file__).parents[2]
PAGES = {"wrong-graphs": wrong_graphs.COMPARISON, "other-kinds": other_kinds.COMPARISON}


def problem(labels: int, trial: int) -> Problem:
    task = make_task(trial, per_class=labels)
    return Problem(task, true_labels(task), np.arange(60, 90))


def guessing(_: int) -> GivenProbabilities:
    return GivenProbabilities(np.full((90, 3), 1 / 3))


def comparison(rows: Path, default=LabelPropagation) -> Comparison:
    methods = {"guessing": guessing, DEFAULT: lambda _: default()}
    return Comparison({"easy": problem, "easy too": problem}, methods, (2, 4), rows)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_current(name: str) -> None:
    path = ROOT / PAGES[name].rows
    if not path.exists():
        pytest.skip(f"there is no {path.name} yet")
    page = (ROOT / "docs" / f"{name}.md").read_text()
    assert page == replace_block(page, tables(PAGES[name], read_rows(path)))


def test_no_row_is_computed_twice_unless_settings_changed(tmp_path: Path) -> None:
    compared = comparison(tmp_path / "rows.jsonl")
    parser = arguments(compared, "")
    run(compared, parser.parse_args(["--trials", "1"]))
    before = compared.rows.read_text()
    assert len(before.splitlines()) == 2 * 2 * 2
    run(compared, parser.parse_args(["--trials", "1"]))
    assert compared.rows.read_text() == before
    run(compared, parser.parse_args(["--trials", "2", "--only", "easy too", "--labels", "4"]))
    assert len(compared.rows.read_text().splitlines()) == 8 + 2
    changed = comparison(compared.rows, lambda: LabelPropagation(steps=3))
    rows = run(changed, parser.parse_args(["--trials", "1"]))
    assert len(compared.rows.read_text().splitlines()) == 8 + 2 + 4
    assert len(rows) == 8 + 2  # a newer row takes the place of the older one


def test_tables_name_the_best_and_the_distance_to_it(tmp_path: Path) -> None:
    compared, rows = comparison(tmp_path / "rows.jsonl"), {}
    for trial, (guess, ours) in enumerate([(0.70, 0.68), (0.72, 0.71), (0.9, 0.99)]):
        for method, accuracy in (("guessing", guess), (DEFAULT, ours)):
            row = {"accuracy": accuracy, "nll": 1 - accuracy}
            if trial < 2:
                rows["easy", 2, trial, method] = row
            rows["easy too", 2, trial, method] = row
    rows["easy", 2, 2, "guessing"] = {"accuracy": 0.1, "nll": 9.0}  # the default has no such trial
    text = tables(compared, rows)
    assert "The default is the best in 1 of 2 cases, within 1 point of the best in 1" in text
    assert "lowest difference to the best is -1.5 points (easy)" in text
    assert "| easy | 2 | **71.0** | 69.5 | -1.5 ± 0.5 |" in text
    assert "| easy too | 3 | 77.3 | **79.3** | +2.0 ± 3.5 |" in text
    assert "| easy | 2 | **0.290** | 0.305 |" in text
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    page.write_text(replace_block(page.read_text(), text))
    assert text in page.read_text()


@pytest.mark.parametrize("name", KINDS)
def test_kinds_are_problems_made_from_a_seed(name: str) -> None:
    one, again, other = (as_problem(name, 5, trial) for trial in (0, 0, 1))
    assert one.task.graph == again.task.graph
    np.testing.assert_array_equal(one.task.train, again.task.train)
    assert one.task.graph != other.task.graph
    assert not np.intersect1d(one.task.train, one.test).size
    assert np.bincount(one.task.labels[one.task.train]).min() >= 1
    hidden = np.setdiff1d(np.arange(len(one.truth)), one.task.train)
    assert (one.task.labels[hidden] == -1).all()
    wrong = (one.task.labels[one.task.train] != one.truth[one.task.train]).mean()
    assert wrong == pytest.approx(0.2 if name.startswith("20 %") else 0.0)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_graphs_are_made_wrong_as_said(share: float) -> None:
    cora = load_dataset("cora")
    rng, edges = np.random.default_rng(0), cora.graph.num_edges
    more = wrong_graphs.added(cora, share, rng)
    assert more.num_edges == edges + round(share * edges)
    ends = cora.graph.edges()
    assert more.contains(ends[:, 0], ends[:, 1]).all()
    fewer = wrong_graphs.removed(cora, share, rng)
    assert fewer.num_edges == edges - round(share * edges)
    rewired = wrong_graphs.rewired(cora, share, rng)
    expected = cora.graph.homophily(cora.labels) * (1 - share)
    assert rewired.homophily(cora.labels) == pytest.approx(expected, abs=0.01)
    assert wrong_graphs.added(cora, 0.0, rng) == cora.graph


def test_edges_between_nodes_without_a_common_word_are_dropped() -> None:
    task = make_task()
    seen = []

    class Spy:
        def fit(self, task, seed=0, progress=None):
            seen.append(task.graph)
            return GivenProbabilities(np.full((90, 3), 1 / 3))

    wrong_graphs.SimilarEdges(Spy()).fit(task)
    words = task.features.toarray() > 0
    alike = [(u, v) for u, v in task.graph.edges() if (words[u] & words[v]).any()]
    assert [tuple(edge) for edge in seen[0].edges()] == alike
    assert 0 < len(alike) < task.graph.num_edges


def test_the_figure_shows_what_there_is() -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    cell = {"accuracy": 0.7, "nll": 1.0}
    rows = {
        (wrong_graphs.case_name("cora", "added", p), 5, trial, DEFAULT): cell
        for p in (0, 25)
        for trial in range(2)
    }
    svg = wrong_graphs.curves(rows).decode()
    assert "Cora, 5 labels a class" in svg
    assert "edges rewired, %" in svg


def test_comparisons_have_the_default() -> None:
    for compared in PAGES.values():
        assert DEFAULT in compared.methods
        assert dataclasses.is_dataclass(compared.methods[DEFAULT](5))
