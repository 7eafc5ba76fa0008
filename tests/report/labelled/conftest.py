"""One small fit to tables with awkward names, for all tests of the page."""

from __future__ import annotations

import pytest

from nodecopy.labelling import LabelledGraph
from tests.report.labelled.fabricated import fit_awkward_tables


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> LabelledGraph:
    return fit_awkward_tables(tmp_path_factory.mktemp("tables"))
