"""The journey of a practitioner: awkward files and the installed command."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.waiting import LIMIT

HOSTILE = "<script>alert(1)</script>"
IDS = [HOSTILE, "Zoë; Ltd", "007", "-7", "a b", "=1+1", "\u202eevil", "x" * 300]


def nodecopy(folder: Path, *words: str) -> str:
    """Run the installed command; return what it printed."""
    command = Path(sys.executable).with_name("nodecopy")
    done = subprocess.run(
        [command, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit to files as colleagues send them: semicolons, a byte-order mark, CRLF, Parquet."""
    folder = tmp_path_factory.mktemp("files with spaces")
    ids = [*IDS, *(f"v{k}" for k in range(40 - len(IDS)))]
    pairs = [(r + k, r + (k + step) % 20) for r in (0, 20) for k in range(20) for step in (1, 2, 3)]
    with (folder / "edges.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Source", "Target", "Weight"])
        writer.writerows([ids[u], ids[v], "1.5"] for u, v in [*pairs, (0, 20), (0, 0), pairs[0]])
    with (folder / "labels.tsv").open("w", encoding="utf-8", newline="") as file:
        rows = [(ids[n], "good & <b>" if n < 20 else "bad") for n in (0, 1, 2, 3, 20, 21, 22, 23)]
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([("id", "label"), *rows])
    with duckdb.connect() as db:
        db.execute("CREATE TABLE f (id VARCHAR, height DOUBLE, width DOUBLE)")
        db.executemany(
            "INSERT INTO f VALUES (?, ?, ?)", [(i, len(i), n) for n, i in enumerate(ids)]
        )
        db.execute(f"COPY f TO '{folder / 'features.parquet'}'")
    tables = ["--edges", "edges.csv", "--labels", "labels.tsv", "--features", "features.parquet"]
    assert "1 self-loop" in nodecopy(folder, "inspect", *tables)
    cheap = ["--method", "fast"]
    assert "report: " in nodecopy(folder, "fit", *tables, *cheap, "--out", "my run")
    return folder / "my run"


def test_predictions_come_back_with_the_ids_as_they_were(run: Path) -> None:
    with (run / "predictions.csv").open(encoding="utf-8", newline="") as file:
        result = {row["id"]: row for row in csv.DictReader(file)}
    assert set(IDS) <= set(result)
    assert len(result) == 40
    assert result[HOSTILE]["known"] == "good & <b>"
    (run.parent / "truth.csv").write_text("id,label\na b,good & <b>\nv31,bad\n")
    files = ["--predictions", "my run/predictions.csv", "--truth", "truth.csv"]
    assert nodecopy(run.parent, "evaluate", *files).startswith("nodes       2\naccuracy ")
