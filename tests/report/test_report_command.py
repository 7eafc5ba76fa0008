"""`nodecopy report`: from a store or exported rows to a page, and its errors in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.experiment.export import export_rows
from nodecopy.experiment.store import Store
from nodecopy.report.source import read_source
from nodecopy.report.study import Study
from tests.report.fabricated import around_paper

ROWS = around_paper("cora", "random", 5, "gcn", 4) + around_paper("cora", "random", 5, "copying", 4)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    with Store.open(path) as opened:
        opened.add_rows(ROWS)
    return path


def test_the_report_stands_beside_its_store(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    assert cli.main(["report", str(store)]) == 0
    page = tmp_path / "runs-report" / "report.html"
    assert capsys.readouterr().out == f"report: {page}\n"
    assert "Of the paper's 90 cells: 2 agree" in page.read_text(encoding="utf-8").replace(
        "&#39;", "'"
    )


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_exported_rows_do_as_well_as_a_store(store: Path, tmp_path: Path, name: str) -> None:
    export_rows(ROWS, tmp_path / name, "jsonl")
    assert Study.of(read_source(tmp_path / name).rows) == Study.of(read_source(store).rows)


@pytest.mark.parametrize(("module", "name"), [("matplotlib", "Matplotlib"), ("jinja2", "Jinja2")])
def test_without_the_extra(
    module: str,
    name: str,
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.main(["report", str(store), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        f"error: a report needs {name}: pip install 'nodecopy[report]', or '.[report]' in a "
        "checkout\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("none.sqlite", None, "error: there is no store "),
        ("text.sqlite", b"hello", "error: "),
        ("rows.jsonl", b"{}\n", "error: line 1 of "),
        ("none.jsonl.gz", None, "error: "),
        ("empty.jsonl", b"", "error: there are no trials to report"),
    ],
)
def test_wrong_sources_are_one_line(
    name: str,
    content: bytes | None,
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert cli.main(["report", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(expected)
    assert err.count("\n") == 1
    assert {p.name for p in tmp_path.iterdir()} <= {name}
