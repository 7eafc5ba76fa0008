"""One small fit to tables with awkward names, for all tests of the page, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nodecopy.report.page import report_page
from nodecopy.result import Result
from tests.browser import Page, browser
from tests.report.fabricated import fit_awkward_tables


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return fit_awkward_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Result], Path]:
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, result: Result) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(report_page(result), encoding="utf-8")
        return path

    return write


@pytest.fixture
def page(driver: Any, written: Any, result: Result) -> Iterator[Page]:
    """The page of a small fit with awkward names; a word on the console fails the test."""
    shown = Page(driver, written("awkward", result))
    shown.errors()
    yield shown
    assert shown.errors() == []
    assert shown.run("window.alerted") == 0
