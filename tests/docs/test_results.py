"""Tables and figures of the pages are what the committed rows give; how they are computed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    acquisition,
    attacks,
    beyond,
    compared,
    debian_tables,
    explanations,
    many_labels,
    missing_edges,
    new_nodes,
    node_types,
    numbers,
    other_graphs,
    paper_tables,
    random_labels,
    reference,
    regret,
    relations,
    suspect_edges,
    tags,
    text_tables,
    trust,
    unseen_classes,
    weights,
    wrong_graphs,
)
from benchmarks.compared import DEFAULT, Comparison, ScoredTask
from benchmarks.conformal import SplitConformal, conformal_quantile
from benchmarks.paper_tables import replace_block
from benchmarks.synthetic_graphs import random_labels as random_labels_of
from nodecopy.classifiers import GivenProbabilities, LabelPropagation
from nodecopy.paper.store import CellKey, Row, read_rows
from nodecopy.paper.study import Study
from tests.paper.fabricated import make_cell
from tests.problems import make_task, true_labels

ROOT = Path(__file__).parents[2]
PINNED = re.search(r"^matplotlib==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
as_drawn = pytest.mark.skipif(
    PINNED is None or version("matplotlib") != PINNED[1], reason="drawn by another matplotlib"
)


def block(tables: Callable[[dict], str], rows: Path, name: str = "results") -> Callable[[str], str]:
    return lambda page: replace_block(page, tables(compared.read_rows(ROOT / rows)), name)


def comparison_block(comparison: Comparison, name: str = "results") -> Callable[[str], str]:
    return block(lambda rows: compared.tables(comparison, rows), comparison.rows, name)


NODES = comparison_block(node_types.COMPARISON, node_types.BLOCK)
ATTACKS = block(attacks.tables, attacks.COMPARISON.rows, attacks.BLOCK)
SUSPECTS = block(suspect_edges.tables, suspect_edges.COMPARISON.rows, suspect_edges.BLOCK)
MISSING = block(missing_edges.tables, missing_edges.COMPARISON.rows, missing_edges.BLOCK)
RANDOM = block(random_labels.tables, random_labels.COMPARISON.rows, random_labels.BLOCK)
UNSEEN = block(unseen_classes.tables, unseen_classes.COMPARISON.rows, "unseen")

PAGES: dict[str, Callable[[str], str]] = {
    "acquisition.md": block(acquisition.tables, acquisition.COMPARISON.rows),
    "explanations.md": block(explanations.tables, explanations.COMPARISON.rows),
    "methods.md": lambda page: beyond.page_text(
        page, ROOT / paper_tables.RESULTS, ROOT / beyond.ROWS
    ),
    "new-nodes.md": block(new_nodes.tables, new_nodes.ROWS),
    "numbers.md": block(numbers.tables, numbers.ROWS),
    "node-types.md": lambda page: NODES(comparison_block(relations.COMPARISON)(page)),
    "large.md": block(many_labels.table, many_labels.COMPARISON.rows),
    "other-graphs.md": comparison_block(other_graphs.COMPARISON),
    "reference/index.md": reference.page_text,
    "regret.md": block(regret.tables, regret.COMPARISON.rows, "regret"),
    "tags.md": block(tags.tables, tags.COMPARISON.rows),
    "tables.md": block(debian_tables.tables, debian_tables.COMPARISON.rows, "debian"),
    "text.md": block(text_tables.tables, text_tables.LARGE.rows),
    "trust.md": lambda page: UNSEEN(RANDOM(block(trust.tables, trust.ROWS)(page))),
    "weights.md": block(weights.tables, weights.COMPARISON.rows),
    "wrong-graphs.md": lambda page: ATTACKS(
        MISSING(SUSPECTS(comparison_block(wrong_graphs.COMPARISON)(page)))
    ),
}


@pytest.fixture(scope="module", autouse=True)
def rows_of_the_paper_are_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(read_rows)
        patch.setattr(beyond, "read_rows", once)
        patch.setattr(paper_tables, "read_rows", once)
        yield


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_current(name: str) -> None:
    page = (ROOT / "docs" / name).read_text()
    assert page == PAGES[name](page)


@as_drawn
def test_the_readme_and_the_paper_tables_are_current() -> None:
    places = paper_tables.Places().under(ROOT)
    for path, content in paper_tables.readme_files(places).items():
        assert alike(path.read_text(), content.decode()), "run python -m benchmarks.paper_tables"


@as_drawn
def test_the_figure_of_the_methods_is_current() -> None:
    study = beyond.read_study(ROOT / paper_tables.RESULTS, ROOT / beyond.ROWS)
    drawn = beyond.figure(study).svg.decode()
    assert alike((ROOT / beyond.FIGURE).read_text(), drawn), "run python -m benchmarks.beyond"


def alike(one: str, other: str) -> bool:
    """Compare two files up to identifiers and last digits, which the layout of a figure changes."""
    texts = [re.sub(r"\b[a-z]{1,2}[0-9a-f]{10}\b", "id", text) for text in (one, other)]
    words = [re.sub(r"\d+\.\d+", "number", text) for text in texts]
    numbers = [[float(number) for number in re.findall(r"\d+\.\d+", text)] for text in texts]
    return words[0] == words[1] and np.allclose(*numbers, rtol=0, atol=0.005)


def comparison(rows: Path) -> Comparison:
    def problem(labels: int, trial: int) -> ScoredTask:
        task = make_task(trial, per_class=labels)
        return ScoredTask(task, true_labels(task), np.arange(60, 90))

    guess = GivenProbabilities(np.full((90, 3), 1 / 3))
    methods = {"guessing": lambda _: guess, DEFAULT: lambda _: LabelPropagation()}
    return Comparison({"easy": problem, "easy too": problem}, methods, (2, 4), rows)


def test_comparisons_use_the_trials_that_all_methods_have(tmp_path: Path) -> None:
    rows = {}
    for trial, (guess, ours) in enumerate([(0.70, 0.68), (0.72, 0.71)]):
        for method, accuracy in (("guessing", guess), (DEFAULT, ours)):
            rows["easy", 2, trial, method] = {"accuracy": accuracy, "nll": 1 - accuracy}
    rows["easy", 2, 2, "guessing"] = {"accuracy": 0.1, "nll": 9.0}  # the default has no such trial
    text = compared.tables(comparison(tmp_path / "rows.jsonl"), rows)
    assert "| easy | **71.0** | 69.5 | -1.5* |" in text


def test_methods_are_paired_by_split() -> None:
    rows = make_cell("cora", "random", 5, "best", [70.0, 80.0, 80.0])
    rows += make_cell("cora", "random", 5, "appnp", [71.0])
    study, key = Study(rows), CellKey("cora", "random", "best", 5)
    gap = beyond.paired(study, key, "appnp")
    assert gap is not None
    assert (gap.n, gap.mean) == (1, pytest.approx(-0.01))
    assert not beyond.beats_all(study, key, "accuracy", 1)


def test_calibration_is_pooled_over_trials() -> None:
    cells = make_cell("cora", "random", 5, "best", [50.0, 50.0])
    empty = (None, None, 0)
    bins = [((0.9, 0.5, 100), empty, (0.4, 0.6, 100)), ((0.9, 1.0, 300), empty, empty)]
    rows = [
        Row(row.trial, replace(row.result, reliability=held))
        for row, held in zip(cells, bins, strict=True)
    ]
    # Bin by bin: |100·0.4 - 300·0.1| = 10 and |-100·0.2| = 20 of 500 nodes.
    error, gap = beyond.pooled_calibration(rows)
    assert error == pytest.approx(30 / 500)
    assert gap == pytest.approx((10 - 20) / 500)


def test_nodes_of_a_class_without_labels_are_errors() -> None:
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    row = compared.scored(p, np.array([0, 1, 1, 2]))  # two classes have labels
    assert row["accuracy"] == 0.5
    assert row["balanced accuracy"] == 0.5  # 1, 1/2, 0
    assert row["nll"] == pytest.approx(-np.log([0.9, 0.8, 0.4]).mean(), abs=1e-5)
    assert compared.pooled_error([row]) == pytest.approx((0.1 + 0.2 + 0.6 + 0.7) / 4)


def test_classes_without_labels_have_the_highest_numbers() -> None:
    truth = np.array([2, 2, 0, 1, -1, 3, 3, 0])
    rng = np.random.default_rng(0)
    train, renumbered, classes = random_labels_of(truth, 3, rng)
    assert len(np.unique(truth[train])) == classes == renumbered[train].max() + 1
    assert np.array_equal(np.unique(renumbered), np.arange(-1, 4))
    assert np.array_equal(renumbered < 0, truth < 0)
    for k in range(4):
        assert len(np.unique(renumbered[truth == k])) == 1


@pytest.mark.parametrize("score", ["LAC", "APS", "diffused APS"])
def test_split_conformal_sets_have_the_requested_coverage(score: str) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 4000)
    truth = (p.cumsum(1) > rng.random((4000, 1))).argmax(1)
    task = make_task(num_nodes=4000, per_class=2)
    problem = ScoredTask(task, truth, np.arange(2000, 4000), np.arange(2000))
    row = SplitConformal(GivenProbabilities(p), score, coverage=0.8).measure(problem, 0)
    assert row["set coverage"] == pytest.approx(0.8, abs=0.04)
    assert 1 < row["set size"] < 3


def test_with_too_few_scores_every_class_is_in_the_set() -> None:
    assert conformal_quantile(np.arange(8.0), 0.9) == np.inf
    assert conformal_quantile(np.arange(9.0), 0.9) == 8.0
