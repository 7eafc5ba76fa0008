"""The pages of the guide work when pasted, from top to bottom."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest

import nodecopy
from nodecopy import cli
from nodecopy.paper.spec import load_experiment
from tests.csv_files import read_csv

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = DOCS / "guide"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and an environment to be given back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return tmp_path


def test_your_own_graph(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(GUIDE / "own-graph.md", capsys)
    page.follow(until="## Label more")
    assert "96.7%" in page.printed  # of the evaluation: one of 30 is wrong
    truth = {row["id"]: row["label"] for row in read_csv("truth.csv")}
    predictions = read_csv("run/predictions.csv")
    assert [row["id"] for row in predictions if row["predicted"] != truth[row["id"]]] == ["8"]
    confidence = {row["id"]: float(row["confidence"]) for row in predictions}
    assert confidence["8"] == pytest.approx(0.71, abs=0.01)
    assert Path("run/predictions.csv").read_bytes() == Path("run2/predictions.csv").read_bytes()
    page.change({"nodecopy fit cora": "nodecopy fit cora --method fast"})
    page.follow()
    assert Path("run-features/report.html").is_file()
    assert read_csv("new.csv")[-1]["id"] == "34"


def test_labelling_from_python() -> None:
    Page(GUIDE / "label.md").follow()


def test_the_labelling_page_has_the_keys_that_the_guide_names() -> None:
    from nodecopy.annotate.server import label_page

    rows = re.findall(r"^\| (`.*) \|", (GUIDE / "label.md").read_text(), re.M)
    named = {key for row in rows for key in re.findall(r"`(.)`", row)}
    acts = re.findall(r'^  \["(.)", "', label_page()[0], re.M)
    assert named == {"1", "9", *acts}


def test_use_from_python(short_training: None) -> None:
    with warnings.catch_warnings(action="ignore"):  # PyTorch Geometric's own, at its import
        import torch_geometric.nn  # noqa: F401
    page = Page(GUIDE / "pipeline.md")
    page.change({"MMSBM()": "MMSBM(cold_iterations=50, warm_iterations=10)"})
    page.follow()


def test_reproducing_the_paper(short_training: None) -> None:
    """As pasted, but for the cheapest method, one trial of each cell, in this process."""
    path = GUIDE / "reproduce.md"
    (experiment,) = re.findall(r"```toml\n(.*?)```", path.read_text(), re.S)
    Path("more-labels.toml").write_text(experiment)
    page = Page(path)
    cheap = "--methods label-propagation --trials 1 --executor serial"
    page.change({r"^(nodecopy reproduce .*)": rf"\1 {cheap}"})
    page.follow()
    assert Path("runs-report/report.html").is_file()


def test_the_numbers_of_trials_are_right() -> None:
    page = (GUIDE / "reproduce.md").read_text()
    rows = re.findall(r"^\| (`.*`) \|.*\| ([\d,]+)", page, re.M)
    stated = {name: count for names, count in rows for name in re.findall(r"`(\w+)`", names)}
    assert sorted(stated) == ["all", "beyond", "figure1", "table1", "table2", "table3"]
    for name, count in stated.items():
        assert f"{len(load_experiment(name).trials()):,}" == count, name


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "reference" / "nodecopy.md").read_text()
    documented = re.findall(r"^\.\. auto\w+:: nodecopy\.(\w+)$", page, re.M)
    assert sorted([*documented, "__version__"]) == sorted(nodecopy.__all__)


class Page:
    """A page of Markdown, followed block by block as a reader would.

    A block of text shows lines that the commands before it print, up to the digits.
    """

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str] | None = None) -> None:
        self.name, self.left = path.name, path.read_text()
        self.capsys, self.printed = capsys, ""
        self.names: dict[str, Any] = {}

    def change(self, changes: dict[str, str]) -> None:
        """Change what is left of the page, so that it takes less time; patterns begin with ^."""
        for old, new in changes.items():
            pattern = old if old.startswith("^") else re.escape(old)
            self.left, count = re.subn(pattern, new, self.left, flags=re.M)
            assert count, f"{old} is not in {self.name}"

    def follow(self, until: str | None = None) -> None:
        """Do what the rest of the page says, or what it says up to a line."""
        text, self.left = self.left, ""
        if until is not None:
            cut = text.index(until)
            text, self.left = text[:cut], text[cut:]
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M):
            if language == "python":
                exec(compile(block, self.name, "exec"), self.names)  # noqa: S102 - our own page
            elif language == "console":
                for line in block.splitlines():
                    run(*shlex.split(line, comments=True))
                self.printed = self.capsys.readouterr().out if self.capsys else ""
            elif language == "text":
                lines = [re.sub(r"\d", "0", line) for line in self.printed.splitlines()]
                shown = [re.sub(r"\d", "0", line) for line in block.splitlines()]
                assert set(shown) <= set(lines)


def run(program: str, *words: str) -> None:
    """Run one line of a console."""
    if program == "head":
        count, path = words
        print("\n".join(Path(path).read_text().splitlines()[: -int(count)]))
    else:
        assert program == "nodecopy", program
        assert cli.main(words) == 0, words
