"""The command that serves the labelling page."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.cli.app import app
from nodecopy.cli.graphs import PANEL, _given, column_names, memory_bytes
from nodecopy.errors import InputError, NodecopyError
from nodecopy.interrupts import working

if TYPE_CHECKING:
    from nodecopy.annotation import Session

_NEW = "To begin with tables"


def _table(help: str, **checks: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_NEW, show_default=False, **checks)


@app.command(rich_help_panel=PANEL)
def label(
    run: Annotated[
        str | None,
        typer.Argument(help="A folder that nodecopy fit or nodecopy label wrote, to go on there."),
    ] = None,
    edges: Annotated[str | None, _table("CSV, TSV or Parquet: two ids, perhaps a weight.")] = None,
    labels: Annotated[
        str | None, _table("CSV, TSV or Parquet: id, label; none begins without any.")
    ] = None,
    features: Annotated[
        str | None, _table("The same, or NPZ: id and numbers, or id, feature, value.")
    ] = None,
    graph: Annotated[
        str | None, _table("Folder that nodecopy import wrote, instead of edges and features.")
    ] = None,
    out: Annotated[str | None, _table("The folder to label in, a new one for instance.")] = None,
    classes: Annotated[str | None, _table("Names of classes to choose from: red,blue.")] = None,
    edge_columns: Annotated[str | None, _table("Names of the columns of --edges to read.")] = None,
    label_columns: Annotated[
        str | None, _table("Names of the columns of --labels to read.")
    ] = None,
    feature_columns: Annotated[
        str | None, _table("Names of the columns of --features: the id and, if not all, features.")
    ] = None,
    repeated_edges: Annotated[
        str | None, _table("Weight of an edge with several rows: largest or sum.")
    ] = None,
    preset: Annotated[str | None, _table("The method: best, fast or paper.")] = None,
    seed: Annotated[int | None, _table("Of all that is random.", min=0)] = None,
    port: Annotated[
        int, typer.Option(help="To listen on; 0 takes any.", min=0, max=65535, show_default=False)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    max_memory: Annotated[
        str | None, typer.Option(help="Refuse what needs more memory, e.g. 8G.", show_default=False)
    ] = None,
) -> None:
    """Label nodes on a page that asks about those that help most, and fits again as you answer.

    nodecopy label run

    nodecopy label --edges edges.csv --features features.csv --classes red,blue --out run

    Every answer is kept in labels.csv in the folder at once. Ctrl-C ends, and writes the results.
    """
    from nodecopy.experiment.threads import prefer_one_thread

    prefer_one_thread()  # one for each of the fits, and one for the page
    sys.setswitchinterval(0.001)  # the page does not wait for a fit to pause
    tables = {
        "edges": edges,
        "labels": labels,
        "features": features,
        "graph": graph,
        "edge_columns": column_names(edge_columns),
        "label_columns": column_names(label_columns),
        "feature_columns": column_names(feature_columns),
        "repeated_edges": repeated_edges,
        "preset": preset,
        "seed": seed,
    }
    folder, settings = _asked(run, out, _given(tables))
    _serve(folder, settings, column_names(classes) or (), port, browser, memory_bytes(max_memory))


def _asked(run: str | None, out: str | None, tables: dict[str, Any]) -> tuple[str, Any]:
    """Return the folder to label in, and the settings of a new one."""
    if run is not None:
        for name in [*tables, *(["out"] if out else [])]:
            raise InputError(
                f"--{name.replace('_', '-')} is for a new folder; {run} has its own settings"
            )
        return run, None
    if tables.keys().isdisjoint(("edges", "graph")) or out is None:
        missing = "out" if out is None else "edges"
        raise InputError(
            f"--{missing} is missing: nodecopy label --edges FILE --out FOLDER, or nodecopy label "
            "FOLDER, one that nodecopy fit wrote"
        )
    from pathlib import Path

    from nodecopy.labelling import FitSettings
    from nodecopy.report.labelled.folder import LABELS

    return out, FitSettings(**({"labels": str(Path(out, LABELS))} | tables))


def _serve(
    folder: str,
    settings: Any,
    classes: tuple[str, ...],
    port: int,
    browser: bool,
    max_memory: int | None,
) -> None:
    from nodecopy.annotation import open_run
    from nodecopy.annotation.serving import Served
    from nodecopy.report.labelled import tidy_folder

    working()
    for left in tidy_folder(folder):
        print(f"note: {left} was left by a run that was killed; remove it", file=sys.stderr)
    session = open_run(folder, settings, classes, max_memory)
    try:
        for note in session.table.notes:
            print(f"note: {note}")
        with Served(session, port) as served:
            print(f"Label nodes at {served.url}", flush=True)
            print(f"Answers are kept in {session.folder / 'labels.csv'}. Ctrl-C ends.", flush=True)
            if browser:
                _open(served.url)
            _wait()
        _finish(session)
    finally:
        session.close()


def _open(url: str) -> None:
    import webbrowser

    # It may wait for a browser that does not come; the address is printed.
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _wait() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print()


def _finish(session: Session) -> None:
    """Write the results, if there are labels to fit to that they do not hold."""
    if session.written or len(set(session.journal.labels.values())) < 2:
        print(f"{len(session.journal.labels):,} labels are in {session.folder / 'labels.csv'}.")
        return
    print("Writing the results; Ctrl-C again leaves without.", flush=True)
    try:
        session.finish()
    except NodecopyError as error:
        kept = f"The labels are in {session.folder / 'labels.csv'}."
        raise type(error)(f"{error}. {kept}") from error
    print(session.state()["finish"]["message"])
