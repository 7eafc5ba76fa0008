"""The report as Markdown and as HTML: complete, escaped, self-contained, the same every time."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nodecopy.errors import InputError
from nodecopy.report.experiment import write_report
from tests.report.conftest import HOSTILE
from tests.waiting import LIMIT

FIGURES = ("figure1-fixed", "figure1-random", "overview", "reliability")
SECTIONS = [
    "In short",
    "Accuracy: Tables 1-3",
    "Figure 1: whom node copying corrects",
    "Paired comparisons",
    "Probabilities",
    "Cost",
    "Provenance",
]
VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def source(report: Path) -> str:
    return (report / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


def test_the_files(report: Path) -> None:
    figures = [f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")]
    expected = {"report.html", "report.md", *figures}
    assert {path.name for path in report.iterdir()} == expected


def test_the_page_holds_every_section_table_and_figure(page: Page) -> None:
    assert page.open == []  # every element is closed
    text = "".join(page.words)
    for title in SECTIONS:
        assert title in page.words
    assert page.tags["svg"] == page.tags["figure"] == len(FIGURES)
    # Tables 1-3 and the other dataset, what differs, pairs of two datasets, scores of four, cost,
    # provenance.
    assert page.tags["table"] == page.tags["caption"] == 4 + 1 + 2 + 4 + 1 + 1
    for said in ("Table 1. Cora", "▲ +3.0", "▼ −3.0", "paper 76.9 ± 0.5", "? +0.1", "2.13.0"):
        assert said in text
    assert "Of the paper's 90 cells: 8 agree, 1 higher, 1 lower, 1 with one trial only" in text


def test_the_page_needs_nothing_else(page: Page, source: str) -> None:
    for tag in ("script", "img", "iframe", "object", "embed", "base", "form"):
        assert page.tags[tag] == 0
    links = [v for k, v in page.attributes if k in ("href", "src", "xlink:href") and v]
    assert all(link.startswith(("#", "data:,")) for link in links)
    assert "@import" not in source
    assert not re.search(r"url\((?!#)", source)
    assert not any(name.startswith("on") for name, _ in page.attributes)


def test_identifiers_are_unique_and_links_lead_to_them(page: Page) -> None:
    names = Counter(value for name, value in page.attributes if name == "id")
    assert [name for name, n in names.items() if n > 1] == []
    targets = {v[1:] for k, v in page.attributes if k in ("href", "xlink:href") and v[0] == "#"}
    assert targets <= set(names)
    assert targets > {"section-1", "section-7"}


def test_all_text_is_escaped(page: Page, source: str, report: Path) -> None:
    assert "<script" not in source
    assert HOSTILE in page.words  # the text itself arrives as it is
    assert "<script" not in (report / "report.md").read_text(encoding="utf-8")
    for name in FIGURES:
        assert b"<script" not in (report / f"{name}.svg").read_bytes()


def test_markdown_says_the_same(report: Path) -> None:
    text = (report / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    for name in FIGURES:
        assert f"]({name}.svg)" in text
    assert "| GCNN | **77.4 ± 0.8** ▲ +3.0<br>paper 74.4 ± 0.8<br>se 0.18, n 20 |" in text
    assert "| GAT | not run<br>paper 73.5 ± 2.2 |" in text
    assert r'&lt;script&gt;alert("x")&lt;/script&gt; \| \`a\` \*b\* &amp;amp; \$c\$' in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 13
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


REWRITE = """
import sys
from nodecopy.report.experiment import write_report
from tests.report.conftest import HOSTILE
from tests.report.fabricated import make_cell, small_study
rows = small_study() + make_cell(HOSTILE, "random", 5, "gcn", [70.0, 71.0])
write_report(reversed(rows), sys.argv[1], {"label-propagation": HOSTILE})
print(*sorted({m.split(".")[0] for m in sys.modules} & {"torch", "nodecopy"}))
"""


def test_the_same_rows_give_the_same_bytes_and_no_model_code(report: Path, tmp_path: Path) -> None:
    # Another process, another order of rows, another order of sets.
    root = Path(__file__).parents[2]
    path = os.pathsep.join(map(str, (root, root / "src")))
    done = subprocess.run(
        [sys.executable, "-c", REWRITE, str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["nodecopy"]
    assert digests(tmp_path) == digests(report)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_no_trials_no_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trials to report"):
        write_report([], tmp_path / "new")
    assert not (tmp_path / "new").exists()
