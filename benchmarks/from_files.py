"""From files to written predictions on a large graph: time and memory of every phase.

    OMP_NUM_THREADS=1 python -m benchmarks.from_files [--nodes 1000000] [--files parquet]

The graph of benchmarks/large.py is written to files first, with text ids. Each phase says how much
CPU and wall time it took, and the highest memory that the process had until its end; the last
column is the ratio to the fit, which can be compared between machines.
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

from benchmarks.large import made_graph
from benchmarks.measure import environment, peak_gibibytes


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--files", choices=["csv", "parquet"], default="parquet")
    parser.add_argument("--method", default="best")
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
        command = [sys.executable, "-m", "benchmarks.from_files", *words]
        subprocess.run([*command, f"--folder={folder}", "--measure"], check=True)


def measure(folder: Path, chosen: argparse.Namespace) -> None:
    """Do the whole job, phase by phase, in a process of its own."""
    from nodecopy.report import report_page
    from nodecopy.run import FitSettings, Run, fit, write_folder

    spent: dict[str, tuple[float, float, float]] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        spent[name] = time.process_time() - cpu, time.perf_counter() - wall, peak_gibibytes()
        return result

    files = [str(folder / f"{name}.{chosen.files}") for name in ("edges", "labels", "features")]
    settings = FitSettings(*files, method=chosen.method)
    table = timed("read the files", lambda: fit.read_source(settings))
    run: Run = timed("fit", lambda: fit.label_table(settings, table, progress=False))
    lists = run.result.lists
    timed("analyse: next labels, suspects", lambda: (lists.next_labels, lists.suspect_edges))
    page = timed("report", lambda: report_page(run.result, run.source))
    timed("write everything", lambda: write_folder(run, folder / "run", lambda: page))
    print(f"\n{'':<30}{'CPU s':>9}{'wall s':>9}{'peak GiB':>10}{'/ fit':>8}")
    cpu, wall, _ = np.sum(list(spent.values()), axis=0).tolist()
    spent["all"] = cpu, wall, peak_gibibytes()
    for name, (cpu, wall, peak) in spent.items():
        print(f"{name:<30}{cpu:>9.1f}{wall:>9.1f}{peak:>10.1f}{cpu / spent['fit'][0]:>8.2f}")


def write_files(folder: Path, nodes: int, form: str) -> None:
    """Write the tables of a synthetic graph; the same for the same number of nodes."""
    graph, x, _, y = made_graph(nodes)
    source, target = np.ascontiguousarray(graph.edges().T)
    known = np.flatnonzero(y >= 0)
    features = {f"x{d}": np.ascontiguousarray(column) for d, column in enumerate(x.T)}
    folder.mkdir(exist_ok=True)
    options = "FORMAT csv, HEADER" if form == "csv" else "FORMAT parquet"
    with duckdb.connect() as connection:
        for file, columns, query in (
            ("edges", {"s": source, "t": target}, f"{_id('s')} AS source, {_id('t')} AS target"),
            ("labels", {"i": known, "k": y[known]}, f"{_id('i')} AS id, 'c' || k AS label"),
            ("features", {"i": np.arange(nodes), **features}, f"{_id('i')} AS id, * EXCLUDE (i)"),
        ):
            connection.register("given", columns)
            path = folder / f"{file}.{form}"
            connection.execute(f"COPY (SELECT {query} FROM given) TO '{path}' ({options})")


def _id(column: str) -> str:
    return f"'user-' || {column}"


if __name__ == "__main__":
    main()
