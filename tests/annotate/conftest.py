"""User tables: three groups of people, and what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodecopy.annotate import Session
from nodecopy.read.synthetic import planted_partition
from nodecopy.run import FitSettings
from tests.csv_files import read_csv, write_csv

CLASSES = ("ash", "beech", "cedar")
NODES = 90


@dataclass(frozen=True)
class Tables:
    """Files, and the truth."""

    folder: Path
    truth: dict[str, str]

    def settings(self, labels: str | None = None, **changes: Any) -> FitSettings:
        """Return settings with labels of a file, or of the run folder."""
        named = str(self.folder / labels) if labels else str(self.run / "labels.csv")
        files = {"edges": "edges.csv", "nodes": "features.csv"}
        paths = {key: str(self.folder / name) for key, name in files.items()}
        return FitSettings(**(paths | {"labels": named, "method": "fast"} | changes))

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def labels(self) -> dict[str, str]:
        """Return the labels that the run folder holds."""
        return kept(self.run)


def kept(run: Path) -> dict[str, str]:
    """Return the labels in a folder; each node is there once."""
    rows = read_csv(run / "labels.csv")
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["label"] for row in rows}


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    data = planted_partition(NODES, 3, seed=0)
    rng = np.random.default_rng(0)
    ids = [f"p{n:02}" for n in range(NODES)]
    write_csv(
        tmp_path / "edges.csv",
        "source,target",
        [[ids[u], ids[v]] for u, v in data.graph.edges()],
    )
    columns = [data.labels + rng.normal(0, 0.5, NODES), rng.normal(50, 10, NODES)]
    rows = [[id, f"{a:.2f}", f"{b:.1f}"] for id, a, b in zip(ids, *columns, strict=True)]
    write_csv(tmp_path / "features.csv", "id,reads,age", rows)
    truth = {id: CLASSES[k] for id, k in zip(ids, data.labels, strict=True)}
    some = [id for k in CLASSES for id in [i for i in ids if truth[i] == k][:3]]
    write_csv(tmp_path / "given.csv", "id,label", [[id, truth[id]] for id in some])
    return Tables(tmp_path, truth)


@pytest.fixture
def opened(tables: Tables) -> Iterator[Callable[..., Session]]:
    """Opens sessions, and closes them in the end."""
    sessions: list[Session] = []

    def open_session(settings: FitSettings | None = None, **more: Any) -> Session:
        sessions.append(Session(tables.run, settings, **more))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()
