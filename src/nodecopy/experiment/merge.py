"""Several stores, or files of exported rows, into a new store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nodecopy.errors import FormatError, InputError
from nodecopy.experiment.export import read_jsonl
from nodecopy.experiment.store import Store


def merge_stores(sources: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> int:
    """Write a new store with everything in the sources; return how many rows it has.

    Args:
        sources: stores, or rows exported as ``.jsonl`` or ``.jsonl.gz``.
        out: the new file, which must not exist; it appears whole or not at all.
    """
    target = Path(out)
    if target.exists():
        raise InputError(f"{target} exists and is not overwritten; choose another name")
    if not target.parent.is_dir():
        raise InputError(f"the folder {target.parent} of {target.name} does not exist")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".merge-") as folder:
        temporary = Path(folder, target.name)
        with Store.open(temporary) as merged:
            rows = sum(_add(merged, Path(source)) for source in sources)
        os.replace(temporary, target)
    return rows


def _add(merged: Store, source: Path) -> int:
    try:
        if source.name.endswith((".jsonl", ".jsonl.gz")):
            return merged.add_rows(read_jsonl(source))
        with Store.open(source, create=False) as store:
            return merged.merge(store)
    except FormatError as error:
        raise FormatError(f"cannot merge {source}: {error}") from error
