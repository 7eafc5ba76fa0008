"""Commands on a graph: predict, evaluate, inspect, import, datasets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from nodecopy.cli import reading
from nodecopy.cli.reading import EXIT_USER_INPUT, app
from nodecopy.errors import TablesError


@app.command(rich_help_panel=reading.PANEL)
@reading.options(
    *("edges", "nodes", "graph", "coverage", "max_memory", *reading.READING),
    without=("label_columns", "label_kind", "repeated_edges", "columns"),
)
def predict(
    model: Annotated[str, typer.Option(help="The folder model that nodecopy fit wrote.")],
    out: Annotated[str, typer.Option(help="CSV or Parquet file to write.")],
    **options: Any,
) -> None:
    """Apply a fitted model to other tables, e.g. a graph that has grown."""
    from nodecopy.progress import progress_bar, stages
    from nodecopy.run.model_folder import ModelFolder
    from nodecopy.run.predictions import check_predictions_file, write_predictions
    from nodecopy.tables.inspection import listed_sentences

    coverage = options.pop("coverage")
    settings = reading.settings_of(options)
    target = check_predictions_file(out)
    loaded = ModelFolder.load(model)
    if coverage is not None:
        loaded.classifier.assessment()  # or say at once that there are no sets
    with progress_bar("reading and predicting", True) as report:
        first, _ = stages(report, [1, 1])
        table, posterior = loaded.predict(settings, first)
    with progress_bar("writing", True) as report:
        write_predictions(loaded.predictions(table, posterior, coverage), target, report)
    rows = f"{table.num_classified:,} {next(iter(table.kinds), 'nodes')}: {out}"
    print("\n".join([*listed_sentences("note", table.notes), rows]))


@app.command(rich_help_panel=reading.PANEL)
@reading.options("label_columns")
def evaluate(
    predictions: Annotated[str, typer.Option(help="predictions.csv, or what predict wrote.")],
    truth: Annotated[str, typer.Option(help="CSV, TSV or Parquet: id, label.")],
    **options: Any,
) -> None:
    """Score predictions against true labels, leaving out those the model was given."""
    from rich.console import Console

    from nodecopy.report.summary import evaluation_lines
    from nodecopy.run.evaluation import evaluate_predictions
    from nodecopy.tables.inspection import listed_sentences

    names = reading.asked_for(options).get("label_columns")
    scored = evaluate_predictions(predictions, truth, names)
    lines = [*evaluation_lines(scored), *listed_sentences("note", scored.notes)]
    Console(highlight=False, soft_wrap=True).print("\n".join(lines), markup=False)


@app.command(rich_help_panel=reading.PANEL)
@reading.options(*reading.FILES, "max_memory", *reading.READING)
def inspect(**options: Any) -> None:
    """Read your tables and show what is in them, what to beware of, or all that is wrong."""
    from nodecopy.progress import progress_bar
    from nodecopy.run.source import read_source
    from nodecopy.tables.inspection import inspect_table, inspection_lines, listed_sentences

    settings = reading.settings_of(options)
    try:
        with progress_bar("reading", True) as report:
            table = read_source(settings, report)
    except TablesError as error:
        print("\n".join(listed_sentences("error", error.problems)), file=sys.stderr)
        raise typer.Exit(EXIT_USER_INPUT) from None
    print("\n".join(inspection_lines(table, inspect_table(table))))


@app.command("import", rich_help_panel=reading.PANEL)
@reading.options("labels", "nodes", "max_memory", *reading.READING)
def import_tables(
    edges: Annotated[
        list[str],
        typer.Argument(help="CSV, TSV or Parquet: two ids, perhaps a weight and a kind."),
    ],
    out: Annotated[str, typer.Option(help="Folder to write the graph to.")],
    **options: Any,
) -> None:
    """Read tables once and write the graph to a folder, from which it opens quickly.

    nodecopy import edges.parquet --nodes nodes.parquet --out graph
    """
    from nodecopy.machine import size_text
    from nodecopy.progress import progress_bar
    from nodecopy.run.source import read_source
    from nodecopy.tables.inspection import listed_sentences
    from nodecopy.tables.stored import check_graph_folder, write_graph

    reading.print_left_over(out)
    folder = check_graph_folder(out)
    with progress_bar("reading", True) as report:
        table = read_source(reading.settings_of({"edges": edges, **options}), report)
    names = [Path(file).name for file in options["labels"] or ()]
    write_graph(table, folder, label_files=names)
    for line in listed_sentences("note", table.notes):
        print(line)
    dataset = table.dataset
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"{dataset.num_nodes:,} nodes, {dataset.graph.num_edges:,} edges, "
        f"{dataset.num_features:,} features, {int((dataset.labels >= 0).sum()):,} labels: "
        f"{folder} ({size_text(size)})"
    )


@app.command(rich_help_panel=reading.PANEL)
def datasets() -> None:
    """Show the built-in datasets and their counts."""
    from rich.console import Console
    from rich.table import Table

    from nodecopy.data import dataset_names, load_dataset

    table = Table("dataset", caption="homophily: the share of edges that join equal labels")
    for column in ("nodes", "edges", "features", "classes", "homophily", "labelled"):
        table.add_column(column, justify="right")
    for dataset in map(load_dataset, dataset_names()):
        table.add_row(
            dataset.name,
            f"{dataset.num_nodes:,}",
            f"{dataset.graph.num_edges:,}",
            f"{dataset.num_features:,}",
            f"{dataset.num_classes}",
            f"{dataset.graph.homophily(dataset.labels):.3f}",
            f"{(dataset.labels >= 0).sum():,}",
        )
    Console().print(table)
