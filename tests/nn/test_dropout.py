"""Masks depend on names alone, and look random in every direction."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nodecopy.core.rng import key64
from nodecopy.nn.batch import entry_names, keep_mask, row_names


def names(rows: int, columns: int, member: int = 0) -> torch.Tensor:
    key = np.array([key64(member, "dropout", "test")]).view(np.uint64)
    return torch.as_tensor(
        entry_names(row_names(key, np.arange(rows))[:, None], np.arange(columns)[None, :])
    )


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.6, 0.9])
def test_share_and_scale(rate: float) -> None:
    mask = keep_mask(names(400, 500), key64(0, "epoch", 3), rate)
    kept = mask != 0
    assert set(np.unique(mask.numpy())) <= {np.float32(0), np.float32(1 / (1 - rate))}
    spread = np.sqrt(rate * (1 - rate) / mask.numel())
    assert abs(float(kept.float().mean()) - (1 - rate)) <= 4 * spread


def test_independent_between_steps_members_rows_and_columns() -> None:
    base = names(300, 400)
    draws = torch.stack(
        [keep_mask(base, key64(0, "epoch", t), 0.5).flatten() > 0 for t in range(40)]
    ).float()
    other = keep_mask(names(300, 400, member=1), key64(0, "epoch", 0), 0.5).flatten() > 0
    table = torch.cat([draws, other[None].float()])
    correlations = torch.corrcoef(table) - torch.eye(len(table))
    assert float(correlations.abs().max()) < 5 / np.sqrt(table.shape[1])
    grid = draws[0].view(300, 400)
    along_rows = torch.corrcoef(torch.stack([grid[:, 1:].flatten(), grid[:, :-1].flatten()]))
    along_columns = torch.corrcoef(torch.stack([grid[1:].flatten(), grid[:-1].flatten()]))
    assert abs(float(along_rows[0, 1])) < 5 / np.sqrt(grid.numel())
    assert abs(float(along_columns[0, 1])) < 5 / np.sqrt(grid.numel())


def test_a_mask_does_not_depend_on_the_entries_around_it() -> None:
    whole = keep_mask(names(60, 30), 17, 0.5)
    part = keep_mask(names(60, 30)[10:20, 5:9].clone(), 17, 0.5)
    assert torch.equal(whole[10:20, 5:9], part)
