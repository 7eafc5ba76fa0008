"""The commands of `nodecopy paper`: run its experiments, watch, join, export and show them."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nodecopy.cli.reading import EXIT_OUR_FAULT, app
from nodecopy.core.errors import InputError, counted

if TYPE_CHECKING:
    from nodecopy.paper.store import Store

paper = typer.Typer(help="Run the experiments of the paper, and show them beside its tables.")
app.add_typer(paper, name="paper", rich_help_panel="The paper")

SHOWN_FAILURES = 10
Source = Annotated[str, typer.Argument(help="A store, or rows exported as .jsonl or .jsonl.gz.")]


@paper.callback(invoke_without_command=True)
def _list_commands(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@paper.command()
def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(help="smoke, table1, table2, table3, figure1, all, beyond, or a TOML file."),
    ],
    store: Annotated[str, typer.Option(help="File of the rows.")] = "runs.sqlite",
    executor: Annotated[
        str, typer.Option(help="serial, processes, or a Dask scheduler: tcp://host:8786.")
    ] = "processes",
    workers: Annotated[int | None, typer.Option(help="Trials at a time.", min=1)] = None,
    trials: Annotated[int | None, typer.Option(help="Trials of each cell.", min=1)] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, e.g. gcn,copying.")] = None,
) -> None:
    """Run the trials of an experiment, such as the paper's tables, that a store does not hold yet.

    A run can be interrupted at any time; the same command goes on from there.
    """
    from nodecopy.paper.experiment import load_experiment
    from nodecopy.paper.experiment import reproduce as run

    chosen = load_experiment(experiment)
    if trials is not None:
        chosen = replace(chosen, trials_per_cell=trials)
    if methods is not None:
        chosen = replace(chosen, methods=tuple(name.strip() for name in methods.split(",")))
    ended = run(chosen, store, executor, workers, progress=True)
    stored = ended.total - len(ended.failures)
    print(f"{stored:,} of {ended.total:,} trials are in {store}, {ended.done:,} of them new")
    for failure in ended.failures[:SHOWN_FAILURES]:
        print(f"failed: {failure.headline}", file=sys.stderr)
    if ended.failures:
        print(f"{len(ended.failures):,} failed: nodecopy paper status {store}", file=sys.stderr)
        raise typer.Exit(EXIT_OUR_FAULT)


@paper.command()
def status(store: Annotated[str, typer.Argument(help="File of the rows.")]) -> None:
    """Show what a store holds so far, also while a run goes on."""
    from nodecopy.paper.store import Store

    with Store.open(store, create=False) as opened:
        for line in _cell_lines(opened):
            print(line)
        for failure in opened.failures():
            print(f"failed: {failure.headline}")


@paper.command()
def tables(
    rows: Source, out: Annotated[str | None, typer.Option(help="Folder of the report.")] = None
) -> None:
    """Write tables and figures beside the paper's, as one HTML page."""
    from nodecopy.paper.store import read_rows
    from nodecopy.paper.tables import write_report

    source, held = Path(rows), read_rows(rows)
    folder = out or source.with_name(f"{source.name.partition('.')[0]}-report")
    print(f"report: {write_report(held, folder)}")


@paper.command()
def export(
    rows: Source,
    out: Annotated[str | None, typer.Option(help="File to write: .jsonl or .jsonl.gz.")] = None,
    form: Annotated[
        Literal["latex"] | None,
        typer.Option("--format", help="Means and standard errors of the cells as table rows."),
    ] = None,
) -> None:
    """Write the rows of a store for other programs, or the rows of a LaTeX table."""
    from nodecopy.core.files import write_whole
    from nodecopy.paper.store import export_rows, read_rows
    from nodecopy.paper.study import Study
    from nodecopy.paper.tables import latex_rows

    held = read_rows(rows)
    if form == "latex":
        table = latex_rows(Study(held))
        print(table, end="") if out is None else write_whole(Path(out), table)
        return
    if out is None:
        raise InputError("export needs --out FILE, or --format latex")
    export_rows(held, out)
    print(f"{len(held):,} rows: {out}")


@paper.command()
def merge(
    sources: Annotated[list[str], typer.Argument(help="Stores, or rows exported as jsonl.")],
    out: Annotated[str, typer.Option(help="The store to add them to; made if need be.")],
) -> None:
    """Join stores, for example of several machines, into one."""
    from nodecopy.paper.store import Store, read_rows

    rows = [row for source in sources for row in read_rows(source)]
    with Store.open(out) as store:
        added = store.add(rows)
        print(f"{added:,} new rows, {len(store.trials()):,} in all: {out}")


def _cell_lines(store: Store) -> list[str]:
    """Return a line for each cell: trials, failures, accuracy and CPU seconds of a trial."""
    from nodecopy.paper.study import Study, Summary

    study, lines = Study(store.rows()), []
    failed = Counter(failure.trial.cell for failure in store.failures())
    for key in sorted({*study.cells, *failed}):
        accuracy = list(study.accuracy(key).values())
        line = f"{' '.join(map(str, key))}: {counted(len(accuracy), 'trial')}"
        line += f", {failed[key]} failed" if failed[key] else ""
        if accuracy:
            cpu = study.scores(key, "cpu_seconds").mean()
            line += f", accuracy {Summary.of(accuracy)} %, {cpu:.2f} CPU s each"
        lines.append(line)
    return lines
