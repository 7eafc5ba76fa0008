"""The README works when pasted, and every link in the documents leads somewhere."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pasted, but for a smaller model: the settings are not what is tested here."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert "NodeCopyClassifier(random_state=0)" in code
    quick = code.replace("(random_state=0)", "(n_zeta=1, random_state=0)")
    monkeypatch.chdir(tmp_path)
    exec(compile(quick, "README.md", "exec"), {})  # noqa: S102 - our own page
    assert (tmp_path / "cora.safetensors").is_file()


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    commands = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M)
    assert commands == ["run", "test"]
    assert set(commands) <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_accuracy_where_copying_loses_is_that_of_the_rows() -> None:
    accuracies: dict[str, list[float]] = {"copying": [], "gcn": []}
    with gzip.open(ROOT / "results" / "paper.jsonl.gz", "rt") as rows:
        for row in map(json.loads, rows):
            cell = (row["dataset"], row["split"], row["labels_per_class"])
            if cell == ("cora", "fixed", 20) and row["method"] in accuracies:
                accuracies[row["method"]].append(100 * row["accuracy"])
    ours, theirs = (mean(accuracies[method]) for method in ("copying", "gcn"))
    text = " ".join((ROOT / "docs" / "calibration.md").read_text().split())
    assert f"{ours:.1f} against {theirs:.1f} %" in text


def test_the_paper_map_names_things_that_exist() -> None:
    import importlib

    text = (ROOT / "docs" / "paper-map.md").read_text()
    for path in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (ROOT / path).is_file(), path
    names = re.findall(r"`(nodecopy[\w.]+)`", text)
    assert len(names) > 12
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found: object = importlib.import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for attribute in parts[cut:]:
                found = getattr(found, attribute)
            break
