"""The command line: parse, call one function, print.

Heavy modules are imported inside the commands, so that ``nodecopy --help`` stays quick.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nodecopy import __version__
from nodecopy.errors import InputError, RunError

if TYPE_CHECKING:
    from rich.table import Table

    from nodecopy.data.dataset import NodeDataset
    from nodecopy.experiment.runner import RunState
    from nodecopy.experiment.status import CellStatus

EXIT_OUR_FAULT = 1
EXIT_USER_INPUT = 2
EXIT_INTERRUPTED = 130

SHOWN_FAILURES = 10

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bayesian graph convolutional networks by node copying.",
)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 fine, 1 our fault, 2 the user's input.

    A failure is one line on stderr; its traceback is shown with ``--debug`` only.

    Args:
        args: the words after the program's name; those of the process by default.
    """
    settings = _Settings()
    try:
        code = app(
            args=None if args is None else list(args),
            prog_name="nodecopy",
            standalone_mode=False,
            obj=settings,
        )
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except (InputError, typer.TyperException) as error:
        return _fail(EXIT_USER_INPUT, f"error: {_explain(error)}", settings)
    except RunError as error:  # neither the user's input nor a bug: a full disk, a lost cluster
        return _fail(EXIT_OUR_FAULT, f"error: {error}", settings)
    except Exception as error:  # noqa: BLE001 - the last resort, where a bug becomes one line
        what = f"internal error: {type(error).__name__}: {error}"
        hint = "run again with --debug before the command for the traceback"
        return _fail(EXIT_OUR_FAULT, what if settings.debug else f"{what}; {hint}", settings)
    if code == EXIT_INTERRUPTED:  # typer turns an interrupt inside a command into this code
        print("interrupted", file=sys.stderr)
    return code or 0


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    context.obj.debug = debug
    if version:
        print(f"nodecopy {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def datasets(
    classes: Annotated[bool, typer.Option("--classes", help="List the classes too.")] = False,
) -> None:
    """Show the built-in datasets and their counts."""
    from rich.console import Console

    from nodecopy.data import dataset_names, load_dataset

    loaded = [load_dataset(name) for name in dataset_names()]
    console = Console()
    console.print(_counts_table(loaded))
    if classes:
        console.print(_classes_table(loaded))


@app.command()
def fit(
    dataset: Annotated[str, typer.Argument(help="A built-in dataset: cora, citeseer or pubmed.")],
    labels_per_class: Annotated[int, typer.Option(help="Known labels of each class.", min=1)] = 20,
    split: Annotated[str, typer.Option(help="fixed (the public one) or random.")] = "fixed",
    seed: Annotated[int, typer.Option(help="Of the random split and the model.", min=0)] = 0,
    graphs: Annotated[int, typer.Option(help="Sampled graphs, a network on each.", min=1)] = 10,
    out: Annotated[str | None, typer.Option(help="Folder of the report.")] = None,
) -> None:
    """Fit the Bayesian GCN by node copying to a built-in dataset and write a report."""
    from nodecopy.experiment.threads import use_one_thread

    use_one_thread()  # these networks are small: a second thread mostly waits, and burns a core
    from rich.console import Console
    from rich.table import Table

    from nodecopy.estimator.progress import progress_bar
    from nodecopy.experiment.fit import fit_builtin
    from nodecopy.posterior import BayesianGCN
    from nodecopy.report.fit import score_rows, write_fit_report

    with progress_bar(f"fitting {dataset}") as progress:
        model = BayesianGCN(n_zeta=graphs)
        outcome = fit_builtin(dataset, labels_per_class, split, seed, model, progress)
    table = Table("method", title=f"{dataset}, {labels_per_class} labels per class, {split} split")
    for column in ("accuracy", "NLL", "ECE"):
        table.add_column(column, justify="right")
    for row in score_rows(outcome):
        table.add_row(*row)
    Console().print(table)
    folder = out or f"runs/{dataset}-{outcome.split.name}-seed-{seed}"
    print(f"report: {write_fit_report(outcome, folder)}")


@app.command()
def inspect(
    edges: Annotated[str, typer.Option(help="CSV, TSV or Parquet: two ids, perhaps a weight.")],
    labels: Annotated[str | None, typer.Option(help="CSV, TSV or Parquet: id, label.")] = None,
    features: Annotated[
        str | None, typer.Option(help="The same, or NPZ: id and numbers, or id, feature, value.")
    ] = None,
) -> None:
    """Read tables of one's own and show what is in them, and what to beware of."""
    from nodecopy.data.inspection import inspect_dataset
    from nodecopy.data.tables import read_tables
    from nodecopy.report.inspection import inspection_lines

    table = read_tables(edges, labels, features)
    print("\n".join(inspection_lines(table, inspect_dataset(table.dataset))))


@app.command()
def report(
    store: Annotated[str, typer.Argument(help="A store, or rows exported as .jsonl or .jsonl.gz.")],
    out: Annotated[str | None, typer.Option(help="Folder of the report.")] = None,
) -> None:
    """Write tables and figures beside the paper's, as one HTML page and as Markdown."""
    from nodecopy.experiment.methods import METHODS
    from nodecopy.report.experiment import write_report
    from nodecopy.report.source import read_source, report_folder

    rows, runs = read_source(store)
    titles = {name: method.title for name, method in METHODS.items()}
    print(f"report: {write_report(rows, out or report_folder(store), titles, runs)}")


@app.command()
def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(help="smoke, table1, table2, table3, figure1, all, or a TOML file."),
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
    """Run the trials behind the paper's tables that a store does not hold yet.

    A run can be interrupted at any time; the same command goes on from there.
    """
    from nodecopy.experiment.threads import use_one_thread

    use_one_thread()  # before anything below imports NumPy

    from nodecopy.experiment.executors import make_executor
    from nodecopy.experiment.reproduce import reproduce as run
    from nodecopy.experiment.spec import load_experiment

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


@app.command()
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


@app.command()
def export(
    store: Annotated[str, typer.Argument(help="File of the rows.")],
    out: Annotated[str, typer.Option(help="File to write; .gz compresses csv and jsonl.")],
    format: Annotated[str, typer.Option(help="csv, jsonl or parquet.")] = "csv",
) -> None:
    """Write the rows of a store for other programs."""
    from nodecopy.experiment.export import export_rows
    from nodecopy.experiment.store import Store

    with Store.open(store, create=False) as opened:
        rows = opened.rows()
    export_rows(rows, out, format)
    print(f"{len(rows):,} rows: {out}")


@app.command()
def merge(
    sources: Annotated[list[str], typer.Argument(help="Stores, or rows exported as jsonl.")],
    out: Annotated[str, typer.Option(help="The new store.")],
) -> None:
    """Join stores, for example of several machines, into a new one."""
    from nodecopy.experiment.merge import merge_stores

    print(f"{merge_stores(sources, out):,} rows: {out}")


@dataclass
class _Settings:
    """The global options, known to `main` even when a command fails."""

    debug: bool = False


def _counts_table(loaded: Sequence[NodeDataset]) -> Table:
    from rich.table import Table

    table = Table("dataset")
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


def _classes_table(loaded: Sequence[NodeDataset]) -> Table:
    from rich.table import Table

    table = Table("dataset", "class", "name")
    table.add_column("nodes", justify="right")
    for dataset in loaded:
        for k, name in enumerate(dataset.class_names):
            first = dataset.name if k == 0 else ""
            table.add_row(first, str(k), name, f"{(dataset.labels == k).sum():,}")
        table.add_section()
    return table


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


def _fail(code: int, message: str, settings: _Settings) -> int:
    if settings.debug:
        traceback.print_exc()
    print(" ".join(message.split()), file=sys.stderr)
    return code


def _explain(error: InputError | typer.TyperException) -> str:
    if isinstance(error, InputError):
        return str(error)
    context = getattr(error, "ctx", None)
    hint = f" (see '{context.command_path} --help')" if context is not None else ""
    return error.format_message() + hint
