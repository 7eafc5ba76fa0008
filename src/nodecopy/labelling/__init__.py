"""From a graph to labels, how far to trust them, and what to label next.

Reading order: ``settings`` (what is asked for), ``run`` (the whole job), ``built_in`` (Cora and
others in the place of tables), ``suspects`` and ``rivals`` (its parts; what to label next is
`nodecopy.acquisition`), ``outcome`` (what it gives).
"""

from nodecopy.acquisition import NextLabels, next_labels
from nodecopy.estimator.assessment import Validation
from nodecopy.labelling.outcome import LabelledGraph
from nodecopy.labelling.run import label_tables
from nodecopy.labelling.settings import FitSettings, read_settings, write_settings
from nodecopy.labelling.suspects import SuspectEdges, suspect_edges

__all__ = [
    "FitSettings",
    "LabelledGraph",
    "NextLabels",
    "SuspectEdges",
    "Validation",
    "label_tables",
    "next_labels",
    "read_settings",
    "suspect_edges",
    "write_settings",
]
