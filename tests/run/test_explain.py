"""`nodecopy explain` on a run folder: the explanations of the fit, from what the folder holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodecopy import cli
from nodecopy.run import Run, write_folder


@pytest.fixture
def run(labelled: Run, tmp_path: Path) -> str:
    write_folder(labelled, tmp_path / "run", lambda: "")
    return str(tmp_path / "run")


def test_a_run_folder_is_explained_like_the_fit(
    labelled: Run, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [3, 12, 15]
    ids = [str(labelled.result.given.ids[node]) for node in nodes]
    assert cli.main(["explain", run, *ids, "--json"]) == 0
    read = map(json.loads, capsys.readouterr().out.splitlines())
    for why, other in zip(labelled.result.explanations(nodes), read, strict=True):
        assert (why.node, why.label, why.against) == (
            *(other["node"], other["label"], other["against"]),
        )
        assert other["log_odds"] == pytest.approx(why.log_odds, abs=1e-4)
        before = {bar.source: bar.log_odds for bar in why.bars}
        after = {bar["source"]: bar["log_odds"] for bar in other["bars"]}
        assert after == pytest.approx(before, abs=1e-3)


def test_two_waterfalls_are_printed_side_by_side_where_there_is_room(
    run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns, beside in (("200", True), ("80", False)):
        monkeypatch.setenv("COLUMNS", columns)
        assert cli.main(["explain", run, "b3", "007"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert any("b3: blue" in line and "007: =red" in line for line in lines) is beside
        assert sum(line.count("log-odds") for line in lines) == 2


def test_an_unknown_node_and_a_folder_without_a_run_are_named(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, node, words in ((run, "nobody", "'nobody'"), (str(tmp_path), "b3", "model")):
        assert cli.main(["explain", folder, node]) == 2
        assert words in capsys.readouterr().err
