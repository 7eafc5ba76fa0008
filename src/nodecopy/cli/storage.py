"""The command that reads tables once and keeps the graph on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from nodecopy.cli.app import app
from nodecopy.cli.graphs import (
    PANEL,
    Decimal,
    EdgeColumns,
    Encoding,
    FeatureColumns,
    Features,
    LabelColumns,
    Labels,
    MaxMemory,
    MissingNumbers,
    NaValues,
    RepeatedRows,
    column_names,
    memory_bytes,
)
from nodecopy.interrupts import working


@app.command("import", rich_help_panel=PANEL)
def import_tables(
    edges: Annotated[
        str, typer.Argument(help="CSV, TSV or Parquet file: two ids, perhaps a weight.")
    ],
    out: Annotated[str, typer.Option(help="Folder to write the graph to.")],
    labels: Labels = None,
    features: Features = None,
    edge_columns: EdgeColumns = None,
    label_columns: LabelColumns = None,
    feature_columns: FeatureColumns = None,
    repeated_edges: RepeatedRows = "largest",
    missing: MissingNumbers = "impute",
    encoding: Encoding = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    max_memory: MaxMemory = None,
) -> None:
    """Read tables once and write the graph to a folder, from which it opens in milliseconds.

    nodecopy import edges.parquet --features features.parquet --out graph
    """
    from pathlib import Path

    from nodecopy.data.stored import check_graph_folder, write_graph
    from nodecopy.data.tables import read_tables
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.machine import size_text
    from nodecopy.report.inspection import listed_sentences

    working()
    folder = check_graph_folder(out)
    with progress_bar("reading", True) as report:
        table = read_tables(
            edges,
            labels,
            features,
            edge_columns=column_names(edge_columns),
            label_columns=column_names(label_columns),
            feature_columns=column_names(feature_columns),
            repeated_edges=repeated_edges,  # type: ignore[arg-type]  # checked there
            missing=missing,  # type: ignore[arg-type]
            encoding=encoding,
            decimal=decimal,
            na_values=column_names(na_values),
            max_memory=memory_bytes(max_memory),
            progress=report,
        )
    with progress_bar("writing", True) as report:
        write_graph(
            table,
            folder,
            label_file=", ".join(Path(file).name for file in labels or ()) or None,
            progress=report,
        )
    for line in listed_sentences("note", table.notes):
        print(line)
    dataset = table.dataset
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"{dataset.num_nodes:,} nodes, {dataset.graph.num_edges:,} edges, "
        f"{dataset.num_features:,} features, {int((dataset.labels >= 0).sum()):,} labels: "
        f"{folder} ({size_text(size)})"
    )
