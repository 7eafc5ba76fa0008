"""The command that serves the labelling page."""

from __future__ import annotations

import sys
import threading
import webbrowser
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.cli import reading
from nodecopy.cli.reading import app
from nodecopy.errors import InputError, counted

if TYPE_CHECKING:
    from nodecopy.annotate import Session


@app.command(rich_help_panel=reading.PANEL)
@reading.options(*reading.FILES, "method", "random_state", "max_memory", *reading.READING)
def label(
    run: Annotated[
        str | None,
        typer.Argument(help="A folder that nodecopy fit or nodecopy label wrote, to go on there."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="The folder to label in, a new one for instance.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Names of classes to choose from: red,blue.")
    ] = None,
    port: Annotated[
        int, typer.Option(help="To listen on; 0 takes any.", min=0, max=65535, show_default=False)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    **options: Any,
) -> None:
    """Label nodes on a page that asks about those that help most, and fits again as you answer.

    nodecopy label run

    nodecopy label --edges edges.csv --nodes nodes.csv --classes red,blue --out run

    Every answer is kept in the folder at once, and labels.csv holds the labels. Ctrl-C ends, and
    writes the results.
    """
    sys.setswitchinterval(0.001)  # the page does not wait for a fit to pause
    asked = reading.asked_for(options)
    named = reading.column_names(classes or "")
    from nodecopy.annotate import Session
    from nodecopy.annotate.server import Served
    from nodecopy.run import FitSettings

    settings = FitSettings(**asked) if run is None else None
    if run is not None:
        given = [*asked, *(["out"] if out else [])]
        reading.refuse(given, f"is for a new folder; {run} has its own settings")
    elif out is None:
        raise InputError("--out is missing: nodecopy label --edges FILE --out FOLDER")
    run = run or out or ""

    reading.print_left_over(run)
    with closing(Session(run, settings, named)) as session:
        for note in session.table.notes:
            print(f"note: {note}")
        with Served(session, port) as served:
            try:
                print(f"Label nodes at {served.url}", flush=True)
                print(f"Answers are kept in {session.folder}. Ctrl-C ends.", flush=True)
                if browser:  # it may wait for a browser that does not come
                    threading.Thread(
                        target=webbrowser.open, args=(served.url,), daemon=True
                    ).start()
                while True:  # a signal that another thread received is seen when the wait ends
                    threading.Event().wait(0.5)
            except KeyboardInterrupt:  # before the server is stopped, which may take seconds
                print(f"\n{_what_follows(session)}", flush=True)
        if session.unwritten:
            print(f"Done: {session.finish(progress=True)}")


def _what_follows(session: Session) -> str:
    """Say what Ctrl-C has written, and what another one does."""
    labels, kept = counted(len(session.answers.labels), "label"), session.answers.file
    if not session.unwritten:
        return f"Done: {labels} in {kept}."
    return (
        f"Writing the results of {labels} to {session.folder}: predictions, report, model and "
        f"settings. Ctrl-C again leaves without them; the labels stay in {kept}."
    )
