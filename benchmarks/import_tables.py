"""Importing a large edge file: time and peak memory, against counting its rows.

    OMP_NUM_THREADS=1 python benchmarks/import_tables.py [--quick] [--threads 1]

A CSV file of random edges between text ids is written to a temporary folder, ten rows per node.
Each measurement is a process of its own, so that its peak memory is its own. The ratio to DuckDB's
count of the rows of the same file can be compared between machines; seconds and bytes cannot.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ROWS_PER_NODE = 5
MEBIBYTE = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="500,000 rows instead of 10 million")
    parser.add_argument("--threads", type=int, default=1, help="of DuckDB")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    rows = 500_000 if arguments.quick else 10_000_000
    print(
        f"python {platform.python_version()}, duckdb {duckdb.__version__}, {platform.machine()}; "
        f"{rows:,} rows, {rows // ROWS_PER_NODE:,} nodes, {arguments.threads} thread(s)"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges.csv")
        write_edges(path, rows)
        show(path, arguments.threads)


def show(path: Path, threads: int) -> None:
    print(f"{path.stat().st_size / MEBIBYTE:,.0f} MiB of text\n")
    print(f"{'':<34}{'CPU s':>8}{'wall s':>8}{'peak MiB':>10}{'CPU ratio':>11}")
    count = run("count", path, threads, 2048)
    for label, work, memory in [
        ("DuckDB: count the rows", "count", 2048),
        ("read_tables", "read", 2048),
        ("read_tables, DuckDB in 256 MiB", "read", 256),
        ("import nodecopy and DuckDB only", "nothing", 2048),
    ]:
        found = count if work == "count" else run(work, path, threads, memory)
        print(
            f"{label:<34}{found['cpu']:>8.2f}{found['wall']:>8.2f}"
            f"{found['peak'] / MEBIBYTE:>10,.0f}{found['cpu'] / count['cpu']:>11.1f}"
        )


def run(work: str, path: Path, threads: int, memory: int) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--measure", work, str(path), str(threads), str(memory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(work: str, path: str, threads: str, memory: str) -> None:
    import nodecopy.data.tables  # before the clock starts

    cpu, wall = time.process_time(), time.perf_counter()
    if work == "count":
        columns = "{'source': 'VARCHAR', 'target': 'VARCHAR'}"
        with duckdb.connect(config={"threads": int(threads)}) as connection:
            connection.execute(
                f"SELECT count(*) FROM read_csv('{path}', header = true, auto_detect = false, "
                f"columns = {columns})"
            ).fetchall()
    elif work == "read":
        nodecopy.data.tables.read_tables(
            path, threads=int(threads), memory_limit=int(memory) * MEBIBYTE
        )
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(found | {"peak": peak * (1 if sys.platform == "darwin" else 1024)}))


def write_edges(path: Path, rows: int) -> None:
    """Write random edges; the same for the same number of rows."""
    end = f"'user-' || hash({{0}} * i + {{1}}) % {rows // ROWS_PER_NODE}"
    source, target = end.format(2, 0), end.format(2, 1)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            f"COPY (SELECT {source} AS source, {target} AS target FROM range({rows}) AS t(i)) "
            f"TO '{path}' (FORMAT csv, HEADER)"
        )


if __name__ == "__main__":
    main()
