"""The page of the default method beside others: counts, means and intervals from rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.beyond import (
    PAGE,
    ROWS,
    beats_all,
    beyond_block,
    main,
    page_text,
    paired,
    pooled_calibration,
)
from benchmarks.paper_tables import BEGIN, END
from benchmarks.paper_tables import RESULTS as PAPER
from nodecopy.experiment.export import export_rows, read_jsonl
from nodecopy.experiment.outcome import Row
from nodecopy.experiment.store import Store
from nodecopy.report.study import CellKey, Study
from tests.report.fabricated import make_cell

ROOT = Path(__file__).parents[2]
KEY = CellKey("cora", "random", "best", 5)


@pytest.mark.skipif(not (ROOT / ROWS).exists(), reason=f"there is no {ROWS} yet")
def test_the_page_is_current() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == page_text(page, ROOT / PAPER, ROOT / ROWS), "run python -m benchmarks.beyond"


def test_rows_of_a_store_become_a_page(tmp_path: Path) -> None:
    page, paper, rows = (tmp_path / name for name in ("page.md", "paper.jsonl", "rows.jsonl"))
    page.write_text(f"# Title\n\n{BEGIN}\n{END}\n")
    ours = make_cell("cora", "random", 5, "best", [76.0, 78.0, 77.0])
    ours += make_cell("cora", "random", 5, "appnp", [77.5])
    ours += make_cell("cora", "fixed", 5, "best", [74.0, 74.2])
    theirs = make_cell("cora", "random", 5, "copying", [73.0, 74.0, 72.0])
    theirs += make_cell("cora", "fixed", 5, "copying", [73.0])
    export_rows(theirs, paper, "jsonl")
    with Store.open(tmp_path / "runs.sqlite") as store:
        store.add_rows(ours + make_cell("cora", "random", 5, "gat", [99.0]))
    paths = ["--page", str(page), "--paper", str(paper), "--rows", str(rows)]
    main([*paths, "--store", str(tmp_path / "runs.sqlite")])
    assert {row.trial for row in read_jsonl(rows)} == {row.trial for row in ours}
    text = page.read_text(encoding="utf-8")
    assert "Of 2 cells, nodecopy (default) is above the paper's best published Bayesian" in text
    assert "number in 1, and more than 1 point below it in 1; the lowest difference is −1.2" in text
    # 77.5 of APPNP is the highest mean, but on its one split the default has 76.
    assert "| APPNP | **77.5** (1) | not run |" in text
    assert "in 1 of 2.\n\nAgainst BGCN (node copying) on the same splits it is higher in 2" in text
    assert "| nodecopy (default) | 77.0 ± 1.0 (3) | **74.1 ± 0.1** (2) |" in text
    assert "| the paper's best Bayesian | 74.6 | 75.3 |" in text
    assert "| difference to node copying | +4.0 (+1.5 to +6.5) | +1.0 |" in text
    assert "99.0" not in text
    text = page.read_text(encoding="utf-8")
    main(paths)
    assert page.read_text(encoding="utf-8") == text


def test_methods_are_compared_on_the_splits_that_both_have() -> None:
    rows = make_cell("cora", "random", 5, "best", [70.0, 80.0, 80.0])
    rows += make_cell("cora", "random", 5, "appnp", [71.0])
    rows += make_cell("cora", "random", 5, "best-raw", [99.0])  # the same method, not another
    study = Study.of(rows)
    gap = paired(study, KEY, "appnp")
    assert gap is not None
    assert gap.n == 1
    assert gap.mean == pytest.approx(-0.01)
    assert paired(study, KEY, "sgc") is None
    assert not beats_all(study, KEY, "accuracy", 1)
    fewer = Study.of([row for row in rows if row.trial.method != "appnp"])
    assert beats_all(fewer, KEY, "accuracy", 1)


def test_calibration_is_pooled_over_trials() -> None:
    over, under = make_cell("cora", "random", 5, "best", [50.0, 50.0])
    empty = (None, None, 0)
    bins = [((0.9, 0.5, 100), empty, (0.4, 0.6, 100)), ((0.9, 1.0, 300), empty, empty)]
    rows = [
        Row(row.trial, replace(row.result, reliability=held))
        for row, held in zip((over, under), bins, strict=True)
    ]
    # Bin by bin: |100·0.4 - 300·0.1| = 10 and |-100·0.2| = 20 of 500 nodes.
    error, gap = pooled_calibration(rows)
    assert error == pytest.approx(30 / 500)
    assert gap == pytest.approx((10 - 20) / 500)
    assert pooled_calibration(rows[:1]).error == pytest.approx((40 + 20) / 200)


def test_counts_of_calibration() -> None:
    rows = make_cell("cora", "random", 5, "best", [75.0] * 3)
    rows += make_cell("cora", "random", 10, "best", [75.0] * 3)
    well, badly = ((0.8, 0.78, 1000),), ((0.8, 0.70, 1000),)
    kept = [
        Row(
            r.trial, replace(r.result, reliability=well if r.trial.labels_per_class == 5 else badly)
        )
        for r in rows
    ]
    kept += [
        Row(r.trial, replace(r.result, nll=r.result.nll - 0.5))
        for r in make_cell("cora", "random", 10, "gcn", [75.0] * 3)
    ]
    text = beyond_block(Study.of(kept))
    assert "random splits: a pooled ECE of at most 4 % in 1 of 2 cells, of at most 3 % in 1" in text
    assert "within 3 points of accuracy in 1; the largest are 10.0 % and 10.0 points" in text
    assert "lowest of all methods in 1 of 2 cells" in text
