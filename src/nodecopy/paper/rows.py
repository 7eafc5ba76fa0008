"""Rows in files: read from a store or from JSON lines, and written as JSON lines.

A score that is NaN is null.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from nodecopy.core.errors import FormatError, InputError
from nodecopy.core.files import regular_file, write_whole
from nodecopy.paper.store import Store
from nodecopy.paper.trial import Row, row_as_dict, row_from_dict

_JSON_LINES = (".jsonl", ".jsonl.gz")


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a store, or of a file that ends in ``.jsonl`` or ``.jsonl.gz``."""
    source = regular_file(path)
    if not source.name.endswith(_JSON_LINES):
        with Store.open(source, create=False) as store:
            return store.rows()
    rows: list[Row] = []
    try:
        with (gzip.open if source.suffix == ".gz" else open)(
            source, "rt", encoding="utf-8"
        ) as file:
            for line in file:
                rows.append(row_from_dict(json.loads(line)))
    except (ValueError, TypeError, EOFError, RecursionError, OSError, zlib.error) as error:
        raise FormatError(f"{source}, line {len(rows) + 1}: {error}") from error
    return rows


def export_rows(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write rows to a file, whole or not at all; its ending says the format.

    Raises:
        InputError: another ending than .jsonl or .jsonl.gz.
        OSError: the file cannot be written.
    """
    target = Path(path)
    if not target.name.endswith(_JSON_LINES):
        raise InputError(f"the file must end in .jsonl or .jsonl.gz; got {target.name}")
    data = "".join(json.dumps(row_as_dict(row)) + "\n" for row in rows).encode()
    # Without a time stamp, the same rows give the same file.
    write_whole(target, gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
