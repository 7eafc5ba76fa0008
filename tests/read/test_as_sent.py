"""Files as people send them: the same twelve films and fifteen edges, in every form.

Each is read without an option, or with the one that the message names.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
import zipfile

import duckdb
import networkx as nx
import numpy as np
import openpyxl
import pandas as pd
import pytest

from nodecopy.core.errors import DatasetError, FormatError
from nodecopy.features.columns import list_separator
from nodecopy.read import conversion
from nodecopy.read.graphs import read_graph
from nodecopy.read.tables import read_tables

IDS = [f"f{n}" for n in range(12)]
PAIRS = [(IDS[n], IDS[(n + 1) % 12]) for n in range(12)] + [(IDS[n], IDS[n + 6]) for n in range(3)]
GENRES = ["Drama", "Comedy", "Action", "Western"]
LISTS = [GENRES[: 1 + n % 3] if n % 2 else [GENRES[n % 4], GENRES[(n + 1) % 4]] for n in range(12)]
CITIES = ["Köln", "Ulm"]
HEAD = ["id", "title", "country", "genres", "length", "date"]
FILMS = [
    [
        id,
        f"The film of {n}",
        ["Köln", "Ulm"][n % 2],
        "|".join(LISTS[n]),
        1.5 + n,
        f"2020-01-{n + 1:02}",
    ]
    for n, id in enumerate(IDS)
]
TYPES = dict(zip(HEAD[1:], ["name", "category", "list", "number", "date"], strict=True))
BOM = "\ufeff"


def text(rows, mark=",") -> str:
    lines = io.StringIO()
    csv.writer(lines, delimiter=mark, lineterminator="\n").writerows(rows)
    return lines.getvalue()


def german(rows) -> str:
    """A spreadsheet's export: semicolons, decimal commas and words for missing values."""
    cells = [[str(c).replace(".", ",") if isinstance(c, float) else c for c in row] for row in rows]
    cells[3][4] = "k.A."
    return text([HEAD, *cells], ";")


def records(rows, head=HEAD) -> list[dict]:
    return [dict(zip(head, row, strict=True)) for row in rows]


def with_lists(write) -> list[list]:
    return [[*row[:3], write(own), *row[4:]] for row, own in zip(FILMS, LISTS, strict=True)]


def graph() -> nx.Graph:
    made = nx.Graph(PAIRS)
    for id, *_, genres, length, _ in FILMS:
        made.nodes[id].update(genres=genres, length=length)
    return made


def written(write) -> bytes:
    lines = io.BytesIO()
    write(graph(), lines)
    return lines.getvalue()


def workbook(**sheets) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(content)
    return content.getvalue()


def dated(rows) -> list[list]:
    return [[*row[:5], datetime.datetime.fromisoformat(row[5])] for row in rows]


def parquet(folder) -> bytes:
    path = folder / "made.parquet"
    pd.DataFrame({"id": IDS, "genres": LISTS}).to_json(folder / "made.json", orient="records")
    duckdb.sql(f"COPY (FROM '{folder}/made.json') TO '{path}'")
    return path.read_bytes()


PLAIN = text([("source", "target"), *PAIRS])
GEPHI = [[u, v, "Undirected", n, 1.0, ""] for n, (u, v) in enumerate(PAIRS)]
GEPHI.insert(0, ["Source", "Target", "Type", "Id", "Weight", "Label"])
FLIGHTS = [[u, v, "ABC"[n % 3], f"2024-05-{n + 1:02}", n] for n, (u, v) in enumerate(PAIRS * 2)]
ROUTES = [
    ["2B", 410, u.upper(), u[1:], v.upper(), v[1:], "", 0, "CR2" if n else "A81"]
    for n, (u, v) in enumerate(PAIRS)
]
AIRPORTS = [
    [n, f"Field of {n}", CITIES[n % 2], id.upper(), r"\N", 1.5 + n, "U"] for n, id in enumerate(IDS)
]
LINKS = [{"source": int(u[1:]), "target": int(v[1:]), "value": 1} for u, v in PAIRS]
D3 = {"nodes": [{"name": id, "group": n % 2} for n, id in enumerate(IDS)], "links": LINKS}
FROM_GRAPH = {"genres": "list", "length": "number"}

# Name of the file, its content, the other file, and types of columns that are detected.
FILES = {
    "nodes.csv": (text([HEAD, *FILMS]), TYPES),
    "nodes-bom.csv": (BOM + text([HEAD, *FILMS]), TYPES),
    "nodes-latin1.csv": (german(FILMS).encode("latin-1"), TYPES),
    "nodes-utf16-bom.txt": (text([HEAD, *FILMS], "\t").encode("utf-16"), TYPES),
    "nodes-utf16.txt": (text([HEAD, *FILMS], "\t").encode("utf-16-le"), TYPES),
    "nodes-python-lists.csv": (text([HEAD, *with_lists(str)]), TYPES),
    "nodes-json-lists.csv": (text([HEAD, *with_lists(json.dumps)]), TYPES),
    "nodes-credits.csv": (
        text([HEAD, *with_lists(lambda own: str([{"id": 1, "name": one} for one in own]))]),
        TYPES,
    ),
    "nodes-movielens.dat": (
        "".join("::".join([row[0][1:], *row[1:4]]) + "\n" for row in FILMS),
        {"2": "name", "3": "category", "4": "list"},
    ),
    "nodes.jsonl": ("\n".join(map(json.dumps, records(FILMS))), TYPES),
    "nodes.json.gz": (gzip.compress(json.dumps(records(with_lists(list))).encode()), TYPES),
    "nodes.parquet": (parquet, {"genres": "list"}),
    "nodes.xlsx": (workbook(films=[["All films"], [], HEAD, *dated(FILMS)], other=[]), TYPES),
    "nodes-ids.csv": ("\n".join(["id", *IDS]), {}),
    "edges-gephi.csv": (text(GEPHI), {}),
    "edges-gephi.tsv": (text(GEPHI, "\t").encode("utf-16"), {}),
    "edges-flights.csv": (text([["from", "to", "airline", "date", "id"], *FLIGHTS]), {}),
    "edges.jsonl": ("\n".join(map(json.dumps, records(PAIRS, ["src", "dst"]))), {}),
    "edges.xlsx": (workbook(edges=[("from", "to"), *PAIRS], nodes=[HEAD, *dated(FILMS)]), {}),
    "edges.graphml": (written(nx.write_graphml), FROM_GRAPH),
    "edges.gexf": (written(nx.write_gexf), FROM_GRAPH),
    "edges.gml": (written(nx.write_gml), FROM_GRAPH),
    "edges-d3.json": (json.dumps(D3, indent=1), {"group": "number"}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_without_an_option(put, tmp_path, name):
    content, types = FILES[name]
    path = put(name, content(tmp_path) if callable(content) else content)
    edges = path if name.startswith("edges") else put("pairs.csv", PLAIN)
    if name == "nodes-movielens.dat":  # ids are numbers
        edges = put("pairs.csv", re.sub(r"f(?=\d)", "", PLAIN))
    table = read_tables(edges, nodes=path if name.startswith("nodes") else None, threads=1)
    assert {str(id).removeprefix("f") for id in table.ids} == {id[1:] for id in IDS}
    assert table.graph.num_edges == 15
    detected = {} if table.encoder is None else table.encoder.types
    assert detected == types
    listed = [column for column, own in detected.items() if own == "list"]
    for column in listed:
        assert sorted(table.encoder.only.categories[column]) == sorted(GENRES)
    assert {file for file, *_ in table.read} <= {path.name, "pairs.csv", "nodes.xlsx#films"} | {
        "edges.xlsx#edges"
    }


def test_edges_say_their_direction_relation_and_what_is_not_used(put):
    directed = text(GEPHI).replace("Undirected", "Directed")
    (one,) = read_tables(put("e.csv", directed)).graph.relations.values()
    assert one.directed
    assert not read_tables(put("e.csv", directed), directed=False).graph.relations
    table = read_tables(
        put(
            "e.csv",
            text([["from", "to", "airline", "id"], *[[*row[:3], row[4]] for row in FLIGHTS * 2]]),
        )
    )
    assert list(table.graph.relations) == ["A", "B", "C"]
    assert dict(row[1:] for row in table.read)["id"].startswith("not used")
    assert any("'id'" in note and "`edge_columns`" in note for note in table.notes)


def test_rare_relations_are_one(put):
    rows = [[u, v, f"line {n}"] for n in range(540) for u, v in PAIRS[: 1 + (n < 200)]]
    path = put("e.csv", text([["source", "target", "airline"], *rows]))
    assert not read_tables(path, threads=1).graph.relations
    relations = read_tables(path, threads=1, relation="airline").graph.relations
    assert len(relations) == 256
    assert {f"line {n}" for n in range(200)} | {"other"} <= relations.keys()


def test_columns_of_ids_are_found_by_known_ids_or_the_message_names_them(put):
    routes, airports = put("routes.dat", text(ROUTES)), put("airports.dat", text(AIRPORTS))
    table = read_tables(routes, nodes=airports, threads=1)
    assert (table.num_nodes, table.graph.num_edges) == (12, 15)
    assert table.encoder.types["2"] == "name"
    with pytest.raises(DatasetError, match="`edge_columns` 3,5") as caught:
        read_tables(routes, threads=1)
    with pytest.raises(DatasetError, match="`edge_columns` 3,5"):  # ids that are in no column
        read_tables(routes, nodes=put("other.csv", "id,size\nx,1\ny,2\n"), threads=1)
    columns = re.search(r"`edge_columns` (\S+),", str(caught.value))[1].split(",")
    assert read_tables(routes, edge_columns=columns, threads=1).graph.num_edges == 15
    names = "Airline,AirlineID,Source,SourceID,Destination,DestinationID,Codeshare,Stops,Equipment"
    table = read_tables(put("routes.csv", f"{names}\n{text(ROUTES)}"), nodes=airports, threads=1)
    assert [name for _, name, became in table.read if became == "id"][:2] == names.split(",")[3:6:2]
    with pytest.raises(DatasetError) as caught:
        read_tables(put("e.csv", "who,whom,Id\na,b,1\nc,d,2\n"))
    assert "whom,Id" not in str(caught.value)


def test_ids_alone_add_nodes(put):
    table = read_tables(put("e.csv", PLAIN), nodes=put("ids.csv", "id\nf3\nzz\n"))
    assert (table.num_nodes, table.features) == (13, None)


def test_strings_are_lists_only_if_their_values_repeat():
    prose = [f"a {n} thing; and then b{n}; c" for n in range(9)]
    assert list_separator(np.array(prose, object)) == ""
    assert list_separator(np.array(["1,5", "2,5", "1,7", None], object)) == ""
    assert list_separator(np.array(["Ulm; B", "Bonn; A", "Ulm; B"], object)) == ""
    assert list_separator(np.array(["x", "y;x", "z;y", "z"], object)) == ";"
    rare = [*[f"tomato|salt|rare{n}" for n in range(4)], "salt|oil", "oil|tomato", "egg|oil|salt"]
    assert list_separator(np.array([*rare, "tomato|egg", "egg|salt"], object)) == "|"


def test_lists_of_the_user_labels_and_data_frames(put, read):
    films = [[*row[:3], row[3].replace("|", ", "), *row[4:]] for row in FILMS]
    asked = {"column_types": ("genres=list", "*=skip")}
    table = read(PLAIN, nodes=text([HEAD, *films]), **asked)
    assert sorted(table.encoder.only.categories["genres"]) == sorted(GENRES)
    grown = read(
        PLAIN,
        nodes=text([HEAD, *films[:11], [*films[11][:3], "Drama", 1, ""]]),
        encoder=table.encoder,
    )
    assert grown.features.toarray()[11].sum() > 0
    labels = read(PLAIN, labels=text([("id", "label"), *((row[0], row[3]) for row in FILMS)]))
    assert labels.target == "tags"
    assert any("lists" in note and "`target` class" in note for note in labels.notes)


def test_python_takes_the_headers_of_files():
    frame = pd.DataFrame(GEPHI[1:], columns=GEPHI[0]).drop(columns=["Id", "Label"])
    assert read_graph(frame).graph.num_edges == 15
    directed = read_graph(frame.assign(Type="Directed").rename(columns={"Source": "from"}))
    assert [one.directed for one in directed.graph.relations.values()] == [True]


ENTITIES = '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "b">]><graphml>&a;</graphml>'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.graphml", ENTITIES, "entities"),
        ("e.graphml", "<graphml><graph></graphml>", "line 1"),
        ("e.gml", "graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "GML"),
        ("e.gexf", "<gexf></gexf>", "GEXF"),
        ("e.html", "<html><table></table></html>", "HTML"),
        ("e.json", '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 5}]}', "5"),
        ("e.json", '[["a", "b"]]', "records"),
        ("e.xls", b"\xd0\xcf\x11\xe0....", "xlsx"),
        ("e.xlsx", b"PK\x03\x04....", "workbook"),
        ("e.xlsx", workbook(a=PAIRS, b=PAIRS), "'a', 'b'.*e.xlsx#a"),
        ("e.xlsx", workbook(edges=[]), "no rows"),
    ],
)
def test_a_damaged_file_is_one_line(put, name, content, message):
    with pytest.raises((DatasetError, FormatError), match=message) as caught:
        read_tables(put(name, content), threads=1)
    assert "\n" not in str(caught.value)


def test_a_missing_extra_is_named(put, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(conversion, "import_module", missing)
    with pytest.raises(DatasetError, match="nodecopy.excel"):
        read_tables(put("e.xlsx", workbook(a=PAIRS)))


def test_stray_cells_of_a_sheet_do_not_matter(put):
    book, content = openpyxl.Workbook(write_only=False), io.BytesIO()
    for row in [("from", "to"), *PAIRS]:
        book.active.append(row)
    book.active.cell(20_000, 5_000, "x")
    book.save(content)
    table = read_tables(put("e.xlsx", content.getvalue()), threads=1)
    assert table.graph.num_edges == 15
    assert any("column 2" in note for note in table.notes)


def test_titles_above_a_sheet_may_have_several_cells(put):
    top = [["Films", None, None, "Seen"], ["As of", "2021"], []]
    for above in (top, top[1:]):
        content = workbook(films=[*above, HEAD, *dated(FILMS)])
        table = read_tables(put("e.csv", PLAIN), nodes=put("n.xlsx", content), threads=1)
        assert (table.num_nodes, table.encoder.types) == (12, TYPES)


@pytest.mark.parametrize("name", ["e.zip", "e.ods", "e.xlsx"])
def test_an_archive_is_no_workbook_and_a_workbook_may_have_any_name(put, name):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as held:
        held.writestr("edges.csv", PLAIN)
    with pytest.raises(FormatError, match="edges.csv.*unpack"):
        read_tables(put(name, content.getvalue()), threads=1)
    book = workbook(edges=[("from", "to"), *PAIRS])
    assert read_tables(put(name, book), threads=1).graph.num_edges == 15


def test_triples_without_a_header_are_subject_predicate_object(put):
    triples = text([[u, "knows", v] for u, v in PAIRS], "\t")
    table = read_tables(put("kg.txt", triples), threads=1)
    assert (table.num_nodes, table.graph.num_edges) == (12, 15)
    assert list(table.graph.relations) == ["knows"]
    assert not read_tables(put("kg.txt", triples), threads=1, relation="none").graph.relations
    arrows = "".join(f"{u} -> {v}\n" for u, v in PAIRS)
    assert read_tables(put("e.txt", arrows), threads=1).num_nodes == 12


def test_numbers_with_a_decimal_comma_are_no_relation(put):
    rows = [[u, v, "1,5" if n % 2 else "2"] for n, (u, v) in enumerate(PAIRS * 2)]
    table = read_tables(
        put("e.csv", text([["source", "target", "Gewicht"], *rows], ";")), threads=1
    )
    assert not table.graph.relations
    assert dict(row[1:] for row in table.read)["Gewicht"].startswith("not used")


NEIGHBOURS = {id: [v for u, v in PAIRS if u == id] for id in IDS}
MATRIX = [["", *IDS], *([u, *(int((u, v) in PAIRS) for v in IDS)] for u in IDS)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (text([["id", "friends"], *((u, ";".join(v)) for u, v in NEIGHBOURS.items())]), "f1;f6"),
        ("\n".join(json.dumps({"id": u, "to": v}) for u, v in NEIGHBOURS.items()), "several ids"),
        (text(MATRIX), "matrix"),
        (text([row[1:] for row in MATRIX[1:]]), "matrix"),
    ],
)
def test_neighbours_and_matrices_are_refused_without_wrong_advice(put, content, message):
    with pytest.raises(DatasetError, match=message) as caught:
        read_tables(put("e.csv", content), threads=1)
    assert "for instance" not in str(caught.value)
    named = text([["id", "to"], *((f"{u} {v}", f"{v} {u}") for u, v in PAIRS)])
    assert read_tables(put("e.csv", named), threads=1).graph.num_edges == 15


def test_a_note_tells_integers_that_may_be_two_nodes(put):
    rated = text([["userId", "movieId"], *((u[1:], v[1:]) for u, v in PAIRS)])
    table = read_tables(put("e.csv", rated), threads=1)
    assert any("'userId' and 'movieId' share 12 ids" in note for note in table.notes)
    users = put("users.csv", text([["userId", "age"], *((n, n % 5) for n in range(12))]))
    films = put("films.csv", text([["movieId", "year"], *((n, 1990 + n) for n in range(12))]))
    notes = read_tables(put("e.csv", rated), nodes=[users, films], threads=1).notes
    assert [note for note in notes if "shop-7" in note and "films" in note]
    assert not any("userId" in note for note in notes)
    cited = rated.replace("userId,movieId", "citing,cited")
    assert not any("share" in note for note in read_tables(put("e.csv", cited)).notes)


def test_ids_in_another_column_are_told_with_the_option(put):
    people = [["town", "user", "age"], *(["Ulm", id, 7] for id in IDS)]
    path, edges = put("n.csv", text(people)), put("e.csv", PLAIN)
    with pytest.raises(DatasetError, match=r"ids are in 'town'.*`column_types` NAME=id"):
        read_tables(edges, nodes=path, threads=1)
    assert read_tables(edges, nodes=path, threads=1, column_types=("user=id",)).num_nodes == 12
    padded = text([["id", "age"], *((id.replace("f", "f0"), 7) for id in IDS)])
    with pytest.raises(DatasetError, match=r"this one has 'f00'"):
        read_tables(edges, nodes=put("n.csv", padded), threads=1)
    labels = put("l.csv", "id,label\n0.0,a\n1.0,b\n")
    with pytest.raises(DatasetError, match=r"7\.0.*write them alike"):
        read_tables(put("e.csv", "source,target\n0,1\n1,2\n"), labels, threads=1)


COLUMNS = {"columns": ["id", "age"], "index": [0, 1], "data": [["f0", 1], ["f1", 2]]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.net", "*Vertices 2\n1 a\n2 b\n*Edges\n1 2 1\n", "Pajek"),
        ("e.dl", "dl n = 2 format = edgelist1\ndata:\n1 2\n", "UCINET"),
        ("e.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n", "Market"),
        ("out.e", "% bip unweighted\n1 1\n2 1\n", "two node types"),
        ("e.dot", "graph G {\n a -- b;\n}\n", "DOT"),
        ("e.xz", b"\xfd7zXZ\x00\x00\x04", "unpack"),
        ("e.json", json.dumps(COLUMNS), "records"),
        ("e.json", json.dumps({"data": records(PAIRS, ["source", "target"])}), "records"),
        ("e.json", json.dumps({u: [v] for u, v in PAIRS}), "records"),
        ("e.json", '{"nodes": [{"id": 1}], "links": [{"a": 1}]}', "two ids"),
    ],
)
def test_a_format_that_is_not_read_is_named(put, name, content, message):
    with pytest.raises((DatasetError, FormatError), match=message) as caught:
        read_tables(put(name, content), threads=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("end", [str, lambda id: {"id": id, "x": 1}])
def test_links_of_a_browser_are_read(put, end):
    edges = [{"from": end(u), "to": end(v)} for u, v in PAIRS]
    held = {"nodes": [{"id": id} for id in IDS], "edges": edges}
    table = read_tables(put("e.json", json.dumps(held)), threads=1)
    assert (table.num_nodes, table.graph.num_edges) == (12, 15)


def test_comments_and_a_tab_among_spaces(put):
    lines = "".join(f"{u[1:]} {v[1:]}\t2\n" for u, v in PAIRS)
    table = read_tables(put("out.e", "% asym weighted\n% 15 12 12\n" + lines), threads=1)
    assert (table.num_nodes, table.graph.num_edges, table.graph.weights[0]) == (12, 15, 2)


def test_a_label_that_may_mean_none_is_noted(put):
    for word in ("unknown", "-99"):
        labels = put("l.csv", text([["id", "label"], ["f0", 1], ["f1", 2], ["f2", word]]))
        notes = read_tables(put("e.csv", PLAIN), labels, threads=1).notes
        assert any(f"`na_values` {word}" in note for note in notes)


@pytest.mark.parametrize("form", ["%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y"])
def test_dates_with_the_name_of_a_month(put, form):
    first = datetime.date(2021, 1, 3)
    dates = [(first + datetime.timedelta(days=40 * n)).strftime(form) for n in range(12)]
    nodes = put("n.csv", text([["id", "seen"], *zip(IDS, dates, strict=True)]))
    assert read_tables(put("e.csv", PLAIN), nodes=nodes, threads=1).encoder.types["seen"] == "date"


def test_percentages_and_amounts_of_money_are_numbers(put):
    rows = [[id, f"{n} %", f"${n}.50", f"{n},5 €"] for n, id in enumerate(IDS)]
    nodes = put("n.csv", text([["id", "share", "price", "Preis"], *rows], ";"))
    table = read_tables(put("e.csv", PLAIN), nodes=nodes, threads=1)
    assert set(table.encoder.types.values()) == {"number"}
    share, price, euros = np.asarray(table.features)[
        np.argsort([int(id[1:]) for id in table.ids])
    ].T
    assert np.allclose(share - share[0], price - price[0])
    assert np.allclose(price, euros)
    assert np.all(np.diff(share) > 0)
