"""Commands that reproduce the paper: run trials, watch them, join and export them, report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nodecopy.cli.app import EXIT_INTERRUPTED, EXIT_OUR_FAULT, app
from nodecopy.interrupts import working

if TYPE_CHECKING:
    from rich.table import Table

    from nodecopy.experiment.runner import RunState
    from nodecopy.experiment.status import CellStatus

PANEL = "The paper"
SHOWN_FAILURES = 10


@app.command(rich_help_panel=PANEL)
def report(
    store: Annotated[str, typer.Argument(help="A store, or rows exported as .jsonl or .jsonl.gz.")],
    out: Annotated[str | None, typer.Option(help="Folder of the report.")] = None,
) -> None:
    """Write tables and figures beside the paper's, as one HTML page and as Markdown."""
    from nodecopy.experiment.methods import METHODS
    from nodecopy.report.experiment import write_report
    from nodecopy.report.source import read_source, report_folder

    working()
    rows, runs = read_source(store)
    titles = {name: method.title for name, method in METHODS.items()}
    print(f"report: {write_report(rows, out or report_folder(store), titles, runs)}")


@app.command(rich_help_panel=PANEL)
def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(help="smoke, table1, table2, table3, figure1, all, beyond, or a TOML file."),
    ],
    store: Annotated[str, typer.Option(help="File of the rows.")] = "runs.sqlite",
    executor: Annotated[
        str | None, typer.Option(help="serial, processes (default) or cluster.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Trials at a time.", min=1)] = None,
    trials: Annotated[int | None, typer.Option(help="Trials of each cell.", min=1)] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, tcp://host:8786.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, e.g. gcn,copying.")] = None,
) -> None:
    """Run the trials of an experiment, such as the paper's tables, that a store does not hold yet.

    A run can be interrupted at any time; the same command goes on from there.
    """
    from nodecopy.experiment.threads import use_one_thread

    use_one_thread()  # before anything below imports NumPy

    from nodecopy.experiment.executors import make_executor
    from nodecopy.experiment.reproduce import reproduce as run
    from nodecopy.experiment.spec import load_experiment

    working()
    wanted = load_experiment(experiment)
    if trials is not None:
        wanted = replace(wanted, trials_per_cell=trials)
    if methods is not None:
        wanted = replace(wanted, methods=tuple(name.strip() for name in methods.split(",")))
    kind = executor or ("processes" if cluster is None else "cluster")
    state = run(wanted, store, make_executor(kind, workers, cluster, wanted.time_limit))
    _show_end(state, store)
    if state.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if state.failures:
        raise typer.Exit(EXIT_OUR_FAULT)


@app.command(rich_help_panel=PANEL)
def status(store: Annotated[str, typer.Argument(help="File of the rows.")]) -> None:
    """Show what a store holds so far, also while a run goes on."""
    from rich.console import Console

    from nodecopy.experiment.status import cells_of
    from nodecopy.experiment.store import Store

    with Store.open(store, create=False) as opened:
        cells, runs, failures = cells_of(opened), opened.runs(), opened.failures()
    Console().print(_cells_table(cells))
    for run in runs:
        end = f"ended {run.ended}" if run.ended else "not ended: running, or killed"
        print(f"{run.experiment}: {run.planned:,} trials, {run.executor}, {run.started}, {end}")
    for failure in failures:
        print(f"failed: {failure.headline}")


@app.command(rich_help_panel=PANEL)
def export(
    store: Annotated[str, typer.Argument(help="File of the rows.")],
    out: Annotated[str, typer.Option(help="File to write; .gz compresses csv and jsonl.")],
    format: Annotated[str, typer.Option(help="csv, jsonl or parquet.")] = "csv",
) -> None:
    """Write the rows of a store for other programs."""
    from nodecopy.experiment.export import export_rows
    from nodecopy.experiment.store import Store

    working()
    with Store.open(store, create=False) as opened:
        rows = opened.rows()
    export_rows(rows, out, format)
    print(f"{len(rows):,} rows: {out}")


@app.command(rich_help_panel=PANEL)
def merge(
    sources: Annotated[list[str], typer.Argument(help="Stores, or rows exported as jsonl.")],
    out: Annotated[str, typer.Option(help="The new store.")],
) -> None:
    """Join stores, for example of several machines, into a new one."""
    from nodecopy.experiment.merge import merge_stores

    working()
    print(f"{merge_stores(sources, out):,} rows: {out}")


def _cells_table(cells: Sequence[CellStatus]) -> Table:
    from rich.table import Table

    table = Table("dataset", "split")
    for column in ("labels", "method", "trials", "failed", "accuracy %", "CPU s"):
        side: Literal["left", "right"] = "left" if column == "method" else "right"
        table.add_column(column, justify=side, no_wrap=True)
    for cell in cells:
        spread = "" if cell.deviation is None else f" ± {cell.deviation * 100:.1f}"
        table.add_row(
            cell.dataset,
            cell.split,
            str(cell.labels_per_class),
            cell.method,
            str(cell.trials),
            str(cell.failed),
            "" if cell.accuracy is None else f"{cell.accuracy * 100:.1f}{spread}",
            "" if cell.cpu_seconds is None else f"{cell.cpu_seconds:.2f}",
        )
    return table


def _show_end(state: RunState, store: str) -> None:
    stored = state.before + state.done
    print(f"{stored:,} of {state.total:,} trials are in {store}, {state.done:,} of them new")
    for failure in state.failures[:SHOWN_FAILURES]:
        print(f"failed: {failure.headline}", file=sys.stderr)
    if len(state.failures) > SHOWN_FAILURES:
        print(f"{len(state.failures):,} failed: nodecopy status {store}", file=sys.stderr)
