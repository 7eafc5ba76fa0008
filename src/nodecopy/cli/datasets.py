"""The command that shows the built-in datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodecopy.cli.app import app
from nodecopy.cli.reading import PANEL

if TYPE_CHECKING:
    from rich.table import Table

    from nodecopy.data.dataset import NodeDataset


@app.command(rich_help_panel=PANEL)
def datasets() -> None:
    """Show the built-in datasets and their counts."""
    from rich.console import Console

    from nodecopy.data import dataset_names, load_dataset

    loaded = [load_dataset(name) for name in dataset_names()]
    Console().print(_counts_table(loaded))


def _counts_table(loaded: Sequence[NodeDataset]) -> Table:
    from rich.table import Table

    table = Table("dataset", caption="homophily: the share of edges that join equal labels")
    for column in ("nodes", "edges", "features", "classes", "homophily", "labelled"):
        table.add_column(column, justify="right")
    for dataset in loaded:
        table.add_row(
            dataset.name,
            f"{dataset.num_nodes:,}",
            f"{dataset.graph.num_edges:,}",
            f"{dataset.num_features:,}",
            f"{dataset.num_classes}",
            f"{dataset.graph.homophily(dataset.labels):.3f}",
            f"{(dataset.labels >= 0).sum():,}",
        )
    return table
