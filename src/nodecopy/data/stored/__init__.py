"""A graph on disk: arrays that are mapped into memory, opened in milliseconds, shared by processes.

Reading order: ``manifest`` (what a folder says of itself), ``ids``, ``writing``, ``opening``. Why
it is laid out like this: docs/decisions/0029-graphs-on-disk.md.
"""

from nodecopy.data.stored.opening import open_graph
from nodecopy.data.stored.writing import check_graph_folder, write_graph

__all__ = ["check_graph_folder", "open_graph", "write_graph"]
