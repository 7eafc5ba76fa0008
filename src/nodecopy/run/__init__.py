"""A run: from tables to labels, how far to trust them, and what to label next; and its folder.

Reading order: ``settings`` (what is asked for), ``fit`` (read and fit), ``folder`` (the files of a
run), ``predict`` (a model applied to other tables).
"""

from nodecopy.run.fit import Run, label_tables
from nodecopy.run.folder import check_folder, write_folder
from nodecopy.run.settings import FitSettings, read_settings, write_settings

__all__ = [
    "FitSettings",
    "Run",
    "check_folder",
    "label_tables",
    "read_settings",
    "write_folder",
    "write_settings",
]
