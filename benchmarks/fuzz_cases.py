"""Damaged input of every kind that the command reads; what a run gets depends on its number only.

A case is a function of a random generator and a folder that holds whole files (`whole_files`): it
damages some of them and returns the words of a command line, and the names that a run which ends
well may leave.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import shutil
import sqlite3
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from nodecopy import cli
from nodecopy.core.saving import checksum
from nodecopy.paper.store import Failure, Row, Store, Trial, TrialResult, export_rows

CHEAP = ["--method=fast"]
MANIFEST = "manifest.json"  # of a whole output folder, written last


class Case(NamedTuple):
    """The words of a command, and what it may leave behind if it ends well."""

    words: list[str]
    leaves: tuple[str, ...] = ()


Maker = Callable[[random.Random, Path], Case]


# --- whole files ------------------------------------------------------------------------------


def whole_files(folder: Path) -> None:
    """Write a file of every kind that the command reads."""
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "d")]
    labels = [("a", "x"), ("b", "x"), ("d", "y"), ("e", "y")]
    rows = [("a", 1, 0), ("b", 1, 0), ("c", 1, 1), ("d", 0, 1), ("e", 0, 1), ("f", 0, 1)]
    _write_rows(folder / "edges.csv", [("source", "target"), *edges])
    _write_rows(folder / "labels.csv", [("id", "label"), *labels])
    _write_rows(folder / "features.csv", [("id", "f1", "f2"), *rows])
    _write_rows(folder / "classes.csv", [("class", "description"), ("x", "a b"), ("z", "c d")])
    (folder / "edges.csv.gz").write_bytes(gzip.compress((folder / "edges.csv").read_bytes()))
    _parquet(folder)
    _other_formats(folder, edges, labels, rows)
    for features, out in ((["--nodes", str(folder / "features.csv")], "run"), ([], "bare")):
        words = ["fit", "--edges", str(folder / "edges.csv"), "--labels"]
        words += [str(folder / "labels.csv"), *features, *CHEAP, "--out", str(folder / out)]
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(words) == 0
    _experiment(folder)


def _write_rows(path: Path, rows: list[tuple[Any, ...]]) -> None:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def _parquet(folder: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_csv('{folder}/edges.csv')) "
            f"TO '{folder}/edges.parquet' (FORMAT parquet)"
        )


def _other_formats(folder: Path, edges: Any, labels: Any, rows: Any) -> None:
    """Write the same tables as a workbook, as graph files and as JSON."""
    import networkx as nx
    import openpyxl

    graph = nx.Graph(edges)
    for id, *cells in rows:
        graph.nodes[id].update(f1=cells[0], tags="x|y" if cells[1] else "x")
    nx.write_graphml(graph, folder / "graph.graphml")
    nx.write_gexf(graph, folder / "graph.gexf")
    nx.write_gml(graph, folder / "graph.gml")
    links = {"nodes": [{"id": id} for id in graph], "links": _records("source target", edges)}
    (folder / "graph.json").write_text(json.dumps(links))
    records = map(json.dumps, _records("source target", edges))
    (folder / "edges.jsonl").write_text("\n".join(records))
    book = openpyxl.Workbook()
    book.remove(book.active)
    tables = {"edges": [("source", "target"), *edges], "nodes": [("id", "f1", "f2"), *rows]}
    for name, held in (tables | {"labels": [("id", "label"), *labels]}).items():
        sheet = book.create_sheet(name)
        for row in held:
            sheet.append(row)
    book.save(folder / "book.xlsx")


def _records(names: str, rows: Any) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


def _experiment(folder: Path) -> None:
    scores = dict.fromkeys(("nll", "brier", "ece_width", "error_auroc"), 0.25)
    cost = {"cpu_seconds": 1.0, "wall_seconds": 1.0, "peak_megabytes": 100.0}
    rows = [
        Row(
            Trial("cora", "random", 5, "gcn", seed),
            TrialResult(
                accuracy=0.7 + seed / 100,
                **scores,
                reliability=((None, None, 0), (0.5, 0.5, 7)),
                outcomes={"low": {"both_right": 0.25, "corrected": 0.75}},
                **cost,
                versions={"torch": "2", "numerics": "1"},
            ),
        )
        for seed in range(4)
    ]
    with Store.open(folder / "runs.sqlite") as store:
        store.add(rows)
        store.add_failure(Failure(Trial("cora", "random", 5, "gcn", 9), "boom"))
    export_rows(rows, folder / "rows.jsonl")
    export_rows(rows, folder / "rows.jsonl.gz")
    (folder / "spec.toml").write_text(
        'title = "t"\ndatasets = ["cora"]\nsplits = ["random"]\nlabels_per_class = [5]\n'
        'methods = ["label-propagation"]\ntrials_per_cell = 1\nfirst_seed = 3\n'
    )


# --- damage -----------------------------------------------------------------------------------

CELLS = ["a", "b", "007", "7", "-1", "", " ", "nan", "1e400", "0.5", "ß", '"', "\0", "id", "label"]
CELLS += ["source", "target", "weight", "feature", "value", "<b>", "=1", "\u2028", "1,2", "x" * 300]
CELLS += ["1,5", "1,200", "sep=;", "2", "-inf", "1e38", "'", "\ufeff", "\n", "\r", "[/b]", "{", "#"]
CELLS += ["NA", "1.234,5", "a|b", "['a', 'b']", '["a"]', "a;b", "Directed"]
NAMES = [
    "",
    ".",
    "/",
    "missing",
    "a\0b",
    "x" * 300,
    "\udcff",
    "/dev/null",
    "ß",
    "a/b/c",
    "run",
    "~",
]


def odd_value(rng: random.Random) -> Any:
    """Return something that JSON can hold and nobody expects."""
    plain = [None, True, False, 0, -1, 1, 2, 7, 10**9, 10**20, 0.5, -0.0, 1e308, float("nan")]
    plain += [float("inf"), "", "x", "point", "\0", "<f4", "|V9", [], {}, [[]], {"type": "GCN"}]
    plain += [{"tuple": [1, "2"]}, {"array": [1], "dtype": "<f8"}, {"unsaved": "x"}, ["a", 1]]
    value = rng.choice(plain)
    for _ in range(rng.choice([0] * 12 + [1, 3, 400, 100_000])):
        value = [value]
    return value


def mutated_json(rng: random.Random, value: Any) -> Any:
    """Replace, drop, add or repeat something at a random place."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        kind = rng.random()
        if kind < 0.1:
            return {name: item for name, item in value.items() if name != key}
        if kind < 0.15:
            return value | {rng.choice(["type", "fields", "x", "", "tuple"]): odd_value(rng)}
        return value | {key: mutated_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.75:
        place = rng.randrange(len(value))
        if rng.random() < 0.3:
            return value[:place] + value[place + 1 :] * rng.choice([0, 1, 2])
        return [*value[:place], mutated_json(rng, value[place]), *value[place + 1 :]]
    return odd_value(rng)


def dumped(value: Any) -> str:
    """Return JSON of any depth: `json.dumps` gives up where nesting is deep."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "[" * 100_000 + "]" * 100_000


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Change a few bytes, cut, repeat or insert something."""
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(content) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            content = content[:at]
        elif kind == 1:
            content = content[:at] + rng.randbytes(rng.choice([1, 1, 2, 8])) + content[at + 1 :]
        elif kind == 2:
            content = content[:at] + rng.choice(CELLS).encode() + content[at:]
        elif kind == 3:
            content = content[:at] + content[at + rng.randrange(1, 9) :]
        elif kind == 4:
            content = content[:at] + content[at : at + rng.randrange(40)] * 2 + content[at:]
        else:
            content = content[:at] + bytes([rng.choice([0, 9, 10, 13, 34, 255])]) + content[at:]
    return content


def damage_file(rng: random.Random, path: Path) -> None:
    path.write_bytes(damaged(rng, path.read_bytes()))


READING = ["--encoding=utf-16", "--encoding=cp1252", "--encoding=mac-roman", "--encoding=zip"]
READING += ["--decimal=,", "--decimal=.", "--decimal="]
READING += ["--na-values=a,b", "--na-values="]


def random_table(rng: random.Random) -> bytes:
    heads = ["source,target", "id,label", "id,feature,value", "id,f1,f2", "", "a,b"]
    joint, end = rng.choice([",", ",", "\t", ";", "|", " ", ",,"]), rng.choice(["\n", "\r\n", "\r"])
    rows = [joint.join(rng.choices(CELLS, k=rng.randrange(5))) for _ in range(rng.randrange(9))]
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-7"])
    return end.join([rng.choice(heads), *rows]).encode(encoding, "replace")


# --- cases ------------------------------------------------------------------------------------


def own_tables(rng: random.Random, folder: Path) -> Case:
    """Damage a table, and fit or look at all of them."""
    files = {name: folder / f"{name}.csv" for name in ("edges", "labels", "features")}
    target = files[rng.choice(sorted(files))]
    target.write_bytes(
        damaged(rng, target.read_bytes()) if rng.random() < 0.6 else random_table(rng)
    )
    names = {"features": "nodes"}
    words = [f"--{names.get(name, name)}={path}" for name, path in files.items()]
    for kind in ("edge", "label"):
        if rng.random() < 0.1:
            picked = rng.choices([*CELLS, "1", "2", "f1", "source"], k=rng.randrange(4))
            words.append(f"--{kind}-columns={','.join(picked)}".replace("\0", ""))
    words += rng.sample(READING, k=rng.choice([0, 0, 1, 2]))
    if rng.random() < 0.2:
        words.append(f"--labels={rng.choice([*files.values()])}")
    return _read(rng, folder, words, 0.5)


def packed_tables(rng: random.Random, folder: Path) -> Case:
    """Damage a Parquet or gzip file of edges."""
    edges = folder / rng.choice(["edges.parquet", "edges.csv.gz"])
    damage_file(rng, edges)
    words = [f"--edges={edges}", f"--labels={folder / 'labels.csv'}"]
    return _read(rng, folder, words, 0.7)


def other_formats(rng: random.Random, folder: Path) -> Case:
    """Damage a workbook, the XML inside one, a graph file or JSON."""
    graphs = [f"graph.{end}" for end in ("graphml", "gexf", "gml", "json")]
    name = rng.choice([*graphs, "edges.jsonl", "book.xlsx", "book.xlsx"])
    path = folder / name
    if name == "book.xlsx" and rng.random() < 0.7:
        with zipfile.ZipFile(path) as held:
            parts = {one: held.read(one) for one in held.namelist()}
        part = rng.choice(sorted(parts))
        parts[part] = damaged(rng, parts[part])
        with zipfile.ZipFile(path, "w") as held:
            for one, content in parts.items():
                held.writestr(one, content)
    elif name.endswith("json") and rng.random() < 0.5:
        path.write_text(dumped(mutated_json(rng, json.loads(path.read_text()))))
    else:
        damage_file(rng, path)
    words = [
        f"--edges={path}",
        f"--labels={path if name == 'book.xlsx' else folder / 'labels.csv'}",
    ]
    if name == "book.xlsx":
        words.append(f"--nodes={path}{rng.choice(['', '#nodes', '#Nodes', '#x', '#'])}")
    return _read(rng, folder, words, 0.8)


def described(rng: random.Random, folder: Path) -> Case:
    """Damage a table of classes, of a workbook or of text, and fit with it."""
    path = folder / rng.choice(["classes.csv", "classes.csv", "book.xlsx"])
    if path.suffix == ".csv" and rng.random() < 0.5:
        path.write_bytes(random_table(rng))
    else:
        damage_file(rng, path)
    words = [f"--edges={folder / 'edges.csv'}", f"--labels={folder / 'labels.csv'}"]
    classes = f"{path}{rng.choice(['', '#labels', '#x']) if path.suffix == '.xlsx' else ''}"
    return Case(
        ["fit", *words, f"--classes={classes}", *CHEAP, f"--out={folder / 'new'}"], ("new",)
    )


def _read(rng: random.Random, folder: Path, words: list[str], look: float) -> Case:
    if rng.random() < look:
        return Case(["inspect", *words])
    return Case(["fit", *words, *CHEAP, f"--out={folder / 'new'}"], ("new",))


def odd_array(rng: random.Random, array: Any) -> Any:
    """Return an array of another shape, type or content."""
    kinds = ["<f4", "<f8", "<i1", "<u8", "<i8", "<U3", "|b1", "<c8", "|S2", "<f2", "<M8[s]", ">i4"]
    kind = rng.randrange(6)
    with np.errstate(all="ignore"), contextlib.suppress(ValueError, TypeError, OverflowError):
        if kind == 0:
            return array.astype(rng.choice(kinds))
        if kind == 1:
            return np.resize(array, rng.choice([(), (0,), (1,), (7, 1), (3,), (100_000,)]))
        if kind == 2:
            changed = np.array(array)
            changed.reshape(-1)[rng.randrange(changed.size)] = rng.choice([-1, 0, 2**31, 2**62, 5])
            return changed
        if kind == 3:
            return np.full(array.shape, rng.choice([np.nan, np.inf, 1e39, -1.0, 1e-45]))
        if kind == 4:
            return np.array(rng.choice([10**9, 2**62, 0, -5, 3, 10**6]))
    return np.concatenate([np.atleast_1d(array)] * 2)


def model(rng: random.Random, folder: Path) -> Case:
    """Damage a model, its settings or its arrays, and predict with it."""
    run, features = ("bare", []) if rng.random() < 0.3 else ("run", ["features"])
    home = folder / run / "model"
    if rng.random() < 0.5:
        damage_file(rng, home / rng.choice(["model.safetensors", "tables.safetensors"]))
    else:
        settings, arrays = read_model(home / "model.safetensors")
        if rng.random() < 0.6:
            settings = mutated_json(rng, settings)
        else:
            name = rng.choice(sorted(arrays))
            arrays = arrays | {name: odd_array(rng, arrays[name])}
        # What safetensors does not write cannot come out of such a file either.
        with contextlib.suppress(SafetensorError):
            write_model(home / "model.safetensors", settings, arrays)
    words = ["predict", f"--model={home}", f"--edges={folder / 'edges.csv'}"]
    words += [f"--nodes={folder / 'features.csv'}"] if features else []
    return Case([*words, f"--out={folder / 'new.csv'}"], ("new.csv",))


def read_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return the settings and arrays of a model file."""
    with safe_open(path, framework="numpy") as file:
        settings = json.loads(file.metadata()["nodecopy"])
        return settings, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def write_model(path: Path, settings: Any, arrays: dict[str, Any]) -> None:
    """Write a model file, whatever it holds, with the checksum of that."""
    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if isinstance(settings, dict) and "value" in settings:
        with contextlib.suppress(RecursionError, ValueError):  # of deep nesting, and of dates
            settings = settings | {"sha256": checksum(settings["value"], held)}
    path.write_bytes(save(held, metadata={"nodecopy": dumped(settings)}))


def config(rng: random.Random, folder: Path) -> Case:
    """Damage or rewrite the settings of a fit."""
    path = folder / "run" / "config.toml"
    if rng.random() < 0.3:
        damage_file(rng, path)
    else:
        keys = [*tomllib.loads(path.read_text("utf-8")), "nonsense", "[x]", "edge_columns"]
        values = ['"e.csv"', "1", "-1", "nan", "true", "[]", "''", "1979-05-27", '"point"', "0.5"]
        values += ["0x" + "f" * 5000, "9" * 5000, "[" * 5000, "{a = 1}", '["id", 1]', '"\\u0000"']
        values += ['"\\u0000.csv"', "1e400", "'''\n'''", "10000000", '"' + "x" * 300 + '"']
        lines = [f"{rng.choice(keys)} = {rng.choice(values)}" for _ in range(rng.randrange(1, 3))]
        _rewrite(path, lines)
    # Options win over the file, so that a run that is accepted is cheap.
    return Case(["fit", "--config", str(path), *CHEAP, f"--out={folder / 'new'}"], ("new",))


def _rewrite(path: Path, lines: list[str]) -> None:
    """Replace the lines of a TOML file that have the keys of these."""
    keys = {line.split(" = ")[0] for line in lines}
    held = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*(one for one in held if one.split(" = ")[0] not in keys), *lines]))


def store(rng: random.Random, folder: Path) -> Case:
    """Damage a store: its bytes, a cell or a table."""
    path = folder / "runs.sqlite"
    if rng.random() < 0.4:
        damage_file(rng, path)
    else:
        with contextlib.closing(sqlite3.connect(path)) as held, held:
            statement = _statement(rng, held)
            with contextlib.suppress(sqlite3.Error):
                held.execute(*statement)
    return _with_rows(rng, folder, path)


def _statement(rng: random.Random, connection: sqlite3.Connection) -> tuple[str, tuple[Any, ...]]:
    table = "trials"
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    column = rng.choice(columns)
    value = odd_value(rng)
    odd = [dumped(value), rng.choice(CELLS), b"\xff", None, -1, 1e308, 2**62, rng.choice(NAMES)]
    cell = rng.choice(odd)
    if isinstance(cell, str):
        cell = cell.encode("utf-8", "replace").decode()
    return rng.choice(
        [
            *[(f"UPDATE {table} SET {column} = ?", (cell,))] * 6,
            (f"UPDATE {table} SET {column} = CAST(x'ff41' AS TEXT)", ()),
            (f"ALTER TABLE {table} DROP COLUMN {rng.choice(['result', 'failure'])}", ()),
            (f"ALTER TABLE {table} RENAME COLUMN {column} TO other", ()),
            (f"DROP TABLE {table}", ()),
            (f"DELETE FROM {table}", ()),
        ]
    )


def rows(rng: random.Random, folder: Path) -> Case:
    """Damage exported rows."""
    path = folder / rng.choice(["rows.jsonl", "rows.jsonl.gz"])
    if rng.random() < 0.4 or path.suffix == ".gz":
        damage_file(rng, path)
    else:
        lines = path.read_text("utf-8").splitlines()
        place = rng.randrange(len(lines))
        lines[place] = dumped(mutated_json(rng, json.loads(lines[place])))
        path.write_text("\n".join(lines))
    return _with_rows(rng, folder, path)


def _with_rows(rng: random.Random, folder: Path, path: Path) -> Case:
    results = {"status": "", "export": "out.jsonl", "merge": "merged.sqlite", "tables": "report"}
    command = rng.choices(list(results), [40, 30, 30, 1])[0]
    if not (out := results[command]):
        return Case(["paper", command, str(path)])
    return Case(["paper", command, str(path), f"--out={folder / out}"], (out,))


def spec(rng: random.Random, folder: Path) -> Case:
    """Damage or rewrite an experiment."""
    path = folder / "spec.toml"
    if rng.random() < 0.4:
        damage_file(rng, path)
    else:
        content = tomllib.loads(path.read_text("utf-8"))
        values = ["[]", "1", "-1", "nan", "true", "''", '["cora", 1]', "[0]", "[5, 5]", "[10000]"]
        values += ["0x" + "f" * 5000, "9" * 5000, "[" * 5000, '["x"]', "1e400", "2", f"{2**62}"]
        _rewrite(path, [f"{rng.choice([*content, 'x'])} = {rng.choice(values)}"])
    out = folder / "new.sqlite"
    words = ["paper", "reproduce", str(path), "--executor=serial", f"--store={out}"]
    return Case([*words, "--methods=label-propagation"], ("new.sqlite",))


def arguments(rng: random.Random, folder: Path) -> Case:
    """Give names and numbers that cannot be."""

    def name() -> str:
        return str(folder / rng.choice(NAMES)) if rng.random() < 0.7 else rng.choice(NAMES)

    numbers = ["-1", "0", "1e9", "", "nan", "x", "9" * 50, "1.5"]
    options = ["--random-state", "--folds", "--coverage", "--normalise"]
    labels, new = f"--labels={folder / 'labels.csv'}", f"--out={folder / 'new'}"
    fit = ["fit", f"--edges={folder / 'edges.csv'}", labels, *CHEAP]
    commands: list[list[str]] = [
        [*fit, f"--out={name()}"],
        [*fit, new, f"{rng.choice(options)}={rng.choice(numbers)}"],
        ["fit", f"--edges={name()}", labels, new],
        ["fit", f"--config={name()}", new],
        ["fit", rng.choice(NAMES) + "x", f"--out={name()}"],
        ["predict", f"--model={name()}", f"--edges={folder / 'edges.csv'}", f"--out={name()}"],
        ["predict", f"--model={folder / 'bare/model'}", f"--edges={name()}", f"--out={name()}.csv"],
        ["paper", "status", name()],
        ["paper", "export", str(folder / "runs.sqlite"), f"--out={name()}.jsonl"],
        ["paper", "export", str(folder / "runs.sqlite"), f"--out={name()}"],
        ["paper", "merge", str(folder / "rows.jsonl"), f"--out={name()}"],
        ["paper", "merge", name(), f"--out={folder / 'new.sqlite'}"],
        ["paper", "tables", name()],
        ["paper", "reproduce", name(), f"--store={folder / 'new.sqlite'}"],
        [rng.choice(CELLS), rng.choice(CELLS)],
    ]
    return Case(rng.choice(commands), ("*",))


# How often each case comes.
CASES: dict[Maker, int] = {
    own_tables: 25,
    packed_tables: 20,
    other_formats: 40,
    described: 10,
    model: 20,
    config: 10,
    store: 10,
    rows: 5,
    spec: 5,
    arguments: 8,
}


def copy_whole(whole: Path, folder: Path) -> None:
    """Fill an empty folder with whole files."""
    shutil.copytree(whole, folder, dirs_exist_ok=True)
