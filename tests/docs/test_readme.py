"""The README works when pasted, and every link in the documents leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own page
    assert (tmp_path / "cora.safetensors").is_file()


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    commands = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M)
    assert commands == ["run", "test"]
    assert set(commands) <= targets


def test_links_lead_somewhere() -> None:
    dead = [
        f"{page.relative_to(ROOT)}: {target}#{heading}"
        for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
        for target, heading in re.findall(r"\]\(([^)#]+)#?([^)]*)\)", page.read_text())
        if not target.startswith("http") and not leads(page.parent / target, heading)
    ]
    assert dead == []


def leads(target: Path, heading: str) -> bool:
    """Tell whether a file exists, and has the heading, as links spell it."""
    if not target.exists() or not heading:
        return target.exists()
    titles = re.findall(r"^#+ (.*)$", target.read_text(), re.M)
    return heading in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_files_that_pages_name_exist() -> None:
    missing = []
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        text = page.read_text()
        modules = [f"benchmarks/{name}.py" for name in re.findall(r"-m benchmarks\.(\w+)", text)]
        for name in (*modules, *re.findall(r"[`\s]((?:\w+/)+\w+\.py)\b", text)):
            if not (ROOT / name).exists() and not (ROOT / "src" / "nodecopy" / name).exists():
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert missing == []
