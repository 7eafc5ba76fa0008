"""Reproduce the paper: its methods, trials of them, whole grids of trials, tables and figures.

`spec` says what to run, `runner` runs it on an executor, `store` keeps the rows, `report` shows
them beside the published numbers.
"""
