"""The pages of docs/guide, followed block by block as a reader would, and their pictures.

    python -m benchmarks.guide                  # every page, each in an empty folder
    python -m benchmarks.guide own-tables       # one page
    python -m benchmarks.guide report           # the picture of the README, by a headless Chromium

The code of a page draws its pictures; this writes them to docs/images. A picture gallery-RUN.png is
a screenshot of RUN/report.html, which needs Chromium and its driver. A block of text shows lines
that the block before it prints, up to the digits.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from nodecopy import cli
from tests.browser import Page as Screen
from tests.browser import browser

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
PICTURE = re.compile(r"\]\(\.\./images/([\w-]+\.\w+)\)")


class Page:
    """What is left of a page, and what its last block printed."""

    def __init__(self, name: str) -> None:
        self.name, self.left = name, (GUIDE / f"{name}.md").read_text(encoding="utf-8")
        self.pictures = PICTURE.findall(self.left)
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
        cut = len(self.left) if until is None else self.left.index(until)
        text, self.left = self.left[:cut], self.left[cut:]
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M):
            if language == "text":
                _compare(block, self.printed)
            elif language == "toml":
                Path(block.splitlines()[0].removeprefix("# ")).write_text(block, encoding="utf-8")
            else:
                with redirect_stdout(io.StringIO()) as out:
                    self._run(language, block)
                self.printed = out.getvalue()

    def _run(self, language: str, block: str) -> None:
        if language == "python":
            exec(compile(block, self.name, "exec"), self.names)  # noqa: S102 - our own page
        elif language == "console":
            for line in block.replace("\\\n", " ").splitlines():
                run_line(*shlex.split(line, comments=True))


def run_line(program: str, *words: str) -> None:
    """Run one line of a console."""
    if program == "head":
        count, path = words
        print("\n".join(Path(path).read_text(encoding="utf-8").splitlines()[: -int(count)]))
    else:
        assert program == "nodecopy", program
        assert cli.main(words) == 0, words


def _compare(shown: str, printed: str) -> None:
    lines = {re.sub(r"\d", "0", line.rstrip()) for line in printed.splitlines()}
    missing = [line for line in shown.splitlines() if re.sub(r"\d", "0", line) not in lines]
    assert not missing, f"not printed: {missing}; printed:\n{printed}"


def photograph_report() -> None:
    """Fit Cora as `make run` does, and keep a picture of the first screen of its report."""
    with tempfile.TemporaryDirectory() as folder:
        assert cli.main(["fit", "cora", "--labels-per-class", "5", "--out", folder]) == 0
        photograph({Path(folder, "report.html"): GUIDE.parent / "images" / "report.png"})


def photograph(pictures: Mapping[Path, Path | str]) -> None:
    """Keep pictures of the first screens of reports."""
    with browser() as driver:
        for report, picture in pictures.items():
            page = Screen(driver, report)
            page.open()
            page.run("graphMap.view.renderer.refresh() && 1")
            assert driver.save_screenshot(str(picture))


def main(names: list[str]) -> None:
    """Follow pages, and keep the pictures that they drew."""
    if "report" in names:
        photograph_report()
        names = [name for name in names if name != "report"]
        if not names:
            return
    home = Path.cwd()
    for name in names or sorted(path.stem for path in GUIDE.glob("*.md")):
        page, start = Page(name), time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            page.follow()
            os.chdir(home)
            runs = re.findall(r"gallery-(\w+)\.png", " ".join(page.pictures))
            taken = {
                Path(folder, run, "report.html"): f"{folder}/gallery-{run}.png" for run in runs
            }
            if taken:
                photograph(taken)
            drawn = [picture for picture in page.pictures if Path(folder, picture).exists()]
            for picture in drawn:
                shutil.copy(Path(folder, picture), GUIDE.parent / "images" / picture)
        seconds = time.process_time() - start
        sys.stdout.write(f"{name}: {seconds:.1f} CPU s, {', '.join(drawn) or 'no pictures'}\n")


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    main(sys.argv[1:])
