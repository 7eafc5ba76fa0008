"""Commands on a graph: fit, predict, evaluate, inspect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.cli import reading
from nodecopy.cli.reading import app
from nodecopy.errors import InputError

if TYPE_CHECKING:
    from nodecopy.run import FitSettings, LabelledGraph


@app.command(rich_help_panel=reading.PANEL)
@reading.options()
def fit(
    dataset: Annotated[
        str | None, typer.Argument(help="cora, citeseer or pubmed; none with user tables.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder to write. (default, of a built-in dataset: runs/…)")
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="Settings, e.g. config.toml of an earlier fit.")
    ] = None,
    **options: Any,
) -> None:
    """Label every node of a graph from a few labels, and write predictions and a report.

    nodecopy fit --edges edges.csv --labels labels.csv --out run

    nodecopy fit cora --labels-per-class 5
    """
    from nodecopy.report import report_page
    from nodecopy.report.summary import fit_lines
    from nodecopy.run import FitSettings, label_tables, read_settings, write_folder

    asked = reading.asked_for({"dataset": dataset, **options})
    settings = FitSettings(**asked) if config is None else read_settings(config, **asked)
    if "coverage" in asked and not settings.holds_out:
        reading.refuse(["coverage"], "needs labels that are held out: add --calibrate")
    folder = _folder(out, settings)
    result = label_tables(settings, True)
    write_folder(result, folder, report_page(result))
    print("\n".join(fit_lines(result, folder)))
    if settings.dataset is not None and settings.labels is None:
        _evaluate(result, folder)


@app.command(rich_help_panel=reading.PANEL)
@reading.options(
    *("edges", "nodes", "coverage", *reading.READING),
    without=("label_columns", "label_kind", "repeated_edges", "columns"),
)
def predict(
    model: Annotated[str, typer.Option(help="The folder model that nodecopy fit wrote.")],
    out: Annotated[str, typer.Option(help="CSV or Parquet file to write.")],
    **options: Any,
) -> None:
    """Apply a fitted model to other tables, e.g. a graph that has grown."""
    from nodecopy.run.model_folder import ModelFolder
    from nodecopy.run.predictions import check_predictions_file, write_predictions
    from nodecopy.tables.inspection import listed_sentences

    coverage = options.pop("coverage")
    settings = reading.settings_of(options)
    target = check_predictions_file(out)
    loaded = ModelFolder.load(model)
    if coverage is not None:
        loaded.classifier.assessment()  # or say at once that there are no sets
    table, posterior = loaded.predict(settings)
    write_predictions(loaded.predictions(table, posterior, coverage), target)
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
@reading.options(*reading.FILES, *reading.READING)
def inspect(**options: Any) -> None:
    """Read your tables and show what is in them, and what to beware of."""
    from nodecopy.run.fit import read_source
    from nodecopy.tables.inspection import inspect_dataset, inspection_lines

    table = read_source(reading.settings_of(options))
    print("\n".join(inspection_lines(table, inspect_dataset(table.dataset))))


def _folder(out: str | None, settings: FitSettings) -> Path:
    """Return the folder to write, which holds nothing that would be lost."""
    from nodecopy.run.fit import built_in
    from nodecopy.run.folder import WRITTEN, check_folder

    if settings.dataset is not None:
        _, split = built_in(settings)
        out = out or f"runs/{settings.dataset}-{split.name}-seed-{settings.random_state}"
    if out is None:
        raise InputError("--out is missing: the folder to write")
    reading.print_left_over(out)
    folder = check_folder(out)
    for file in map(Path, settings.files):
        if any(file.resolve().is_relative_to(folder.resolve() / name) for name in WRITTEN):
            raise InputError(
                f"{file} would be replaced, as a fit writes this file: copy it elsewhere, or "
                "choose another --out"
            )
    return folder


def _evaluate(result: LabelledGraph, folder: Path) -> None:
    """Print scores on the test nodes of a built-in dataset, as `nodecopy evaluate` does."""
    from rich.console import Console

    from nodecopy.report.summary import estimate_line, evaluation_lines
    from nodecopy.run.evaluation import evaluate_predictions
    from nodecopy.run.folder import PREDICTIONS, TRUTH

    evaluation = evaluate_predictions(folder / PREDICTIONS, folder / TRUTH)
    console = Console(highlight=False, soft_wrap=True)
    if result.accuracy is not None:
        console.print(estimate_line(result.accuracy, evaluation), markup=False)
    command = f"nodecopy evaluate --predictions {folder / PREDICTIONS} --truth {folder / TRUTH}"
    console.print(command, markup=False)
    console.print("\n".join(evaluation_lines(evaluation)), markup=False)
