"""The results in the README: made from committed rows, and current."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper_tables import (
    BEGIN,
    END,
    RESULTS,
    Places,
    compact_rows,
    main,
    readme_files,
    replace_block,
)
from nodecopy.errors import InputError
from nodecopy.experiment.export import export_rows, read_jsonl
from nodecopy.experiment.store import Row, Store
from tests.report.fabricated import make_cell, small_study

ROOT = Path(__file__).parents[2]

pytest.importorskip("matplotlib", reason="Matplotlib is not installed")


@pytest.mark.skipif(not (ROOT / RESULTS).exists(), reason=f"there is no {RESULTS} yet")
def test_the_readme_is_current() -> None:
    for path, content in readme_files(Places().under(ROOT)).items():
        assert alike(path.read_bytes(), content), (
            f"{path.name}: run python -m benchmarks.paper_tables"
        )


def alike(one: bytes, other: bytes) -> bool:
    """Compare two files but for what depends on the process that drew them.

    The layout of a figure is solved in an order that depends on addresses in memory. Its last
    digits then differ, and with them the identifiers, which are digests of unrounded numbers.
    """
    texts = [re.sub(r"\b[a-z]{1,2}[0-9a-f]{10}\b", "id", file.decode()) for file in (one, other)]
    words = [re.sub(r"\d+\.\d+", "number", text) for text in texts]
    numbers = [[float(number) for number in re.findall(r"\d+\.\d+", text)] for text in texts]
    return words[0] == words[1] and np.allclose(*numbers, rtol=0, atol=0.005)


def test_a_changed_number_is_not_current() -> None:
    assert alike(b"<a x='1.0000001' id='p0123456789'>", b"<a x='1.0' id='id'>")
    assert not alike(b"<a x='1.01'>", b"<a x='1.02'>")
    assert not alike(b"<a x='1.01'>", b"<b x='1.01'>")


@pytest.mark.skipif(not (ROOT / RESULTS).exists(), reason=f"there is no {RESULTS} yet")
def test_the_committed_rows_are_compact() -> None:
    assert (ROOT / RESULTS).stat().st_size < 1_000_000
    rows = read_jsonl(ROOT / RESULTS)
    assert compact_rows(rows) == rows


def test_a_store_becomes_rows_figures_and_blocks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme, page = tmp_path / "README.md", tmp_path / "tables.md"
    results = tmp_path / "data" / "rows.jsonl.gz"
    for file in (readme, page):
        file.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nThe end.\n")
    rows = [row for row in small_study() if row.trial.split == "fixed"]
    with Store.open(tmp_path / "runs.sqlite") as store:
        store.add_rows(rows)
        expected = compact_rows(store.rows())
    places = Places(readme, page, results, tmp_path / "none.jsonl.gz")
    names = ("--readme", "--page", "--results", "--beyond")
    paths = [word for pair in zip(names, map(str, places), strict=True) for word in pair]
    main([*paths, "--store", str(tmp_path / "runs.sqlite")])
    assert read_jsonl(results) == expected
    written = capsys.readouterr().out.splitlines()
    assert written[:2] == [f"written: {readme}", f"written: {page}"]
    summary = readme.read_text(encoding="utf-8")
    assert summary.count("\n| ") == 2 + 5  # heading, rule, and five lines
    assert "| node copying, as published | **73.8** |" in summary
    assert "| **nodecopy, the default** | not run |" in summary
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{BEGIN}\n\nOf the paper's 90 cells: 0 agree, 1 higher")
    assert text.endswith(f"|\n\n{END}\n\nThe end.\n")
    assert "old" not in text
    assert "| GCNN | **77.4 ± 0.8** ▲ +3.0<br>paper 74.4 ± 0.8<br>20 trials |" in text
    assert "| GAT | not run<br>paper 73.5 ± 2.2 |" in text
    figures = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert figures == ["data/overview.svg", "data/figure1-fixed.svg"]
    # An edit by hand is noticed, and all else is what the rows give.
    page.write_text(text.replace("77.4 ± 0.8", "78.4 ± 0.8"), encoding="utf-8")
    files = readme_files(places)
    assert files.pop(page) == text.encode()
    assert files.pop(readme) == summary.encode()
    assert [path.relative_to(tmp_path).as_posix() for path in files] == figures
    assert all(path.read_bytes() == content for path, content in files.items())


def test_compact_rows_keep_what_a_report_shows() -> None:
    (row,) = make_cell("cora", "random", 5, "copying", [70.1], outcomes=True)
    row = Row(row.trial, replace(row.result, error_auroc=math.nan))
    (small,) = compact_rows([row])
    assert small.trial == row.trial
    assert small.result.accuracy == 0.701
    assert small.result.nll == pytest.approx(row.result.nll, abs=5.1e-6)
    assert math.isnan(small.result.error_auroc)
    for bin, original in zip(small.result.reliability, row.result.reliability, strict=True):
        assert bin[2] == original[2]
        assert bin[:2] == pytest.approx(original[:2], abs=5.1e-4)
    assert repr(compact_rows([small])) == repr([small])


def test_compact_rows_are_small(tmp_path: Path) -> None:
    rows = make_cell("cora", "random", 5, "copying", [70 + i / 10 for i in range(90)], True)
    for name, content in (("whole", rows), ("small", compact_rows(rows))):
        export_rows(content, tmp_path / f"{name}.jsonl.gz", "jsonl")
    whole, small = ((tmp_path / f"{n}.jsonl.gz").stat().st_size for n in ("whole", "small"))
    assert small < 200 * len(rows) < whole


@pytest.mark.parametrize(
    "text", ["", BEGIN, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}", f"{BEGIN} {END} {END}"]
)
def test_a_readme_without_its_marks(text: str) -> None:
    with pytest.raises(InputError, match="needs one <!-- results --> and, after it, one"):
        replace_block(text, "block")


def test_what_is_missing_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--store", str(tmp_path / "none.sqlite"), "--results", str(tmp_path / "r.jsonl.gz")])
    assert stopped.value.code == 2
    assert "error: there is no store " in capsys.readouterr().err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
