"""Anything in: tables (CSV, TSV, Parquet) through DuckDB, Python objects, and synthetic graphs.

Reading order for tables: ``options`` (how tables are read), ``formats`` (files as DuckDB scans
them), ``columns`` (which column is what, and its SQL), ``database`` (loads tables, and finds the
lines of what is wrong), ``ids`` (nodes), ``edges``, ``labels``, ``readings`` (what the cells of a
column can be), ``nodes``, ``tables`` (all of it together), ``inspection``. ``objects`` and
``hetero`` read Python objects.
"""
