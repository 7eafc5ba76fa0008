"""User tables: CSV, TSV, Parquet and NPZ files as a dataset.

Reading order: ``text`` (encodings and line ends), ``numbers`` (how they are written), ``kinds``
(what columns may be called), ``files`` (how a file is opened), ``columns`` (which column is what),
``sources`` (a file as DuckDB reads it), ``database`` (which loads tables, and finds the lines of
what is wrong), ``nodes``, ``headers`` (first rows in doubt), ``edges``, ``labels``, ``features``
and ``arrays`` (what is made of the rows), ``dataset`` (all of it together).
"""

from nodecopy.data.tables.dataset import TableDataset, read_tables
from nodecopy.data.tables.edges import EdgeCounts
from nodecopy.data.tables.labels import Labelling, read_label_table

__all__ = ["EdgeCounts", "Labelling", "TableDataset", "read_label_table", "read_tables"]
