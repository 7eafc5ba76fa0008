"""One small fit to tables with awkward names, for all tests of the page."""

from __future__ import annotations

import pytest

from nodecopy.result import Result
from tests.report.fabricated import fit_awkward_tables


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return fit_awkward_tables(tmp_path_factory.mktemp("tables"))
