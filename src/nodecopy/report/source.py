"""Where the rows of a report come from: a store, or a file of exported JSON lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from nodecopy.experiment.export import read_jsonl
from nodecopy.experiment.store import Row, Run, Store


class Source(NamedTuple):
    """Rows, and the runs that gave them where they are known."""

    rows: list[Row]
    runs: list[Run]


def read_source(path: str | os.PathLike[str]) -> Source:
    """Read a store, or a file whose name ends in ``.jsonl`` or ``.jsonl.gz``."""
    if Path(path).name.endswith((".jsonl", ".jsonl.gz")):
        return Source(read_jsonl(path), [])
    with Store.open(path, create=False) as store:
        return Source(store.rows(), store.runs())


def report_folder(path: str | os.PathLike[str]) -> Path:
    """Return where a report goes unless told otherwise: beside its source, named after it.

    >>> report_folder("results/paper.jsonl.gz").as_posix()
    'results/paper-report'
    """
    source = Path(path)
    return source.with_name(f"{source.name.partition('.')[0]}-report")
