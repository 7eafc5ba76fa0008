"""Label, refit, repeat: a page that asks about the node that would help most.

Reading order: ``answers`` (what is kept), ``refit`` (in the background), ``node_view`` (what is
shown of a node), ``session`` (everything a page needs), ``server`` (the page).
"""

from nodecopy.annotate.session import Session

__all__ = ["Session"]
