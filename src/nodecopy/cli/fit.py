"""The command that fits a model to a graph, and writes what it found."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.cli import reading
from nodecopy.cli.app import app
from nodecopy.errors import InputError
from nodecopy.interrupts import working

if TYPE_CHECKING:
    from nodecopy.labelling import FitSettings, LabelledGraph

_Gone = Annotated[str | None, typer.Option(hidden=True)]


def _option(help: str, *names: str, **checks: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, **checks)


def _built_in(help: str, **checks: Any) -> Any:
    return _option(help, rich_help_panel="A built-in dataset", **checks)


@app.command(rich_help_panel=reading.PANEL)
def fit(
    dataset: Annotated[
        str | None, typer.Argument(help="cora, citeseer or pubmed; none with tables of one's own.")
    ] = None,
    out: Annotated[
        str | None, _option("Folder to write. (default, of a built-in dataset: runs/…)")
    ] = None,
    config: Annotated[str | None, _option("Settings, e.g. config.toml of an earlier fit.")] = None,
    seed: Annotated[int | None, _option("Of all that is random. (default: 0)", min=0)] = None,
    preset: Annotated[
        str | None, _option("The method: best, fast or paper. (default: best)")
    ] = None,
    n_zeta: Annotated[
        int | None, _option("Sampled graphs, of best and paper. (default: 10)", min=1)
    ] = None,
    n_weights: Annotated[
        int | None, _option("Of paper: weight draws of each network. (default: 10)", min=1)
    ] = None,
    epsilon: Annotated[
        float | None,
        _option("Of paper: chance that a node keeps its neighbours. (default: 0.01)", min=0, max=1),
    ] = None,
    weights: Annotated[
        str | None, _option("Of paper: weights by dropout, or point. (default: dropout)")
    ] = None,
    epochs: Annotated[
        int | None, _option("Of paper: training of each network. (default: 200)", min=1)
    ] = None,
    standardise: Annotated[
        bool | None,
        _option(
            "Bring dense columns of features to one scale, or not. (default: standardise)",
            "--standardise/--raw",
        ),
    ] = None,
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
    suggestions: Annotated[int | None, _option("Nodes to label next. (default: 20)", min=0)] = None,
    suspects: Annotated[int | None, _option("Suspect edges to list. (default: 100)", min=0)] = None,
    rivals: Annotated[
        bool | None,
        _option("Compare with other methods, or not. (default: rivals)", "--rivals/--no-rivals"),
    ] = None,
    coverage: reading.Coverage = None,
    formulas: reading.Formulas = None,
    max_memory: reading.MaxMemory = None,
    cluster: Annotated[
        str | None, _option("Address of a Dask scheduler, tcp://host:8786, whose workers fit.")
    ] = None,
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
    labels_per_class: Annotated[
        int | None, _built_in("Known labels of each class. (default: 20)", min=1)
    ] = None,
    split: Annotated[
        str | None, _built_in("fixed (the public one) or random. (default: fixed)")
    ] = None,
    graphs: _Gone = None,
    weight_draws: _Gone = None,
    repeats: _Gone = None,
    jobs: _Gone = None,
    suspicion: _Gone = None,
) -> None:
    """Label every node of a graph from a few labels, and write predictions and a report.

    nodecopy fit --edges edges.csv --labels labels.csv --out run

    nodecopy fit cora --labels-per-class 5
    """
    asked = reading.asked_for(locals())
    from nodecopy.experiment.threads import prefer_one_thread

    # These networks are small: a second thread mostly waits, and burns a core. Said before anything
    # below imports NumPy and torch, which look once.
    prefer_one_thread()
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.labelling import label_tables
    from nodecopy.labelling.settings import GONE
    from nodecopy.report.labelled import write_folder
    from nodecopy.report.labelled.change import change_line, read_figures
    from nodecopy.report.labelled.summary import fit_lines

    for name in GONE.keys() & asked.keys():
        reading.refuse([name], GONE[name])
    working()
    where = {"max_memory": asked.pop("max_memory", None), "executor": asked.pop("cluster", None)}
    asked.pop("out", None)
    settings = _settings(asked)
    folder = _folder(out, settings)
    before = read_figures(folder)
    found = label_tables(settings, True, **where)
    with progress_bar("writing", True) as report:
        write_folder(found, folder, progress=report)
    print("\n".join(fit_lines(found, folder)))
    if change := change_line(before, read_figures(folder)):
        print(change)
    if settings.dataset is not None and settings.labels is None:
        _compare(found, folder)


def _settings(asked: dict[str, Any]) -> FitSettings:
    from nodecopy.labelling import FitSettings, read_settings

    config = asked.pop("config", None)
    of_held_out = {name: asked.pop(name) for name in ("folds", "coverage") if name in asked}
    if config is not None:
        settings = read_settings(config, **asked)
    else:
        for name in ("edges", "labels") if asked.keys().isdisjoint(("graph", "dataset")) else ():
            if name not in asked:
                raise InputError(
                    f"--{name} is missing: nodecopy fit --edges FILE --labels FILE --out FOLDER, "
                    "or a built-in dataset: nodecopy fit cora"
                )
        settings = FitSettings(**asked)
    if not settings.holds_out:
        reading.refuse(of_held_out, "needs labels that are held out: add --calibrate")
    return replace(settings, **of_held_out)


def _folder(out: str | None, settings: FitSettings) -> Path:
    """Return the folder to write, which holds nothing that would be lost."""
    from nodecopy.labelling.built_in import built_in
    from nodecopy.report.labelled import check_folder, tidy_folder
    from nodecopy.report.labelled.folder import LABELS

    if settings.dataset is not None:
        _, split = built_in(settings)
        out = out or f"runs/{settings.dataset}-{split.name}-seed-{settings.seed}"
    if out is None:
        raise InputError("--out is missing: the folder to write")
    folder = check_folder(out)
    for left in tidy_folder(folder):
        print(f"note: {left} was left by a run that was killed; remove it", file=sys.stderr)
    for file in map(Path, settings.files):
        if file.name != LABELS and file.resolve().is_relative_to(folder.resolve()):
            raise InputError(
                f"{file} would be replaced, as it is in the folder to write: copy it elsewhere, or "
                "choose another --out"
            )
    return folder


def _compare(found: LabelledGraph, folder: Path) -> None:
    """Say how predictions fare on the test nodes of a built-in dataset, beside other methods."""
    from rich.console import Console
    from rich.table import Table

    from nodecopy.estimator.progress import progress_bar
    from nodecopy.experiment.fit import fits_to_compare
    from nodecopy.labelling.built_in import built_in
    from nodecopy.labelling.evaluation import evaluate_predictions
    from nodecopy.posterior import BayesianGCN
    from nodecopy.report.labelled.folder import PREDICTIONS, TRUTH
    from nodecopy.report.labelled.summary import evaluation_lines

    settings, files = found.settings, (folder / PREDICTIONS, folder / TRUTH)
    evaluated = evaluate_predictions(*files)
    if settings.rivals:
        table = Table("method", title=f"{settings.dataset}, {evaluated.nodes:,} test nodes")
        for column in ("accuracy", "NLL", "ECE", "CPU s"):
            table.add_column(column, justify="right")
        model = BayesianGCN(n_zeta=settings.n_zeta or BayesianGCN.n_zeta)
        with progress_bar("fitting others to compare", True) as report:
            fits = fits_to_compare(*built_in(settings), settings.seed, model, report)
            others = islice(fits, 1 if settings.preset == "paper" else 2)
            rows = [(fit.title, fit.scores, fit.cpu_seconds) for fit in others]
        own = (f"nodecopy ({settings.preset})", evaluated.scores, found.cpu_seconds)
        for title, scores, seconds in [*rows, own]:
            shares = f"{scores.accuracy:.1%}", f"{scores.nll:.3f}", f"{scores.ece_width:.1%}"
            table.add_row(title, *shares, f"{seconds:.1f}")
        Console().print(table)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"nodecopy evaluate --predictions {files[0]} --truth {files[1]}", markup=False)
    console.print("\n".join(evaluation_lines(evaluated)), markup=False)
