"""Label, refit, repeat: a page that asks about the node that would help most.

Reading order: ``label_file`` and ``answers`` (what is kept), ``journal`` (both together), ``fits``
(in the background), ``forecasting`` (when to stop), ``session`` (everything a page needs),
``opening`` (where it begins), ``server``, ``page`` and ``serving`` (the page).
"""

from nodecopy.annotation.forecasting import Forecast, forecast
from nodecopy.annotation.journal import Journal
from nodecopy.annotation.opening import open_run
from nodecopy.annotation.session import Session

__all__ = ["Forecast", "Journal", "Session", "forecast", "open_run"]
