"""`nodecopy export`: every format gives back what the run has, whatever names are called."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import numpy as np
import openpyxl
import pytest

from nodecopy import cli
from nodecopy.read.tables import read_tables
from nodecopy.run.export import export_run
from tests.csv_files import read_csv, write_csv

AWKWARD = ["Ωμέγα", "مرحبا", "😀 x", '"quoted"', "=1+1", "-7", "<b>&", "x,y", "007", "7", "#REF!"]
IDS = [*AWKWARD, *(f"b{k}" for k in range(11))]
CLASSES = ("=κόκκινο:1", "ازرق 🔵")
# What Neo4j's types are in DuckDB.
TYPES = {"double": "DOUBLE", "boolean": "BOOLEAN"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit to two rings, with weights, two directed relations, names and awkward ids."""
    folder, n = tmp_path_factory.mktemp("graph"), len(AWKWARD)
    pairs = [(r + k, r + (k + s) % n, s) for r in (0, n) for k in range(n) for s in (1, 2)]
    rows = [(IDS[u], IDS[v], 1e-9 + s, ("cites", "=pays")[s - 1]) for u, v, s in pairs]
    write_csv(folder / "edges.csv", ("source", "target", "weight", "relation"), rows)
    write_csv(folder / "nodes.csv", ("id", "name"), [(id, f"Name of {id}") for id in IDS])
    labels = [(IDS[k], CLASSES[k >= n]) for k in (0, 1, 2, n, n + 1, n + 2)]
    write_csv(folder / "labels.csv", ("id", "label"), labels)
    files = [f"--{name}={folder / name}.csv" for name in ("edges", "nodes", "labels")]
    out = f"--out={folder / 'run'}"
    assert cli.main(["fit", *files, out, "--directed", "--method=fast"]) == 0
    return folder / "run"


def rows_of(run: Path) -> dict[str, dict[str, Any]]:
    """Return predictions.parquet by id."""
    with duckdb.connect() as db:
        table = db.execute(f"FROM '{run / 'predictions.parquet'}'")
        names = [column[0] for column in table.description]
        rows = [dict(zip(names, row, strict=True)) for row in table.fetchall()]
    return {row.pop("id"): row for row in rows}


def written(run: Path, to: str, tmp_path: Path) -> Path:
    return export_run(run, to, tmp_path / to)[0]


def assert_same(nodes: dict[str, dict[str, Any]], run: Path) -> None:
    expected = rows_of(run)
    assert list(nodes) == list(expected)
    assert {*IDS} == {*expected}
    for id, row in expected.items():
        assert nodes[id] == {name: value for name, value in row.items() if value is not None}
    assert {row["predicted"] for row in nodes.values()} == {*CLASSES}


def edges_of(run: Path) -> set[tuple[Any, ...]]:
    with (run.parent / "edges.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {(u, v, relation, float(weight)) for u, v, weight, relation in rows}


@pytest.mark.parametrize("to", ["graphml", "gexf"])
def test_networkx_reads_the_graph_back(run: Path, to: str, tmp_path: Path):
    file = written(run, to, tmp_path)
    graph, colours = getattr(nx, f"read_{to}")(file), {}
    ids = re.findall(r'<edge [^>]*\bid="(\w+)"', file.read_text(encoding="utf-8"))
    assert len({*ids}) == graph.number_of_edges()
    for id, own in graph.nodes(data=True):
        if to == "gexf":
            colours.setdefault(own["predicted"], set()).add(tuple(own.pop("viz")["color"].values()))
        assert own["label"] == f"Name of {id}"
        own["name"] = own.pop("label")
    assert_same({id: {k: own[k] for k in own} for id, own in graph.nodes(data=True)}, run)
    edges = {(u, v, own["relation"], own["weight"]) for u, v, own in graph.edges(data=True)}
    assert graph.is_directed()
    assert graph.number_of_edges() == len(edges)
    assert edges == edges_of(run)
    assert [len(own) for own in colours.values()] == ([1, 1] if to == "gexf" else [])
    assert len(set(map(str, colours.values()))) == len(colours)


def test_an_exported_graph_is_read_as_the_tables_were(run: Path, tmp_path: Path):
    files = run.parent / "edges.csv", None, run.parent / "nodes.csv"
    table = read_tables(*files, directed=True)
    again = read_tables(export_run(run, "graphml", tmp_path / "graph.graphml")[0])
    assert (again.ids.tolist(), again.graph) == (table.ids.tolist(), table.graph)


def test_neo4j_tables_have_the_types_of_their_headers(run: Path, tmp_path: Path):
    folder = written(run, "neo4j", tmp_path)
    tables = {}
    for name in ("nodes", "edges"):
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        types = {h: TYPES.get(h.rpartition(":")[2], "VARCHAR") for h in header}
        with duckdb.connect() as db:
            query = (
                "FROM read_csv(?, columns = ?, header = true, auto_detect = false, quote = '\"')"
            )
            rows = db.execute(query, [str(folder / f"{name}.csv"), types]).fetchall()
        tables[name] = [dict(zip(header, row, strict=True)) for row in rows]
    nodes, expected = tables["nodes"], rows_of(run)
    assert {row[":LABEL"] for row in nodes} == {"Node"}
    guard = {"=1+1": "'=1+1", "=κόκκινο:1": "'=κόκκινο:1", "=pays": "'=pays"}
    for row, (id, own) in zip(nodes, expected.items(), strict=True):
        assert row["id:ID"] == guard.get(id, id)
        assert row["predicted"] == guard.get(own["predicted"], own["predicted"])
        assert row["known"] == guard.get(own["known"], own["known"])
        assert row["confidence:double"] == own["confidence"]
        assert row["p_=κόκκινο_1:double"] == own["p_=κόκκινο:1"]
    edges = {
        (row[":START_ID"], row[":END_ID"], row[":TYPE"], row["weight:double"])
        for row in tables["edges"]
    }
    assert edges == {(*(guard.get(x, x) for x in row[:3]), row[3]) for row in edges_of(run)}
    assert {row["directed:boolean"] for row in tables["edges"]} == {True}


def test_parquet_has_both_tables(run: Path, tmp_path: Path):
    folder = written(run, "parquet", tmp_path)
    with duckdb.connect() as db:
        table = db.execute(f"FROM '{folder / 'nodes.parquet'}'")
        names = [column[0] for column in table.description]
        rows = [dict(zip(names, row, strict=True)) for row in table.fetchall()]
        query = f"SELECT source, target, relation, weight FROM '{folder / 'edges.parquet'}'"
        assert {*db.execute(query).fetchall()} == edges_of(run)
    assert {row.pop("id"): row for row in rows} == rows_of(run)


def test_a_workbook_has_text_and_numbers_and_no_formula(run: Path, tmp_path: Path):
    book = openpyxl.load_workbook(export_run(run, "xlsx", tmp_path / "book.xlsx")[0])
    header, *rows = book["nodes"].iter_rows()
    assert {cell.data_type for row in rows for cell in row} <= {"s", "n"}
    names = [cell.value for cell in header]
    nodes = [dict(zip(names, (cell.value for cell in row), strict=True)) for row in rows]
    assert {row.pop("id"): row for row in nodes} == rows_of(run)
    edges = book["edges"].iter_rows(min_row=2, values_only=True)
    assert {(u, v, relation, weight) for u, v, relation, _, weight in edges} == edges_of(run)


def test_nodes_of_other_types_have_no_prediction(tmp_path: Path):
    write_csv(tmp_path / "papers.csv", ("id", "x"), [(f"p{k}", str(k % 2)) for k in range(8)])
    write_csv(tmp_path / "people.csv", ("id", "y"), [(f"a{k}", str(k)) for k in range(4)])
    rows = [(f"a{k % 4}", f"p{k}") for k in range(8)] + [("a0", "p1"), ("a2", "p3")]
    write_csv(tmp_path / "edges.csv", ("from", "to"), rows)
    labels = [(f"p{k}", str(k % 2)) for k in range(6)]
    write_csv(tmp_path / "labels.csv", ("id", "label"), labels)
    tables = [f"--nodes={tmp_path / name}.csv" for name in ("papers", "people")]
    files = [f"--{name}={tmp_path / name}.csv" for name in ("edges", "labels")]
    run = tmp_path / "run"
    assert cli.main(["fit", *files, *tables, f"--out={run}", "--method=fast"]) == 0
    graph = nx.read_graphml(export_run(run, "graphml")[0])
    assert graph.nodes["p7"]["node_type"] == "papers"
    assert graph.nodes["p7"]["predicted"] in "01"
    assert graph.nodes["a1"] == {"node_type": "people", "label": "a1"}
    folder = export_run(run, "neo4j")[0]
    assert {row[":LABEL"] for row in read_csv(folder / "nodes.csv")} == {"papers", "people"}
    assert export_run(run, "xlsx")[1] == "12 nodes, 10 edges"


def fit_two(folder: Path, ids: list[str]) -> Path:
    write_csv(folder / "edges.csv", ("a", "b"), list(zip(ids, ids[1:] + ids[:1], strict=True)))
    labels = [(id, "xy"[k % 2]) for k, id in enumerate(ids)]
    write_csv(folder / "labels.csv", ("id", "label"), labels)
    files = [f"--{name}={folder / name}.csv" for name in ("edges", "labels")]
    assert cli.main(["fit", *files, f"--out={folder / 'run'}", "--method=fast"]) == 0
    return folder / "run"


@pytest.mark.parametrize("to", ["graphml", "gexf", "xlsx"])
def test_control_characters_are_shown_and_counted(to: str, tmp_path: Path, capsys):
    run = fit_two(tmp_path, ["a\x01", "b", "c", "d", "e"])
    out = tmp_path / f"out.{to}"
    assert cli.main(["export", str(run), f"--to={to}", f"--out={out}"]) == 0
    assert "XML cannot hold" in capsys.readouterr().out
    if to == "xlsx":
        ids = [row[0] for row in openpyxl.load_workbook(out)["nodes"].values]
    else:
        ids = list(getattr(nx, f"read_{to}")(out))
    assert "a␁" in ids
    assert "note" not in export_run(run, "parquet")[1]


def test_ids_that_only_control_characters_tell_apart_are_refused(tmp_path: Path):
    run = fit_two(tmp_path, ["a\x01", "a␁", "c", "d", "e"])
    with pytest.raises(ValueError, match="two ids"):
        export_run(run, "gexf")
    assert export_run(run, "parquet")[1] == "5 nodes, 5 edges"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["{run}", "--to=png"], "unknown format 'png'"),
        (["{here}", "--to=gexf"], "has no config.toml"),
        (["{run}", "--to=gexf", "--out={here}"], "exists"),
        (["{run}", "--to=xlsx", "--out={here}/no/book.xlsx"], "does not exist"),
    ],
)
def test_bad_input_is_one_line(run: Path, words: list[str], expected: str, tmp_path, capsys):
    assert cli.main(["export", *(word.format(run=run, here=tmp_path) for word in words)]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("to", "package"), [("gexf", "networkx"), ("xlsx", "openpyxl")])
def test_a_missing_extra_is_named(run: Path, to: str, package: str, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=f"{package}: pip install"):
        written(run, to, tmp_path)


def test_the_tables_are_not_needed_any_more(tmp_path: Path):
    run = fit_two(tmp_path, ["a", "b", "c", "d", "e"])
    (tmp_path / "edges.csv").unlink()
    assert export_run(run, "gexf")[1:] == ("5 nodes, 5 edges", [])


def test_predictions_and_model_of_two_fits_are_refused(tmp_path: Path):
    run = fit_two(tmp_path, ["a", "b", "c", "d", "e"])
    (run / "predictions.parquet").rename(tmp_path / "old.parquet")
    fit_two(tmp_path, ["a", "b", "c", "d", "e", "f"])
    (tmp_path / "old.parquet").replace(run / "predictions.parquet")
    with pytest.raises(ValueError, match="two fits"):
        export_run(run, "parquet")


def test_more_rows_than_a_sheet_has_are_refused(run: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("nodecopy.run.export._ROWS", len(IDS))
    with pytest.raises(ValueError, match="sheet has at most"):
        written(run, "xlsx", tmp_path)


def test_a_built_in_dataset_is_exported(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["fit", "cora", "--method=label-propagation", "--out=run"]) == 0
    path, size, notes = export_run("run", "parquet")
    assert (path, size, notes) == (Path("run-parquet"), "2,708 nodes, 5,278 edges", [])
    query = f"SELECT count(DISTINCT predicted), min(confidence) FROM '{path / 'nodes.parquet'}'"
    with duckdb.connect() as db:
        ((count, least),) = db.execute(query).fetchall()
    assert count == 7
    assert np.isfinite(least)
