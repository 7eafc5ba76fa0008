"""Commands on a graph: inspect, fit, predict, evaluate; a built-in one, or one's own."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from nodecopy.cli.app import EXIT_USER_INPUT, app
from nodecopy.errors import InputError, TablesError
from nodecopy.interrupts import working

PANEL = "A graph"

Edges = Annotated[str, typer.Option(help="CSV, TSV or Parquet: two ids, perhaps a weight.")]
Labels = Annotated[
    list[str] | None, typer.Option(help="CSV, TSV or Parquet: id, label. May be given again.")
]
Features = Annotated[
    str | None, typer.Option(help="The same, or NPZ: id and numbers, or id, feature, value.")
]
EdgeColumns = Annotated[
    str | None, typer.Option(help="Names of the columns of --edges to read: id,id or id,id,weight.")
]
LabelColumns = Annotated[
    str | None, typer.Option(help="Names of the columns of the labels to read: id,label.")
]
FeatureColumns = Annotated[
    str | None, typer.Option(help="Names of the columns of --features to read: the id, features.")
]
_REPEATED = "Weight of an edge with several rows: largest or sum. (default: largest)"
OptionalEdges = Annotated[
    str | None, typer.Option(help="CSV, TSV or Parquet: two ids, perhaps a weight.")
]
GraphFolder = Annotated[
    str | None, typer.Option(help="Folder that nodecopy import wrote, instead of tables.")
]
RepeatedRows = Annotated[str, typer.Option(help=_REPEATED, show_default=False)]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        help="Refuse what needs more memory, e.g. 8G. (default: half of what there is)",
        show_default=False,
    ),
]
_MISSING = "Missing numbers of features: impute or refuse. (default: impute)"
_ENCODING = "Of the texts, e.g. cp1252 or mac-roman. (default: found)"
_DECIMAL = "Decimal mark of numbers in the texts, . or , (default: found)"
_NA_VALUES = "Words that mean missing, e.g. k.A.,? (default: NA, n/a, null and others)"
MissingNumbers = Annotated[str, typer.Option(help=_MISSING, show_default=False)]
Encoding = Annotated[str | None, typer.Option(help=_ENCODING, show_default=False)]
Decimal = Annotated[str | None, typer.Option(help=_DECIMAL, show_default=False)]
NaValues = Annotated[str | None, typer.Option(help=_NA_VALUES, show_default=False)]
_FORMULAS = "In CSV, keep or quote (with ') texts that a spreadsheet would run. (default: keep)"
_TABLES = "Your own tables"
_BUILT_IN = "A built-in dataset"


def _own(help: str, **checks: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_TABLES, show_default=False, **checks)


def _built_in(help: str, **checks: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_BUILT_IN, show_default=False, **checks)


@app.command(rich_help_panel=PANEL)
def fit(
    dataset: Annotated[
        str | None, typer.Argument(help="cora, citeseer or pubmed; none with tables of one's own.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Folder to write.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of all that is random. (default: 0)", min=0)
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="The method: best, fast or paper. (default: best)", show_default=False),
    ] = None,
    n_zeta: Annotated[
        int | None,
        typer.Option(help="Sampled graphs, of best and paper. (default: 10)", min=1),
    ] = None,
    edges: Annotated[str | None, _own("CSV, TSV or Parquet: two ids, perhaps a weight.")] = None,
    labels: Annotated[
        list[str] | None, _own("CSV, TSV or Parquet: id, label. May be given again.")
    ] = None,
    features: Annotated[
        str | None, _own("The same, or NPZ: id and numbers, or id, feature, value.")
    ] = None,
    graph: Annotated[
        str | None, _own("Folder that nodecopy import wrote, instead of --edges and --features.")
    ] = None,
    edge_columns: Annotated[
        str | None, _own("Names of the columns of --edges to read: id,id or id,id,weight.")
    ] = None,
    label_columns: Annotated[
        str | None, _own("Names of the columns of --labels to read: id,label.")
    ] = None,
    feature_columns: Annotated[
        str | None, _own("Names of the columns of --features: the id and, if not all, features.")
    ] = None,
    config: Annotated[str | None, _own("Settings, e.g. config.toml of an earlier fit.")] = None,
    repeated_edges: Annotated[str | None, _own(_REPEATED)] = None,
    missing: Annotated[str | None, _own(_MISSING)] = None,
    encoding: Annotated[str | None, _own(_ENCODING)] = None,
    decimal: Annotated[str | None, _own(_DECIMAL)] = None,
    na_values: Annotated[str | None, _own(_NA_VALUES)] = None,
    n_weights: Annotated[
        int | None, _own("Of paper: weight draws of each network. (default: 10)", min=1)
    ] = None,
    epsilon: Annotated[
        float | None,
        _own("Of paper: chance that a node keeps its neighbours. (default: 0.01)", min=0, max=1),
    ] = None,
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--raw",
            help="Bring dense columns of features to one scale, or not. (default: standardise)",
            rich_help_panel=_TABLES,
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None, _own("Of paper: weights by dropout, or point. (default: dropout)")
    ] = None,
    epochs: Annotated[
        int | None, _own("Of paper: training of each network. (default: 200)", min=1)
    ] = None,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Hold out labels to calibrate and to estimate accuracy. (default: not for paper)",
            rich_help_panel=_TABLES,
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int | None, _own("Parts of the labels, each held out once. (default: 5)", min=2)
    ] = None,
    suggestions: Annotated[int | None, _own("Nodes to label next. (default: 20)", min=0)] = None,
    suspects: Annotated[int | None, _own("Suspect edges to list. (default: 100)", min=0)] = None,
    rivals: Annotated[
        bool | None,
        typer.Option(
            "--rivals/--no-rivals",
            help="Compare with simple methods on the labels held out. (default: rivals)",
            rich_help_panel=_TABLES,
            show_default=False,
        ),
    ] = None,
    coverage: Annotated[
        float | None, _own("How often the label is in a node's set of classes. (default: 0.9)")
    ] = None,
    formulas: Annotated[str | None, _own(_FORMULAS)] = None,
    max_memory: Annotated[
        str | None, _own("Refuse what needs more memory, e.g. 8G. (default: half of what there is)")
    ] = None,
    cluster: Annotated[
        str | None, _own("Address of a Dask scheduler, tcp://host:8786, whose workers fit.")
    ] = None,
    labels_per_class: Annotated[
        int | None, _built_in("Known labels of each class. (default: 20)", min=1)
    ] = None,
    split: Annotated[
        str | None, _built_in("fixed (the public one) or random. (default: fixed)")
    ] = None,
    graphs: Annotated[str | None, typer.Option(hidden=True)] = None,
    weight_draws: Annotated[str | None, typer.Option(hidden=True)] = None,
    repeats: Annotated[str | None, typer.Option(hidden=True)] = None,
    jobs: Annotated[str | None, typer.Option(hidden=True)] = None,
    suspicion: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Label every node of a graph from a few labels, and write predictions and a report.

    nodecopy fit --edges edges.csv --labels labels.csv --out run
    """
    from nodecopy.experiment.threads import prefer_one_thread

    prefer_one_thread()  # these networks are small: a second thread mostly waits, and burns a core
    _refuse({"graphs": graphs}, "is now --n-zeta, as in Python")
    _refuse({"weight_draws": weight_draws}, "is now --n-weights, as in Python")
    gone = "is gone: labels are held out once, by the fit itself (--calibrate, --folds)"
    _refuse({"repeats": repeats, "jobs": jobs}, gone)
    _refuse({"suspicion": suspicion}, "is gone: --suspects says how many edges to list")
    common = {"seed": seed, "preset": preset, "n_zeta": n_zeta}
    own = {
        "edges": edges,
        "labels": tuple(labels) if labels else None,
        "features": features,
        "graph": graph,
        "edge_columns": column_names(edge_columns),
        "label_columns": column_names(label_columns),
        "feature_columns": column_names(feature_columns),
        "config": config,
        "repeated_edges": repeated_edges,
        "missing": missing,
        "encoding": encoding,
        "decimal": decimal,
        "na_values": column_names(na_values),
        "n_weights": n_weights,
        "epsilon": epsilon,
        "standardise": standardise,
        "weights": weights,
        "epochs": epochs,
        "calibrate": calibrate,
        "folds": folds,
        "suggestions": suggestions,
        "suspects": suspects,
        "rivals": rivals,
        "coverage": coverage,
        "formulas": formulas,
        "max_memory": memory_bytes(max_memory),
        "cluster": cluster,
    }
    built_in = {"labels_per_class": labels_per_class, "split": split}
    if dataset is None:
        _refuse(built_in, "is for a built-in dataset: nodecopy fit cora")
        _fit_tables(_given(common | own), out)
    else:
        _refuse(own, f"is for tables of one's own, not for the built-in {dataset}")
        _fit_builtin(dataset, _given(common | built_in), out)


@app.command(rich_help_panel=PANEL)
def predict(
    model: Annotated[str, typer.Option(help="The folder model that nodecopy fit wrote.")],
    out: Annotated[str, typer.Option(help="CSV or Parquet file to write.")],
    edges: OptionalEdges = None,
    features: Features = None,
    graph: GraphFolder = None,
    edge_columns: EdgeColumns = None,
    feature_columns: FeatureColumns = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="How often the label is in a node's set of classes. (default: 0.9)",
            show_default=False,
        ),
    ] = None,
    formulas: Annotated[str, typer.Option(help=_FORMULAS, show_default=False)] = "keep",
    max_memory: MaxMemory = None,
) -> None:
    """Apply a fitted model to other tables, e.g. a graph that has grown."""
    from nodecopy.data.stored import open_graph
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.labelling.model_folder import ModelFolder
    from nodecopy.labelling.settings import Formulas, check_choice, check_coverage
    from nodecopy.progress import stages
    from nodecopy.report.inspection import listed_sentences
    from nodecopy.report.labelled.tables import (
        PredictionRows,
        check_predictions_file,
        sets_of,
        write_predictions,
    )

    working()
    tables = _tables_or_graph(
        graph,
        edges=edges,
        features=features,
        edge_columns=edge_columns,
        feature_columns=feature_columns,
    )
    check_choice("formulas", formulas, get_args(Formulas))
    if coverage is not None:
        check_coverage(coverage)
    target = check_predictions_file(out)
    loaded = ModelFolder.load(model)
    if coverage is not None:
        loaded.classifier.assessment()  # or say at once that there are no sets
    with progress_bar("reading and predicting", True) as report:
        reading, _ = stages(report, [1, 1])
        if graph is not None:
            opened = open_graph(graph, verify=True, progress=reading)
            table, posterior = loaded.predict_table(opened, graph)
        else:
            table, posterior = loaded.predict(
                tables["edges"],
                features,
                edge_columns=column_names(edge_columns),
                feature_columns=column_names(feature_columns),
                encoding=encoding,
                decimal=decimal,
                na_values=column_names(na_values),
                max_memory=memory_bytes(max_memory),
                progress=reading,
            )
    classes = [str(value) for value in loaded.classifier.classes_]
    sets = sets_of(loaded.classifier, posterior, coverage)
    written = PredictionRows.of(table, posterior, classes, sets)
    with progress_bar("writing", True) as report:
        write_predictions(written, target, formulas, report)  # type: ignore[arg-type]  # checked above
    for line in listed_sentences("note", table.notes):
        print(line)
    print(f"{table.dataset.num_nodes:,} nodes: {out}")


@app.command(rich_help_panel=PANEL)
def evaluate(
    predictions: Annotated[str, typer.Option(help="predictions.csv, or what predict wrote.")],
    truth: Annotated[str, typer.Option(help="CSV, TSV or Parquet: id, label.")],
    label_columns: LabelColumns = None,
) -> None:
    """Score predictions against true labels, leaving out those the model was given."""
    from rich.console import Console

    from nodecopy.labelling.evaluation import evaluate_predictions
    from nodecopy.report.inspection import listed_sentences
    from nodecopy.report.labelled.summary import evaluation_lines

    working()
    found = evaluate_predictions(predictions, truth, column_names(label_columns))
    Console(highlight=False, soft_wrap=True).print(
        "\n".join([*evaluation_lines(found), *listed_sentences("note", found.notes)]), markup=False
    )


@app.command(rich_help_panel=PANEL)
def inspect(
    edges: OptionalEdges = None,
    labels: Labels = None,
    features: Features = None,
    graph: GraphFolder = None,
    edge_columns: EdgeColumns = None,
    label_columns: LabelColumns = None,
    feature_columns: FeatureColumns = None,
    repeated_edges: RepeatedRows = "largest",
    missing: MissingNumbers = "impute",
    encoding: Encoding = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    max_memory: MaxMemory = None,
) -> None:
    """Read your tables and show what is in them, what to beware of, or all that is wrong."""
    from nodecopy.data.inspection import inspect_dataset
    from nodecopy.data.stored import open_graph
    from nodecopy.data.tables import read_tables
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.report.inspection import inspection_lines, listed_sentences

    working()
    tables = _tables_or_graph(
        graph,
        edges=edges,
        features=features,
        edge_columns=edge_columns,
        feature_columns=feature_columns,
    )
    names = column_names(label_columns)
    try:
        with progress_bar("reading", True) as report:
            if graph is not None:
                table = open_graph(
                    graph, labels or None, label_columns=names, verify=True, progress=report
                )
            else:
                table = read_tables(
                    tables["edges"],
                    labels,
                    features,
                    edge_columns=column_names(edge_columns),
                    label_columns=names,
                    feature_columns=column_names(feature_columns),
                    repeated_edges=repeated_edges,  # type: ignore[arg-type]  # checked there
                    missing=missing,  # type: ignore[arg-type]
                    encoding=encoding,
                    decimal=decimal,
                    na_values=column_names(na_values),
                    max_memory=memory_bytes(max_memory),
                    progress=report,
                )
    except TablesError as error:
        print("\n".join(listed_sentences("error", error.problems)), file=sys.stderr)
        raise typer.Exit(EXIT_USER_INPUT) from None
    print("\n".join(inspection_lines(table, inspect_dataset(table.dataset))))


def column_names(columns: str | None) -> tuple[str, ...] | None:
    """Split names at commas, as a row of a CSV file: one with a comma stands in quotes."""
    if columns is None:
        return None
    try:
        return tuple(next(csv.reader([columns], skipinitialspace=True), []))
    except csv.Error as error:
        raise InputError(f"names of columns must be one row of CSV; got {columns!r}") from error


def memory_bytes(size: str | None) -> int | None:
    """Return the bytes that a text such as 8G stands for."""
    from nodecopy.machine import memory_size

    return None if size is None else memory_size(size)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _tables_or_graph(graph: str | None, **tables: str | None) -> dict[str, str]:
    """Return the options for tables that were given; there must be edges, or a graph alone."""
    if graph is not None:
        _refuse(tables, f"is for tables; the graph {graph} was read already")
    elif tables["edges"] is None:
        raise InputError("Missing option '--edges', or '--graph' of a graph that was imported.")
    return _given(tables)


def _refuse(options: dict[str, Any], why: str) -> None:
    for name in _given(options):
        raise InputError(f"--{name.replace('_', '-')} {why}")


def _fit_tables(options: dict[str, Any], out: str | None) -> None:
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.labelling import FitSettings, label_tables, read_settings
    from nodecopy.report.labelled import check_folder, tidy_folder, write_folder
    from nodecopy.report.labelled.folder import LABELS
    from nodecopy.report.labelled.summary import fit_lines

    working()
    config, max_memory = options.pop("config", None), options.pop("max_memory", None)
    cluster = options.pop("cluster", None)
    for name in ("edges", "labels") if config is None and "graph" not in options else ():
        if name not in options:
            raise InputError(
                f"--{name} is missing: nodecopy fit --edges FILE --labels FILE --out FOLDER, "
                "or a built-in dataset: nodecopy fit cora"
            )
    if out is None:
        raise InputError("--out is missing: the folder to write")
    folder = check_folder(out)
    for left in tidy_folder(folder):
        print(f"note: {left} was left by a run that was killed; remove it", file=sys.stderr)
    of_held_out: dict[str, Any] = {name: options.pop(name, None) for name in ("folds", "coverage")}
    settings = FitSettings(**options) if config is None else read_settings(config, **options)
    if not settings.holds_out:
        _refuse(of_held_out, "needs labels that are held out: add --calibrate")
    settings = replace(settings, **_given(of_held_out))
    for file in map(Path, settings.files):
        if file.name != LABELS and file.resolve().is_relative_to(folder.resolve()):
            raise InputError(
                f"{file} would be replaced, as it is in the folder to write: copy it elsewhere, or "
                "choose another --out"
            )
    found = label_tables(settings, True, max_memory=max_memory, executor=cluster)
    with progress_bar("writing", True) as report:
        write_folder(found, folder, progress=report)
    print("\n".join(fit_lines(found, folder)))


def _fit_builtin(dataset: str, options: dict[str, Any], out: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from nodecopy.estimator import NodeCopyClassifier
    from nodecopy.estimator.method import method_of
    from nodecopy.estimator.progress import progress_bar
    from nodecopy.experiment.fit import fit_builtin
    from nodecopy.posterior import BayesianGCN
    from nodecopy.report.fit import assessment_lines, score_rows, write_fit_report

    working()
    labels, split = options.get("labels_per_class", 20), options.get("split", "fixed")
    seed, preset = options.get("seed", 0), options.get("preset", "best")
    asked = NodeCopyClassifier(preset, n_zeta=options.get("n_zeta"))
    method = method_of(asked.get_params())
    paper = BayesianGCN(n_zeta=options.get("n_zeta", 10))
    other = None if preset == "paper" else (f"nodecopy ({preset})", method)
    with progress_bar(f"fitting {dataset}", True) as progress:
        outcome = fit_builtin(dataset, labels, split, seed, paper, other, progress)
    table = Table("method", title=f"{dataset}, {labels} labels per class, {split} split")
    for column in ("accuracy", "NLL", "ECE", "CPU s"):
        table.add_column(column, justify="right")
    for row in score_rows(outcome):
        table.add_row(*row)
    Console().print(table)
    for line in assessment_lines(outcome):
        print(line)
    folder = out or f"runs/{dataset}-{outcome.split.name}-seed-{seed}"
    print(f"report: {write_fit_report(outcome, folder)}")
