"""The journey of a practitioner: awkward files and the installed command."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import duckdb

from nodecopy import cli
from tests.waiting import LIMIT

HOSTILE = "<script>alert(1)</script>"
IDS = [HOSTILE, "Zoë; Ltd", "007", "-7", "a b", "=1+1", "\u202eevil", "x" * 300]


def test_predictions_come_back_with_the_ids_as_they_were(tmp_path: Path, capsys) -> None:
    """A fit to files as colleagues send them: semicolons, a byte-order mark, CRLF, Parquet."""
    folder = tmp_path / "files with spaces"
    folder.mkdir()
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
    names = {"edges": "edges.csv", "labels": "labels.tsv", "features": "features.parquet"}
    tables = [f"--{key}={folder / name}" for key, name in names.items()]
    assert cli.main(["inspect", *tables]) == 0
    assert "1 self-loop" in capsys.readouterr().out
    command = Path(sys.executable).with_name("nodecopy")  # as it is installed
    words = ["fit", *tables, "--method", "fast", "--out", "my run"]
    done = subprocess.run([command, *words], cwd=folder, capture_output=True, timeout=LIMIT)
    assert (done.returncode, b"report: my run" in done.stdout) == (0, True)
    predictions = folder / "my run" / "predictions.csv"
    with predictions.open(encoding="utf-8", newline="") as file:
        result = {row["id"]: row for row in csv.DictReader(file)}
    assert set(IDS) <= set(result)
    assert len(result) == 40
    assert result[HOSTILE]["known"] == "good & <b>"
    (folder / "truth.csv").write_text("id,label\na b,good & <b>\nv31,bad\n")
    files = [f"--predictions={predictions}", f"--truth={folder / 'truth.csv'}"]
    assert cli.main(["evaluate", *files]) == 0
    assert capsys.readouterr().out.startswith("nodes       2\naccuracy ")
