"""A run: from a graph to labels, how far to trust them, and what to label next; and its folder.

Reading order: ``settings`` (what is asked for), ``fit`` (the whole job and what it gives), with its
parts ``baselines`` and ``suspects``; then ``folder`` (the files of a run), ``predictions`` and
``model_folder`` (what is in them).
"""

from nodecopy.run.fit import LabelledGraph, label_tables
from nodecopy.run.folder import check_folder, write_folder
from nodecopy.run.settings import FitSettings, read_settings, write_settings
from nodecopy.trust.assessment import Validation
from nodecopy.trust.suspect_edges import SuspectEdges, suspect_edges

__all__ = [
    "FitSettings",
    "LabelledGraph",
    "SuspectEdges",
    "Validation",
    "check_folder",
    "label_tables",
    "read_settings",
    "suspect_edges",
    "write_folder",
    "write_settings",
]
