"""A fitted classifier as a notebook shows it: what it was fitted to, and how good it is."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from nodecopy.estimator.assessment import Assessment, Validation
from nodecopy.posterior import posterior_of

if TYPE_CHECKING:
    from nodecopy.estimator.classifier import Fit

# Classes that are named.
_NAMED = 12


def summary_html(fit: Fit) -> str:
    """Return labels, classes and the estimated accuracy of a fit, as a table."""
    state, p = fit.state, posterior_of(fit.state.model).probabilities[: fit.names.count]
    classes = [str(label) for label in state.classes.tolist()]
    rows = [("nodes", f"{len(p):,}")]
    counts = [""] * len(classes)
    if fit.nodes is not None:
        numbers = fit.nodes.labels.numbers
        of_class = np.bincount(numbers[numbers >= 0], minlength=len(classes)).tolist()
        counts = [f" ({count:,})" for count in of_class]
        rows.append(("known labels", f"{sum(of_class):,}"))
    named = [name + count for name, count in zip(classes, counts, strict=True)][:_NAMED]
    more = [f"and {len(classes) - _NAMED:,} more"] if len(classes) > _NAMED else []
    rows.append((f"{len(classes):,} classes", ", ".join([*named, *more])))
    if (validation := Validation.of(state.model)) is not None:
        estimate = Assessment(validation, p, state.suggested).accuracy()
        interval = f"95% interval {estimate.low:.0%} to {estimate.high:.0%}"
        rows.append(("estimated accuracy", f"{estimate.accuracy:.0%} ({interval})"))
    cells = (f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table><tbody>{''.join(cells)}</tbody></table>"
