"""Predictions as a pandas DataFrame, by the names of the nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from numpy.typing import NDArray

from nodecopy.errors import ModelError
from nodecopy.posterior import Posterior


def prediction_frame(
    posterior: Posterior, classes: NDArray[Any], names: Sequence[Hashable] | None
) -> Any:
    """Return a row for each node; see `NodeCopyClassifier.to_frame`.

    Args:
        posterior: of every node.
        classes: [K].
        names: of the nodes [N]; None for their numbers.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ModelError("to_frame needs pandas: pip install pandas") from error
    p = posterior.probabilities
    columns = {
        "predicted": classes[p.argmax(1)],
        "confidence": p.max(1),
        "entropy": posterior.entropy,
        **{f"p_{value}": p[:, k] for k, value in enumerate(classes)},
    }
    index = range(len(p)) if names is None else list(names)
    return pd.DataFrame(columns, index=pd.Index(index, name="node"))
