"""A small graph: two communities with awkward ids, a few labels, two features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nodecopy.run import FitSettings, Run, label_tables
from tests.csv_files import write_csv

IDS = ["<script>alert(1)</script>", "-7", "a b", "Zoë", "x,y", '"quoted"', "007", "7", "=1+1", "ß"]


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two rings of ten nodes, joined by one edge."""
    folder = tmp_path_factory.mktemp("own")
    ids = [*IDS, *(f"b{k}" for k in range(10))]
    pairs = [(r + k, r + (k + step) % 10) for r in (0, 10) for k in range(10) for step in (1, 2)]
    write_csv(folder / "edges.csv", ("source", "target"), named(ids, [*pairs, (0, 10)]))
    labels = [(ids[n], "=red" if n < 10 else "blue") for n in (0, 1, 2, 3, 10, 11, 12)]
    write_csv(folder / "labels.csv", ("id", "label"), labels)
    values = np.random.default_rng(0).normal(size=(20, 2)).round(3)
    values[:10, 0] += 2
    rows = [(id, *map(str, row)) for id, row in zip(ids, values, strict=True)]
    write_csv(folder / "features.csv", ("id", "first", "second"), rows)
    return folder


def named(ids: list[str], pairs: list[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(ids[u], ids[v]) for u, v in pairs]


@pytest.fixture(scope="session")
def settings(own_folder: Path) -> FitSettings:
    """A cheap fit to these files."""
    files = [str(own_folder / name) for name in ("edges.csv", "labels.csv", "features.csv")]
    return FitSettings(*files)


@pytest.fixture(scope="session")
def labelled(settings: FitSettings) -> Run:
    return label_tables(settings, progress=False)


@pytest.fixture
def rows_file(tmp_path: Path) -> Callable[[str, list[tuple[str, ...]]], str]:
    """Write rows to a file; return its name."""

    def write(name: str, rows: list[tuple[str, ...]]) -> str:
        write_csv(tmp_path / name, rows[0], rows[1:])
        return str(tmp_path / name)

    return write
