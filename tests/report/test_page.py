"""The page as a text: nothing leaves it, nothing breaks out of it, only its own scripts run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from nodecopy.report.page import asset, report_page
from nodecopy.result import Result
from tests.report.fabricated import HOSTILE_CLASSES, HOSTILE_IDS, make_result


def scripts(page: str) -> list[str]:
    """Return the text of each script; a browser, too, ends it at the first closing tag."""
    return re.findall(r"<script[^>]*>(.*?)</script>", page, re.S)


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    return report_page(result)


def test_the_policy_names_the_digests_of_the_scripts_and_nothing_else(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))
    data, *run = scripts(page)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in run]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert len(run) == 2
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert json.loads(data)["classes"]["names"]


def test_the_page_refers_to_nothing_outside(page):
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    links = re.findall(r'\s(?:src|href|action|srcset|data)="([^"]*)"', markup)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "<script src" not in page
    style = page.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_names_travel_as_data_and_arrive_unharmed(page):
    data = json.loads(scripts(page)[0])
    assert set(HOSTILE_IDS) <= set(data["nodes"]["ids"])
    assert sorted(data["classes"]["names"]) == sorted(HOSTILE_CLASSES)
    raw = page.split('id="data">')[1].split("</script>")[0]
    assert not re.search("[<>&\u2028\u2029]", raw)
    assert "alert(1)" in raw  # it is there, as a text


@pytest.mark.parametrize(
    ("num_nodes", "num_classes", "id", "least"),
    [
        (30_000, 40, "n{}", 5_000),
        (3_000, 1_000, "n{}", 500),
        (3_000, 3, "{}" + "é" * 2_000, 100),
    ],
)
def test_the_page_stays_under_5_megabytes(num_nodes, num_classes, id, least):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, num_nodes, (10 * num_nodes, 2))
    ids = [id.format(k) for k in range(num_nodes)]
    result = make_result(num_nodes, num_classes, ids=ids, edges=edges, suspects=600)
    page = report_page(result)
    assert 2_000_000 < len(page.encode()) <= 5_000_000
    data = json.loads(scripts(page)[0])
    shown = len(data["nodes"]["ids"])
    assert shown >= least
    assert (data["leftOut"] is None) == (shown == num_nodes)
    listed = [*data["next"]["nodes"], *np.ravel(data["suspects"]["nodes"])]
    assert min(listed) >= 0
    assert max(listed) < shown
    assert sum(data["classes"]["predicted"]) == num_nodes


def test_the_bundled_library_is_that_of_the_lock_file_and_names_its_licences(page):
    lock = Path(__file__).parents[2] / "assets" / "package-lock.json"
    locked = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    banner, _ = asset("vendor/sigma.min.js").split("*/", 1)
    bundled = dict(re.findall(r"([\w-]+) (\d+\.\d+\.\d+)", banner))
    assert {"sigma", "graphology"} <= set(bundled)
    for name, version in bundled.items():
        assert locked[f"node_modules/{name}"]["version"] == version
        assert f"{name} {version}\n" in asset("vendor/sigma-LICENSE.txt")
    assert f"sigma.js {bundled['sigma']}" in page
