"""From files to written predictions on a large graph: time and memory of every phase.

    OMP_NUM_THREADS=1 python benchmarks/from_files.py [--nodes 1000000] [--files parquet]

A planted partition is written to files first: text ids, 5 edges a node of heavy-tailed degrees, 32
dense features, 10 classes of which 20 labels each are known. Each phase says how much CPU and wall
time it took, and the highest memory that the process had until its end; the last column is the
ratio to the fit, which can be compared between machines.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from measure import environment

CLASSES, FEATURES, LABELS, EDGES = 10, 32, 20, 5
HOMOPHILY = 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--files", choices=["csv", "parquet"], default="parquet")
    parser.add_argument("--method", default="best")
    parser.add_argument("--imported", action="store_true", help="import first, fit from the folder")
    parser.add_argument("--folder", help="where files are, or are written, and stay")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(Path(chosen.folder), chosen)
        return
    print(f"{environment('duckdb', 'torch')}; {chosen.nodes:,} nodes, {chosen.files} files")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(chosen.folder or temporary)
        if not (folder / f"edges.{chosen.files}").exists():
            write_files(folder, chosen.nodes, chosen.files)
        words = [word for word in sys.argv[1:] if not word.startswith("--folder")]
        command = [sys.executable, __file__, *words, f"--folder={folder}", "--measure"]
        subprocess.run(command, check=True)


def measure(folder: Path, chosen: argparse.Namespace) -> None:
    """Do the whole job, phase by phase, in a process of its own."""
    from nodecopy.report import report_page
    from nodecopy.run import FitSettings, fit, source, write_folder
    from nodecopy.tables.stored import write_graph

    spent: dict[str, tuple[float, float, float]] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        spent[name] = time.process_time() - cpu, time.perf_counter() - wall, peak_megabytes()
        return result

    files = [str(folder / f"{name}.{chosen.files}") for name in ("edges", "labels", "features")]
    settings = FitSettings(*files, method=chosen.method)
    table = timed("read the files", lambda: source.read_source(settings))
    if chosen.imported:
        timed("write the graph", lambda: write_graph(table, folder / "graph"))
        del table
        settings = FitSettings(graph=str(folder / "graph"), method=chosen.method)
        table = timed("open and verify the graph", lambda: source.read_source(settings))
    fitted = timed("fit", lambda: settings.classifier(progress=False).fit(table))
    found = timed(
        "analyse: next labels, suspects", lambda: fit.analyse_fit(settings, table, fitted)
    )
    timed("write everything", lambda: write_folder(found, folder / "run", report_page(found)))
    print(f"\n{'':<30}{'CPU s':>9}{'wall s':>9}{'peak MB':>10}{'/ fit':>8}")
    cpu, wall, _ = np.sum(list(spent.values()), axis=0).tolist()
    spent["all"] = cpu, wall, peak_megabytes()
    for name, (cpu, wall, peak) in spent.items():
        print(f"{name:<30}{cpu:>9.1f}{wall:>9.1f}{peak:>10,.0f}{cpu / spent['fit'][0]:>8.2f}")
    for file in sorted((folder / "run").rglob("*")):
        if file.is_file():
            print(f"{file.relative_to(folder)!s:<40}{file.stat().st_size / 1e6:>10.1f} MB")


def peak_megabytes() -> float:
    """Return the highest resident memory of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def write_files(folder: Path, nodes: int, form: str) -> None:
    """Write a planted partition; the same for the same number of nodes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=nodes)
    order = np.argsort(labels, kind="stable")
    begins = np.searchsorted(labels[order], np.arange(CLASSES + 1))
    # The squares of uniform numbers make degrees heavy-tailed.
    source = (nodes * rng.random(EDGES * nodes) ** 2).astype(np.int64)
    inside = rng.random(len(source)) < HOMOPHILY
    room = np.diff(begins)[labels[source]]
    near = order[begins[labels[source]] + (room * rng.random(len(source)) ** 2).astype(np.int64)]
    target = np.where(inside, near, (nodes * rng.random(len(source)) ** 2).astype(np.int64))
    x = rng.standard_normal((nodes, FEATURES)).astype(np.float32)
    x += 0.5 * rng.standard_normal((CLASSES, FEATURES)).astype(np.float32)[labels]
    known = np.concatenate([np.flatnonzero(labels == k)[:LABELS] for k in range(CLASSES)])
    names = [f"x{d}" for d in range(FEATURES)]
    features = {name: x[:, d] for d, name in enumerate(names)}
    folder.mkdir(exist_ok=True)
    options = "FORMAT csv, HEADER" if form == "csv" else "FORMAT parquet"
    with duckdb.connect() as connection:
        for file, columns, query in (
            ("edges", {"s": source, "t": target}, f"{_id('s')} AS source, {_id('t')} AS target"),
            ("labels", {"i": known, "k": labels[known]}, f"{_id('i')} AS id, 'c' || k AS label"),
            ("features", {"i": np.arange(nodes), **features}, f"{_id('i')} AS id, * EXCLUDE (i)"),
        ):
            connection.register("given", columns)
            path = folder / f"{file}.{form}"
            connection.execute(f"COPY (SELECT {query} FROM given) TO '{path}' ({options})")


def _id(column: str) -> str:
    return f"'user-' || {column}"


if __name__ == "__main__":
    main()
