"""Executors of the parts of a fit: where they are computed, never what.

``base`` says what an executor is and holds the serial one, ``cluster`` the one on the workers of a
Dask scheduler, ``connection`` the way there, ``choice`` what users may name, ``origin`` arrays that
need not be sent.
"""

from nodecopy.executors.base import Executor, Serial
from nodecopy.executors.choice import DaskCluster, check_executor, opened

__all__ = ["DaskCluster", "Executor", "Serial", "check_executor", "opened"]
