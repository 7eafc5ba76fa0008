"""Commands on a graph: inspect, import, predict, evaluate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, get_args

import typer

from nodecopy.cli import reading
from nodecopy.cli.app import EXIT_USER_INPUT, app
from nodecopy.errors import TablesError
from nodecopy.interrupts import working


@app.command(rich_help_panel=reading.PANEL)
def predict(
    model: Annotated[str, typer.Option(help="The folder model that nodecopy fit wrote.")],
    out: Annotated[str, typer.Option(help="CSV or Parquet file to write.")],
    edges: reading.Edges = None,
    features: reading.Features = None,
    graph: reading.GraphFolder = None,
    edge_columns: reading.EdgeColumns = None,
    feature_columns: reading.FeatureColumns = None,
    encoding: reading.Encoding = None,
    decimal: reading.Decimal = None,
    na_values: reading.NaValues = None,
    coverage: reading.Coverage = None,
    formulas: reading.Formulas = None,
    max_memory: reading.MaxMemory = None,
) -> None:
    """Apply a fitted model to other tables, e.g. a graph that has grown."""
    asked = reading.asked_for(locals())
    from nodecopy.calibration.sets import check_coverage
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.labelling.model_folder import ModelFolder
    from nodecopy.labelling.settings import Formulas, check_choice
    from nodecopy.progress import stages
    from nodecopy.report.inspection import listed_sentences
    from nodecopy.report.labelled.tables import (
        PredictionRows,
        check_predictions_file,
        sets_of,
        write_predictions,
    )

    working()
    reading.check_source(asked)
    quoting: Formulas = asked.get("formulas", "keep")
    check_choice("formulas", quoting, get_args(Formulas))
    if coverage is not None:
        check_coverage(coverage)
    target = check_predictions_file(out)
    loaded = ModelFolder.load(model)
    if coverage is not None:
        loaded.classifier.assessment()  # or say at once that there are no sets
    with progress_bar("reading and predicting", True) as report:
        first, _ = stages(report, [1, 1])
        if graph is None:
            table, posterior = loaded.predict(**reading.of_source(asked), progress=first)
        else:
            table, posterior = loaded.predict_table(reading.read_source(asked, first), graph)
    rows = PredictionRows(table, posterior, sets_of(loaded.classifier, posterior, coverage))
    with progress_bar("writing", True) as report:
        write_predictions(rows, target, quoting, report)
    for line in listed_sentences("note", table.notes):
        print(line)
    print(f"{table.dataset.num_nodes:,} nodes: {out}")


@app.command(rich_help_panel=reading.PANEL)
def evaluate(
    predictions: Annotated[str, typer.Option(help="predictions.csv, or what predict wrote.")],
    truth: Annotated[str, typer.Option(help="CSV, TSV or Parquet: id, label.")],
    label_columns: reading.LabelColumns = None,
) -> None:
    """Score predictions against true labels, leaving out those the model was given."""
    from rich.console import Console

    from nodecopy.labelling.evaluation import evaluate_predictions
    from nodecopy.report.inspection import listed_sentences
    from nodecopy.report.labelled.summary import evaluation_lines

    working()
    names = None if label_columns is None else reading.column_names(label_columns)
    found = evaluate_predictions(predictions, truth, names)
    Console(highlight=False, soft_wrap=True).print(
        "\n".join([*evaluation_lines(found), *listed_sentences("note", found.notes)]), markup=False
    )


@app.command(rich_help_panel=reading.PANEL)
def inspect(
    edges: reading.Edges = None,
    labels: reading.Labels = None,
    features: reading.Features = None,
    graph: reading.GraphFolder = None,
    edge_columns: reading.EdgeColumns = None,
    label_columns: reading.LabelColumns = None,
    feature_columns: reading.FeatureColumns = None,
    repeated_edges: reading.RepeatedEdges = None,
    missing: reading.Missing = None,
    encoding: reading.Encoding = None,
    decimal: reading.Decimal = None,
    na_values: reading.NaValues = None,
    max_memory: reading.MaxMemory = None,
) -> None:
    """Read your tables and show what is in them, what to beware of, or all that is wrong."""
    asked = reading.asked_for(locals())
    from nodecopy.data.inspection import inspect_dataset
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.report.inspection import inspection_lines, listed_sentences

    working()
    reading.check_source(asked)
    try:
        with progress_bar("reading", True) as report:
            table = reading.read_source(asked, report)
    except TablesError as error:
        print("\n".join(listed_sentences("error", error.problems)), file=sys.stderr)
        raise typer.Exit(EXIT_USER_INPUT) from None
    print("\n".join(inspection_lines(table, inspect_dataset(table.dataset))))


@app.command("import", rich_help_panel=reading.PANEL)
def import_tables(
    edges: Annotated[
        str, typer.Argument(help="CSV, TSV or Parquet file: two ids, perhaps a weight.")
    ],
    out: Annotated[str, typer.Option(help="Folder to write the graph to.")],
    labels: reading.Labels = None,
    features: reading.Features = None,
    edge_columns: reading.EdgeColumns = None,
    label_columns: reading.LabelColumns = None,
    feature_columns: reading.FeatureColumns = None,
    repeated_edges: reading.RepeatedEdges = None,
    missing: reading.Missing = None,
    encoding: reading.Encoding = None,
    decimal: reading.Decimal = None,
    na_values: reading.NaValues = None,
    max_memory: reading.MaxMemory = None,
) -> None:
    """Read tables once and write the graph to a folder, from which it opens in milliseconds.

    nodecopy import edges.parquet --features features.parquet --out graph
    """
    asked = reading.asked_for(locals())
    from nodecopy.data.stored import check_graph_folder, write_graph
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.machine import size_text
    from nodecopy.report.inspection import listed_sentences

    working()
    folder = check_graph_folder(out)
    with progress_bar("reading", True) as report:
        table = reading.read_source(asked, report)
    names = ", ".join(Path(file).name for file in labels or ()) or None
    with progress_bar("writing", True) as report:
        write_graph(table, folder, label_file=names, progress=report)
    for line in listed_sentences("note", table.notes):
        print(line)
    dataset = table.dataset
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"{dataset.num_nodes:,} nodes, {dataset.graph.num_edges:,} edges, "
        f"{dataset.num_features:,} features, {int((dataset.labels >= 0).sum()):,} labels: "
        f"{folder} ({size_text(size)})"
    )
