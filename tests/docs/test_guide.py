"""The pages of the guide work when pasted, from top to bottom, and show what really comes out."""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pytest

import nodecopy
from nodecopy import cli
from nodecopy.experiment.spec import load_experiment
from nodecopy.weights.descent import TrainConfig

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = DOCS / "guide"
NUMBER = re.compile(r"(\d+\.?\d*)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and an environment to be given back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return tmp_path


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that train for ten epochs where nothing else is said: speed is what counts."""
    _, *others = TrainConfig.__init__.__defaults__ or ()
    monkeypatch.setattr(TrainConfig.__init__, "__defaults__", (10, *others))


def test_your_own_graph(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(GUIDE / "own-graph.md", capsys)
    page.follow(until="## Label more")
    truth = {row["id"]: row["label"] for row in rows("truth.csv")}
    found = rows("run/predictions.csv")
    assert [row["id"] for row in found if row["predicted"] != truth[row["id"]]] == ["8"]
    least = sorted(found, key=lambda row: row["confidence"])[:3]
    assert "8" in [row["id"] for row in least]
    ends = [(row["source"], row["target"]) for row in rows("run/suspect_edges.csv")]
    assert ("0", "31") in ends
    assert Path("run/predictions.csv").read_bytes() == Path("run2/predictions.csv").read_bytes()
    page.follow()
    assert Path("run-features/report.html").is_file()
    assert rows("new.csv")[-1]["id"] == "34"


def test_labelling_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(GUIDE / "label.md", capsys)
    page.follow()
    assert len(page.names["counts"]) == 4
    assert "10 more labels would bring about" in capsys.readouterr().out


def test_the_labelling_page_has_the_keys_that_the_guide_names() -> None:
    from nodecopy.annotation.page import label_page

    rows = re.findall(r"^\| (`.*) \|", (GUIDE / "label.md").read_text(), re.M)
    named = {key for row in rows for key in re.findall(r"`(.)`", row)}
    acts = re.findall(r'^  \["(.)", "', label_page(), re.M)
    assert named == {"1", "9", *acts}


def test_a_pipeline(capsys: pytest.CaptureFixture[str], short_training: None) -> None:
    pytest.importorskip("sklearn", reason="the extra 'sklearn' is not installed")
    pytest.importorskip("torch_geometric", reason="the extra 'pyg' is not installed")
    page = Page(GUIDE / "pipeline.md", capsys)
    page.change({"MMSBM()": "MMSBM(cold_iterations=50, warm_iterations=10)"})
    page.follow()


def test_reproducing_the_paper(capsys: pytest.CaptureFixture[str], short_training: None) -> None:
    """As pasted, but for the cheapest method, one trial of each cell, in this process."""
    path = GUIDE / "reproduce.md"
    (experiment,) = re.findall(r"```toml\n(.*?)```", path.read_text(), re.S)
    Path("more-labels.toml").write_text(experiment)
    page = Page(path, capsys)
    cheap = "--methods label-propagation --trials 1 --executor serial"
    page.change({r"^(nodecopy reproduce .*)": rf"\1 {cheap}"})
    page.follow()
    assert Path("runs-report/report.html").is_file()


def test_the_numbers_of_trials_are_right() -> None:
    page = (GUIDE / "reproduce.md").read_text()
    rows = re.findall(r"^\| (`.*`) \|.*\| ([\d,]+)", page, re.M)
    said = {name: count for names, count in rows for name in re.findall(r"`(\w+)`", names)}
    assert sorted(said) == ["all", "beyond", "figure1", "table1", "table2", "table3"]
    for name, count in said.items():
        assert f"{len(load_experiment(name).trials()):,}" == count, name


def test_the_settings_are_those_of_the_command() -> None:
    from nodecopy.labelling import FitSettings

    rows = re.findall(r"^\| (`--.*?) \| (.*?) \|", (GUIDE / "own-graph.md").read_text(), re.M)
    said = {
        name.replace("-", "_"): default.strip("`")
        for names, defaults in rows
        for name, default in zip(
            re.findall(r"`--([\w-]+)`", names), defaults.split(", "), strict=True
        )
    }
    settings, built_in = FitSettings("edges", "labels"), ("dataset", "labels_per_class", "split")
    assert said == {
        name: str(value) if value is not None else unsaid(name)
        for name, value in vars(settings).items()
        if name not in ("edges", "labels", "features", "graph", *built_in)
    }


def unsaid(setting: str) -> str:
    found = setting.endswith("_columns") or setting in ("encoding", "decimal", "na_values")
    return "found" if found else "as the preset has it"


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "reference" / "nodecopy.md").read_text()
    documented = re.findall(r"^\.\. auto\w+:: nodecopy\.(\w+)$", page, re.M)
    assert sorted([*documented, "__version__"]) == sorted(nodecopy.__all__)


def test_a_shown_output_that_is_not_the_real_one_is_noticed() -> None:
    shows("a 1.00 b\nc 2\nd", "a 1.001 b\nd")
    for wrong in ("a 1.2 b", "a 1.00 c", "d\na 1.00 b", "e"):
        with pytest.raises(AssertionError):
            shows("a 1.00 b\nc 2\nd", wrong)


class Page:
    """A page of Markdown, followed block by block as a reader would.

    Args:
        path: of the page.
        capsys: what catches the output.
        tolerance: how far numbers that are printed may be from those on the page.
    """

    def __init__(
        self, path: Path, capsys: pytest.CaptureFixture[str], tolerance: float = 0.01
    ) -> None:
        self.name, self.capsys, self.tolerance = path.name, capsys, tolerance
        self.left = path.read_text()
        self.names: dict[str, Any] = {}
        self.printed = ""

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
                self.capsys.readouterr()
                for line in block.splitlines():
                    enter(shlex.split(line, comments=True))
                self.printed = self.capsys.readouterr().out
            elif language == "text":  # what the last commands print
                shows(self.printed, block, self.tolerance)


def enter(words: list[str]) -> None:
    """Run one line of a console."""
    program, *rest = words
    if program == "head":
        count, path = rest
        print("\n".join(Path(path).read_text().splitlines()[: -int(count)]))
    else:
        assert program == "nodecopy", words
        assert cli.main(rest) == 0, words


def shows(printed: str, excerpt: str, tolerance: float = 0.01) -> None:
    """Check that the lines of an excerpt were printed in this order, numbers nearly the same."""
    left: Iterator[str] = iter(printed.splitlines())
    for line in excerpt.splitlines():
        left = dropwhile(lambda other, line=line: not alike(other, line, tolerance), left)
        assert next(left, None) is not None, f"not printed, or not there: {line!r}"


def alike(one: str, other: str, tolerance: float) -> bool:
    """Tell whether two lines are the same but for rounding in other arithmetic."""
    parts, others = NUMBER.split(one), NUMBER.split(other)
    if parts[::2] != others[::2]:
        return False
    pairs = zip(parts[1::2], others[1::2], strict=True)
    return all(abs(float(a) - float(b)) <= tolerance for a, b in pairs)


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))
