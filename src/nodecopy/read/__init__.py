"""Anything in: tables and graph files through DuckDB, Python objects, and synthetic graphs.

Reading order for tables: ``options`` (how tables are read), ``formats`` (files as DuckDB scans
them), ``columns`` (which column is what, and its SQL), ``database`` (loads tables, numbers nodes,
and finds the lines of what is wrong), ``edges``, ``labels``, ``readings`` (what the cells of a
column can be), ``nodes``, ``node_types``, ``tables`` (all of it together), ``inspection``. Python
objects: ``graphs``, ``hetero`` (several node types), ``objects`` (all of it together).
"""
