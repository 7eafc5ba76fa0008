"""The command that fits a model to a graph, and writes what it found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.cli import reading
from nodecopy.cli.app import app
from nodecopy.errors import InputError

if TYPE_CHECKING:
    from nodecopy.run import FitSettings, LabelledGraph


def _option(help: str, *names: str, **checks: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, **checks)


def _built_in(help: str, **checks: Any) -> Any:
    return _option(help, rich_help_panel="A built-in dataset", **checks)


@app.command(rich_help_panel=reading.PANEL)
@reading.table_options()
def fit(
    dataset: Annotated[
        str | None, typer.Argument(help="cora, citeseer or pubmed; none with user tables.")
    ] = None,
    out: Annotated[
        str | None, _option("Folder to write. (default, of a built-in dataset: runs/…)")
    ] = None,
    config: Annotated[str | None, _option("Settings, e.g. config.toml of an earlier fit.")] = None,
    method: Annotated[
        str | None, _option("The method: best, fast or paper. (default: best)")
    ] = None,
    normalise: Annotated[
        str | None, _option("Scale features: auto, rows, columns or none. (default: auto)")
    ] = None,
    random_state: Annotated[int | None, _option("Random seed. (default: 0)", min=0)] = None,
    calibrate: Annotated[
        bool | None,
        _option(
            "Hold out labels to calibrate and to estimate accuracy. (default: not for paper)",
            "--calibrate/--no-calibrate",
        ),
    ] = None,
    folds: Annotated[
        int | None, _option("Parts of the labels, each held out once. (default: 5)", min=2)
    ] = None,
    class_prior: Annotated[
        str | None,
        _option("Shares of the classes: a=0.1,b=0.9, labels, or uniform. (default: estimate)"),
    ] = None,
    suggestions: Annotated[int | None, _option("Nodes to label next. (default: 20)", min=0)] = None,
    suspects: Annotated[int | None, _option("Suspect edges to list. (default: 100)", min=0)] = None,
    baselines: Annotated[
        bool | None,
        _option(
            "Compare with simple methods, or not. (default: baselines)",
            "--baselines/--no-baselines",
        ),
    ] = None,
    coverage: reading.Coverage = None,
    max_memory: reading.MaxMemory = None,
    executor: Annotated[
        str | None,
        _option("Where to fit: serial, processes, or a Dask scheduler. (default: serial)"),
    ] = None,
    edges: reading.Edges = None,
    labels: reading.Labels = None,
    nodes: reading.Nodes = None,
    graph: reading.GraphFolder = None,
    labels_per_class: Annotated[
        int | None, _built_in("Known labels of each class. (default: 20)", min=1)
    ] = None,
    split: Annotated[
        str | None, _built_in("fixed (the public one) or random. (default: fixed)")
    ] = None,
    **options: Any,
) -> None:
    """Label every node of a graph from a few labels, and write predictions and a report.

    nodecopy fit --edges edges.csv --labels labels.csv --out run

    nodecopy fit cora --labels-per-class 5
    """
    asked = reading.asked_for(locals())
    from nodecopy.machine import prefer_one_thread

    # These networks are small: a second thread mostly waits, and burns a core. Said before anything
    # below imports NumPy and torch, which look once.
    prefer_one_thread()
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.report import report_page
    from nodecopy.report.summary import fit_lines
    from nodecopy.run import label_tables, read_settings, write_folder

    for name in ("out", "config"):
        asked.pop(name, None)
    settings = reading.settings_of(asked) if config is None else read_settings(config, **asked)
    if coverage is not None and not settings.holds_out:
        reading.refuse(["coverage"], "needs labels that are held out: add --calibrate")
    folder = _folder(out, settings)
    result = label_tables(settings, True)
    with progress_bar("writing", True) as report:
        write_folder(result, folder, report_page(result), progress=report)
    print("\n".join(fit_lines(result, folder)))
    if settings.dataset is not None and settings.labels is None:
        _evaluate(result, folder)


def _folder(out: str | None, settings: FitSettings) -> Path:
    """Return the folder to write, which holds nothing that would be lost."""
    from nodecopy.run.folder import WRITTEN, check_folder
    from nodecopy.run.source import built_in

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
