"""The published numbers: accuracy in the paper's Tables 1-3."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

LABELS = (5, 10, 20)
TRIALS = 50
# In the order of the tables and of their rows; the paper calls the last two BGCN and BGCN (ours).
DATASET_TITLES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
METHOD_TITLES = {
    "chebynet": "ChebyNet",
    "gcn": "GCNN",
    "gat": "GAT",
    "mmsbm-online": "BGCN (MMSBM)",
    "copying": "BGCN (node copying)",
}


class PaperCell(NamedTuple):
    """Accuracy in per cent: mean and standard deviation over 50 trials."""

    mean: float
    deviation: float


@cache
def paper_cells() -> dict[tuple[str, str, str, int], PaperCell]:
    """Return the 90 published cells by (dataset, split, method, labels per class).

    >>> paper_cells()["cora", "fixed", "copying", 5]
    PaperCell(mean=75.1, deviation=1.3)
    """
    text = files("nodecopy.report").joinpath("paper_values.toml").read_text(encoding="utf-8")
    return {
        (dataset, split, method, labels): PaperCell(*cell)
        for dataset, splits in tomllib.loads(text).items()
        for split, methods in splits.items()
        for method, cells in methods.items()
        for labels, cell in zip(LABELS, cells, strict=True)
    }
