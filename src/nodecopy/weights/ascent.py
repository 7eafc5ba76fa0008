"""Gradient ascent on a function of each member: Adam, its step shrinking linearly to zero.

The shrinking step is what makes the end exact: a constant one hovers around a maximum, by as much
as the gradients are noisy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nodecopy.weights.log_posterior import LogPosterior, Report


def maximise(
    values: Callable[[], Tensor],
    parameters: Sequence[Tensor],
    epochs: int,
    learning_rate: float,
    density: LogPosterior,
    report: Report,
) -> None:
    """Change the parameters in place, towards larger values.

    Args:
        values: of each member, given the parameters as they are [M]; members do not mix.
        parameters: tensors that require gradients.
        epochs: gradient steps.
        learning_rate: of the first step.
        density: names the member whose value is not finite.
        report: called after each step.
    """
    optimiser = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    for epoch in range(epochs):
        optimiser.param_groups[0]["lr"] = learning_rate * (1.0 - epoch / epochs)
        of_members = values()
        density.check(of_members, epoch, "learning_rate")
        optimiser.zero_grad(set_to_none=True)
        (-of_members.sum()).backward()
        optimiser.step()
        report(epoch + 1, epochs)
