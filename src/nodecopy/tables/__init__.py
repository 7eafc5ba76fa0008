"""User tables: CSV, TSV and Parquet files as a dataset.

Reading order: ``options`` (how tables are read), ``formats`` (files as DuckDB scans them),
``columns`` (which column is what, and its SQL), ``database`` (loads tables, and finds the lines of
what is wrong), ``ids`` (nodes), ``edges``, ``labels``, ``readings`` (what the cells of a column can
be), ``nodes``, ``dataset`` (all of it together), ``inspection``.

Names are imported when they are first used: the command line needs the options, but not NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodecopy.tables.dataset import TableDataset as TableDataset
    from nodecopy.tables.dataset import read_tables as read_tables
    from nodecopy.tables.labels import Labelling as Labelling
    from nodecopy.tables.labels import read_label_table as read_label_table
    from nodecopy.tables.options import TableOptions as TableOptions

_HOME = {
    "Labelling": "labels",
    "TableDataset": "dataset",
    "TableOptions": "options",
    "read_label_table": "labels",
    "read_tables": "dataset",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
