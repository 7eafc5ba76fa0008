"""The command line: parse, call one function, print.

Heavy modules are imported inside the commands, so that ``nodecopy --help`` stays quick.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from nodecopy import __version__
from nodecopy.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from nodecopy.data.dataset import NodeDataset

EXIT_OUR_FAULT = 1
EXIT_USER_INPUT = 2
EXIT_INTERRUPTED = 130

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
