"""Commands on a graph: fit, predict, explain, export, inspect, label."""

from __future__ import annotations

import shutil
import sys
import threading
import webbrowser
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodecopy.cli import reading
from nodecopy.cli.reading import app
from nodecopy.core.errors import InputError, counted, shown
from nodecopy.read.options import FILES, with_flags

if TYPE_CHECKING:
    from nodecopy.annotate import Session
    from nodecopy.run import FitSettings


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

    nodecopy fit --edges edges.csv --nodes nodes.csv --predict status --out run

    nodecopy fit cora --labels-per-class 5
    """
    from nodecopy.report import report_page
    from nodecopy.report.summary import fit_lines, truth_lines
    from nodecopy.run import FitSettings, label_tables, read_settings, write_folder
    from nodecopy.run.folder import ANSWERS

    asked = reading.asked_for({"dataset": dataset, **options})
    settings = FitSettings(**asked) if config is None else read_settings(config, **asked)
    if "coverage" in asked and not settings.holds_out:
        reading.refuse(["coverage"], "needs labels that are held out: add --calibrate")
    folder = _folder(out, settings)
    run = label_tables(settings, True)
    write_folder(run, folder, lambda: report_page(run.result, run.source), True)
    if (folder / ANSWERS).exists():
        take = f"nodecopy label {folder} --labels FILE takes labels over"
        print(
            f"note: the answers in {folder} stay as they are, whatever labels were fitted; {take}"
        )
    print("\n".join(fit_lines(run.result, folder)))
    if settings.dataset is not None and settings.labels is None:
        print("\n".join(truth_lines(run)))


@app.command(rich_help_panel=reading.PANEL)
@reading.options(
    *("edges", "nodes", "coverage", "text_model", *reading.READING),
    without=("label_columns", "label_type", "predict", "repeated_edges", "column_types"),
)
def predict(
    out: Annotated[str, typer.Option(help="CSV or Parquet file to write.")],
    run: Annotated[
        str | None,
        typer.Argument(help="A folder that nodecopy fit wrote: tables hold what is new."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The folder model of a fit: tables hold the whole graph.")
    ] = None,
    **options: Any,
) -> None:
    """Predict new nodes of a fitted graph, or a whole graph that has changed, without a new fit.

    nodecopy predict run --nodes new_nodes.csv --edges new_edges.csv --out new.csv

    nodecopy predict --model run/model --nodes nodes.csv --edges edges.csv --out all.csv
    """
    from nodecopy.read.inspection import listed_sentences
    from nodecopy.result import incomplete_model
    from nodecopy.run.predict import check_predictions_file, predict_tables, write_predictions

    folder = run or model
    if folder is None or (run and model):
        raise InputError(
            "name the folder of a fit (nodecopy predict RUN) where the tables hold what is new, or "
            "--model FOLDER where they hold the whole graph; got " + ("both" if folder else "none")
        )
    coverage, options["edges"] = options["coverage"], options["edges"] or (() if run else None)
    settings = reading.settings_of(options)
    target = check_predictions_file(out)
    table, predictions = predict_tables(
        folder, settings, coverage, options["text_model"], True, only_new=run is not None
    )
    write_predictions(predictions, target)
    line = incomplete_model(folder)
    notes = [*map(with_flags, table.notes), *([line] if line else [])]
    count, which = len(predictions.ids), "new " if run else ""
    what = f"{count:,} {which}{next(iter(table.node_types), '')}"
    rows = what if table.node_types else counted(count, f"{which}node")
    print("\n".join([*listed_sentences("note", notes), f"{rows}: {out}"]))


@app.command(rich_help_panel=reading.PANEL)
def export(
    run: Annotated[str, typer.Argument(help="A folder that nodecopy fit wrote.")],
    to: Annotated[str, typer.Option(help="graphml, gexf, neo4j, parquet or xlsx.")],
    out: Annotated[
        str | None, typer.Option(help="File or folder to write. (default: beside the run)")
    ] = None,
) -> None:
    """Write the graph of a run with its predictions, for Gephi, Neo4j, DuckDB or Excel.

    nodecopy export run --to gexf
    """
    from nodecopy.read.inspection import listed_sentences
    from nodecopy.run.export import export_run

    path, size, notes = export_run(run, to, out, True)
    print("\n".join([*listed_sentences("note", notes), f"{size}: {path}"]))


@app.command(rich_help_panel=reading.PANEL)
def explain(
    run: Annotated[str, typer.Argument(help="A folder that nodecopy fit or nodecopy label wrote.")],
    nodes: Annotated[list[str], typer.Argument(help="Ids of nodes; several are compared.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, a line per node.")] = False,
) -> None:
    """Show why nodes have their class: what adds up to its odds, as a waterfall.

    nodecopy explain run 35

    nodecopy explain run 35 1033
    """
    from nodecopy.read.inspection import printable
    from nodecopy.result import Result
    from nodecopy.trust.explanation import limits_of

    result = Result.load(run)
    given = result.nodes("explain")
    place = {str(id): at for at, id in enumerate(given.ids[: given.num_classified])}
    if unknown := [node for node in nodes if node not in place]:
        like = shown(next(iter(place)))
        raise InputError(f"no node has the id {shown(unknown[0])}; ids look like {like}")
    several = result.explanations([place[node] for node in nodes])
    if as_json:
        print("\n".join(why.to_json() for why in several))
        return
    limits = limits_of(several)
    drawn = [[printable(line) for line in why.lines(limits)] for why in several]
    wide = max(len(line) for lines in drawn for line in lines) + 4
    beside = len(several) * wide <= shutil.get_terminal_size().columns
    rows = (
        zip_longest(*drawn, fillvalue="") if beside else [(line,) for one in drawn for line in one]
    )
    print("\n".join("".join(line.ljust(wide) for line in row).rstrip() for row in rows))
    for why in several:
        title = [f"\n{printable(str(why.node))}:"] * (len(several) > 1)
        print("\n".join([*title, *(f"  {printable(text)}" for text in why.sentences)]))


@app.command(rich_help_panel=reading.PANEL)
@reading.options(*FILES, *reading.READING)
def inspect(**options: Any) -> None:
    """Read your tables and show what is in them, and what to beware of."""
    from nodecopy.read.inspection import inspect_dataset, inspection_lines
    from nodecopy.run.fit import read_source

    table = read_source(reading.settings_of(options), True)
    print("\n".join(inspection_lines(table, inspect_dataset(table))))


@app.command(rich_help_panel=reading.PANEL)
@reading.options(*FILES, "method", "text_model", "classes", "random_state", *reading.READING)
def label(
    run: Annotated[
        str | None,
        typer.Argument(help="A folder that nodecopy fit or nodecopy label wrote, to go on there."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="The folder to label in, a new one for instance.")
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

    nodecopy label run --labels edited.csv

    nodecopy label --edges edges.csv --nodes nodes.csv --classes red,blue --out run

    Every answer is kept in the folder at once, and labels.csv is written from the answers: to
    change labels by hand, edit a copy and name it. Ctrl-C ends, and writes the results.
    """
    sys.setswitchinterval(0.001)  # the page does not wait for a fit to pause
    asked = reading.asked_for(options)
    from nodecopy.annotate import Session
    from nodecopy.annotate.server import Served
    from nodecopy.run import FitSettings
    from nodecopy.run.settings import parse_classes

    classes = asked.pop("classes", None) if run is not None else None
    named = () if classes is None else tuple(parse_classes(classes))
    settings = FitSettings(**asked) if run is None else None
    edited: tuple[str, ...] = ()
    if run is not None:
        edited = asked.pop("labels", ())
        given = [*asked, *(["out"] if out else [])]
        reading.refuse(given, f"is for a new folder; {run} has its own settings")
    elif out is None:
        raise InputError("--out is missing: nodecopy label --edges FILE --out FOLDER")
    run = run or out or ""

    with closing(Session(run, settings, named, edited)) as session:
        for note in session.notes:
            print(f"note: {note}")
        with Served(session, port) as served:
            try:
                print(f"Label nodes at {served.url}", flush=True)
                print(f"Answers are kept in {session.answers.database}. Ctrl-C ends.", flush=True)
                if browser:  # it may wait for a browser that does not come
                    threading.Thread(
                        target=webbrowser.open, args=(served.redirect(),), daemon=True
                    ).start()
                while True:  # a signal that another thread received is seen when the wait ends
                    threading.Event().wait(0.5)
            except KeyboardInterrupt:  # before the server is stopped, which may take seconds
                print(f"\n{_what_follows(session)}", flush=True)
        if session.unwritten:
            print(f"Done: {session.finish(progress=True)}")


def _folder(out: str | None, settings: FitSettings) -> Path:
    """Return the folder to write, which holds nothing that would be lost."""
    from nodecopy.run.fit import built_in
    from nodecopy.run.folder import WRITTEN, check_folder

    if settings.dataset is not None:
        _, split = built_in(settings)
        out = out or f"runs/{settings.dataset}-{split.name}-seed-{settings.random_state}"
    if out is None:
        raise InputError("--out is missing: the folder to write")
    folder = check_folder(out)
    for file in map(Path, settings.files):
        if any(file.resolve().is_relative_to(folder.resolve() / name) for name in WRITTEN):
            raise InputError(
                f"{file} would be replaced, as a fit writes this file: copy it elsewhere, or "
                "choose another --out"
            )
    return folder


def _what_follows(session: Session) -> str:
    """Say what Ctrl-C has written, and what another one does."""
    labels, kept = counted(len(session.answers.labels), "label"), session.answers.kept
    if not session.unwritten:
        return f"Done: {labels}; {kept}."
    return (
        f"Writing the results of {labels} to {session.folder}: predictions, report, model and "
        f"settings. Ctrl-C again leaves without them; {kept}."
    )
