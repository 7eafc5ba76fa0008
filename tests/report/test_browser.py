"""The page in a real browser, without a screen: no error, everything visible, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")

# Runs in a copy of the page: the page itself needs, and allows, no script.
PROBE = """
<pre id="probe"></pre><script>
const box = e => { const r = e.getBoundingClientRect(); return [r.width, r.height]; };
const seen = selector => [...document.querySelectorAll(selector)].map(box);
document.getElementById("probe").textContent = JSON.stringify({
  tables: seen("table"), figures: seen("svg"), labels: seen("svg text"), captions: seen("caption"),
  width: document.documentElement.scrollWidth, window: innerWidth,
  ground: getComputedStyle(document.body).backgroundColor,
  figure: getComputedStyle(document.querySelector(".ground")).backgroundColor,
  text: getComputedStyle(document.body).color,
});
</script>
"""
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def browse(page: Path, profile: Path, *options: str) -> tuple[str, str]:
    """Open a page; return its elements after loading, and what the browser logged."""
    done = subprocess.run(
        [
            str(BROWSER),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-sync", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update"),
            *("--enable-logging=stderr", f"--user-data-dir={profile}", *options),
            *("--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def probe(page: Path, folder: Path, *options: str) -> dict:
    text, policies = POLICY.subn("", page.read_text(encoding="utf-8"))
    assert policies == 1
    copy = folder / "probed.html"
    copy.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    elements, log = browse(copy, folder / "profile", *options)
    assert "CONSOLE" not in log
    found = re.search(r'<pre id="probe">(.+?)</pre>', elements)
    assert found is not None
    return json.loads(unescape(found[1]))


def test_the_page_opens_without_a_word_on_the_console(report: Path, tmp_path: Path) -> None:
    elements, log = browse(report / "report.html", tmp_path / "profile")
    assert "CONSOLE" not in log
    assert "Table 3. PubMed" in elements


def test_the_log_would_show_an_error(tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text("<!DOCTYPE html><script>nothing.here()</script>")
    assert "CONSOLE" in browse(page, tmp_path / "profile")[1]


def test_every_table_and_figure_is_visible(report: Path, tmp_path: Path) -> None:
    seen = probe(report / "report.html", tmp_path, "--window-size=1200,900")
    assert len(seen["tables"]) == 13
    assert len(seen["figures"]) == 4
    assert all(width > 200 and height > 60 for width, height in seen["tables"])
    assert all(width > 400 and height > 200 for width, height in seen["figures"])
    assert len(seen["labels"]) > 100
    assert all(width > 0 and height > 0 for width, height in seen["labels"] + seen["captions"])
    assert seen["ground"] == "rgb(255, 255, 255)"


def test_dark_and_narrow(report: Path, tmp_path: Path) -> None:
    dark = ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")
    seen = probe(report / "report.html", tmp_path, "--window-size=500,800", *dark)
    assert sum(map(int, re.findall(r"\d+", seen["ground"]))) < 150
    assert sum(map(int, re.findall(r"\d+", seen["text"]))) > 600
    assert seen["figure"] == "rgb(255, 255, 255)"  # drawings keep their white ground
    # Wide tables and figures scroll in place: the page itself is no wider than the window.
    assert seen["width"] <= seen["window"]
