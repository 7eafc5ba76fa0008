"""Do the methods still give the committed rows? Runs one trial of each method again.

    OMP_NUM_THREADS=1 python -m benchmarks.same_rows [METHOD ...]

Every method of ``results/paper.jsonl.gz`` and ``results/beyond.jsonl.gz`` runs its first trial on
Cora, 5 labels per class, and its rounded scores, reliability and outcomes are compared with the
committed row: prints "same", or the scores that differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from benchmarks.paper_tables import BEYOND, RESULTS, compact_rows
from nodecopy.paper.experiment import run_trial
from nodecopy.paper.store import Row, read_rows

COSTS = {"cpu_seconds", "wall_seconds", "peak_megabytes", "versions"}


def first_rows() -> dict[str, Row]:
    """Return the first committed row of each method on Cora, 5 labels per class."""
    rows: dict[str, Row] = {}
    for row in [*read_rows(RESULTS), *read_rows(BEYOND)]:
        trial = row.trial
        if (trial.dataset, trial.split, trial.labels_per_class) == ("cora", "random", 5):
            rows.setdefault(trial.method, row)
    return rows


def differences(row: Row) -> Iterator[str]:
    """Run the trial of a row again; yield what is not as it was."""
    (again,) = compact_rows([Row(row.trial, run_trial(row.trial))])
    before, after = asdict(row.result), asdict(again.result)
    for name in before.keys() - COSTS:
        if before[name] != after[name]:
            yield f"{name}: {before[name]}, now {after[name]}"


def main(methods: Sequence[str]) -> int:
    """Compare the methods that are named, or all; return how many differ."""
    differ = 0
    for name, row in first_rows().items():
        if not methods or name in methods:
            found = sorted(differences(row))
            differ += bool(found)
            print(f"{name:20} {row.result.accuracy:.3f} {'; '.join(found) or 'same'}", flush=True)
    return differ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
