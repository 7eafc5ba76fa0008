"""CSV files of tests, written and read in one way."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def write_csv(path: Path, header: str | Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows below a header, whose names may be given with commas between them."""
    names = header.split(",") if isinstance(header, str) else header
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])


def read_csv(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of a file by the names of their columns, as nodecopy reads them."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return [{k: re.sub("^'(?='*[=+@-])", "", v) for k, v in row.items()} for row in rows]
