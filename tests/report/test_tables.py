"""The tables say what the rows hold, and what they do not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from nodecopy.experiment.store import Row, Run
from nodecopy.report.agreement import compare_with_paper
from nodecopy.report.paired import paired_tables, paired_tests
from nodecopy.report.statistics import holm
from nodecopy.report.study import CellKey, Study
from nodecopy.report.tables import (
    accuracy_tables,
    cost_table,
    disagreement_table,
    provenance_table,
    score_tables,
)
from nodecopy.report.text_table import TextCell, TextTable
from tests.report.fabricated import make_cell, small_study


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.of(small_study(), {"label-propagation": "Label propagation"})


def find(table: TextTable, block: str, row: str, column: str) -> TextCell:
    (rows,) = [b.rows for b in table.blocks if b.heading == block]
    (cells,) = [cells for heading, cells in rows if heading == row]
    return cells[table.columns.index(column)]


def test_tables_1_to_3_are_whole(study: Study) -> None:
    tables = accuracy_tables(study, compare_with_paper(study))
    assert [table.title for table in tables] == [
        "Table 1. Cora: accuracy in %",
        "Table 2. CiteSeer: accuracy in %",
        "Table 3. PubMed: accuracy in %",
    ]
    names = ["ChebyNet", "GCNN", "GAT", "BGCN (MMSBM)", "BGCN (node copying)"]
    for table in tables:
        assert table.columns == ("5 labels", "10 labels", "20 labels")
        assert [block.heading for block in table.blocks] == ["Random split", "Fixed split"]
        for block in table.blocks:
            assert [heading for heading, _ in block.rows][:5] == names
            assert all(len(cells) == 3 for _, cells in block.rows)
    further = [heading for heading, _ in tables[0].blocks[1].rows][5:]
    assert further == ["Label propagation"]


@pytest.mark.parametrize(
    ("table", "place", "cell"),
    [
        (
            0,
            ("Random split", "GCNN", "5 labels"),
            TextCell("70.0 ± 3.7", ("paper 70.0 ± 3.7", "se 1.17, n 10"), "✓ 0.0", "agrees"),
        ),
        (
            0,
            ("Fixed split", "GCNN", "5 labels"),
            TextCell("77.4 ± 0.8", ("paper 74.4 ± 0.8", "se 0.18, n 20"), "▲ +3.0", "higher"),
        ),
        (
            0,
            ("Fixed split", "BGCN (node copying)", "5 labels"),
            TextCell("72.1 ± 1.3", ("paper 75.1 ± 1.3", "se 0.29, n 20"), "▼ −3.0", "lower"),
        ),
        (
            1,
            ("Random split", "GAT", "20 labels"),
            TextCell("not run", ("paper 67.6 ± 2.3",), "", "absent"),
        ),
        (
            2,
            ("Fixed split", "GAT", "20 labels"),
            TextCell("77.0", ("paper 76.9 ± 0.5", "n 1"), "? +0.1", "untested"),
        ),
        (
            0,
            ("Fixed split", "Label propagation", "5 labels"),
            TextCell("70.0 ± 0.0", ("se 0.00, n 20",)),
        ),
        (
            0,
            ("Fixed split", "Label propagation", "10 labels"),
            TextCell("not run", (), "", "absent"),
        ),
    ],
)
def test_cells(study: Study, table: int, place: tuple[str, str, str], cell: TextCell) -> None:
    assert find(accuracy_tables(study, compare_with_paper(study))[table], *place) == cell


def test_a_dataset_and_a_label_count_that_the_paper_does_not_have() -> None:
    rows = make_cell("karate", "random", 3, "gcn", [50.0, 60.0])
    rows += make_cell("cora", "fixed", 40, "gcn", [84.0, 85.0])
    study = Study.of(rows)
    tables = accuracy_tables(study, compare_with_paper(study))
    assert tables[0].columns == ("5 labels", "10 labels", "20 labels", "40 labels")
    assert find(tables[0], "Fixed split", "GCNN", "40 labels").text == "84.5 ± 0.7"
    assert tables[3].title == "karate: accuracy in %"
    assert tables[3].columns == ("3 labels",)
    assert find(tables[3], "Random split", "GCNN", "3 labels").text == "55.0 ± 7.1"
    assert len(tables[3].blocks) == 1


def test_the_cells_that_do_not_agree_are_listed(study: Study) -> None:
    table = disagreement_table(study, compare_with_paper(study))
    ((first, higher), (second, lower)) = table.blocks[0].rows
    assert first == "Cora, fixed split, 5 labels, GCNN"
    assert second == "Cora, fixed split, 5 labels, BGCN (node copying)"
    assert [cell.text for cell in higher] == [
        "77.4 ± 0.8",
        "74.4 ± 0.8",
        "",
        "+2.6 to +3.4",
        "p < 0.001",
    ]
    assert (higher[2].badge, higher[2].mark) == ("▲ +3.0", "higher")
    assert (lower[2].badge, lower[2].mark) == ("▼ −3.0", "lower")


def test_pairs_are_trials_of_the_same_seed(study: Study) -> None:
    tests = paired_tests(study)
    key = CellKey("cora", "random", "gcn", 5)
    own, other = study.accuracy(key._replace(method="copying")), study.accuracy(key)
    gaps = np.array([own[seed] - other[seed] for seed in range(8)])  # copying has 8 trials, GCNN 10
    test, _ = tests[key]
    assert test.n == 8
    assert test.difference == pytest.approx(gaps.mean())
    assert test.p == pytest.approx(scipy.stats.wilcoxon(gaps).pvalue)
    assert CellKey("pubmed", "fixed", "gat", 20) not in tests  # node copying was not run there
    assert not any(key.method == "copying" for key in tests)


def test_paired_p_values_are_corrected_together(study: Study) -> None:
    tests = paired_tests(study)
    assert len(tests) == 6
    assert [p for _, p in tests.values()] == holm([test.p for test, _ in tests.values()])


def test_paired_tables(study: Study) -> None:
    tables = paired_tables(study)
    assert [table.title.split(":")[0] for table in tables] == ["Cora", "CiteSeer"]
    cell = find(tables[0], "Fixed split", "GCNN", "5 labels")
    assert cell.badge == "▼ −5.3"
    assert cell.mark == "lower"
    assert cell.notes == ("p < 0.001", "0 better, 0 equal, 20 worse")
    cell = find(tables[0], "Random split", "GCNN", "10 labels")
    assert (cell.badge, cell.mark) == ("", "")
    assert cell.text.startswith("+")
    assert paired_tables(Study.of(make_cell("cora", "fixed", 5, "gcn", [70.0]))) == []


def test_scores_leave_out_what_is_no_number() -> None:
    rows = make_cell("cora", "fixed", 5, "gcn", [70.0, 71.0, 100.0])
    scores = [
        replace(row.result, nll=nll, error_auroc=auroc, ece_width=0.125, brier=0.5)
        for row, nll, auroc in zip(rows, (1.0, 2.0, 3.0), (0.7, 0.8, math.nan), strict=True)
    ]
    study = Study.of([Row(row.trial, result) for row, result in zip(rows, scores, strict=True)])
    cell = find(score_tables(study)[0], "Fixed split", "GCNN", "5 labels")
    assert cell.text == "NLL 2.000"
    assert cell.notes == ("ECE 12.5 %", "Brier 0.500", "error AUROC 0.750")


def test_cost_is_mean_time_and_largest_memory() -> None:
    rows = make_cell("cora", "fixed", 5, "gcn", [70.0])
    rows += make_cell("cora", "random", 20, "gcn", [80.0, 81.0])
    costs = [(1.0, 300.0), (4.0, 1500.0), (5.5, 400.0)]
    study = Study.of(
        Row(row.trial, replace(row.result, cpu_seconds=cpu, peak_megabytes=peak))
        for row, (cpu, peak) in zip(rows, costs, strict=True)
    )
    table = cost_table(study)
    assert table.columns == ("Cora",)
    assert table.blocks[0].rows == (("GCNN", (TextCell("3.5 s", ("peak 1,500 MB", "n 3")),)),)


def test_provenance_names_versions_seeds_specification_and_machine(study: Study) -> None:
    run = Run(
        id="1",
        experiment="table1",
        spec_digest="abc123",
        spec="{}",
        planned=10,
        executor="Serial()",
        machine={"cpu": "Example 9000", "cores": "2"},
        versions={},
        started="2026-01-01T00:00:00Z",
    )
    other = replace(run, id="2", executor="Processes(workers=2)")
    first, *rest = study.rows
    newer = Row(
        first.trial, replace(first.result, versions={**first.result.versions, "torch": "9"})
    )
    told = provenance_table(Study.of([newer, *rest], runs=[run, other]))
    facts = {name: cells[0].text for name, cells in told.blocks[0].rows}
    assert facts["trials"] == f"{len(study.rows)} in 12 cells"
    assert facts["trials per cell"] == "1 to 20"
    assert facts["seeds"] == "0 to 19"
    assert facts["torch"] == "2.13.0; 9"
    assert facts["experiment"] == "table1, specification abc123"
    assert facts["executor"] == "Processes(workers=2); Serial()"
    assert facts["machine"] == "cpu Example 9000, cores 2"
    assert facts["digest of the trials"] == study.digest != Study.of(rest).digest
