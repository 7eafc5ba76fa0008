"""Arrays in signatures have the names that the source gives them: NDArray[int64], ArrayLike.

NumPy's own are aliases that print as what they stand for, which takes a line each. The stand-ins
must be there before the package imports the real ones, so this extension comes first.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy.typing
from sphinx.application import Sphinx

_Scalar = TypeVar("_Scalar")


class NDArray(Generic[_Scalar]):
    """An array of a type."""


class ArrayLike:
    """Anything that NumPy makes an array of."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Put the stand-ins in place."""
    for kind in (NDArray, ArrayLike):
        setattr(numpy.typing, kind.__name__, kind)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
