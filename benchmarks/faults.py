"""Kill and interrupt `nodecopy fit` and `nodecopy reproduce` at random moments; count what is lost.

    python benchmarks/faults.py --kills 300 --interrupts 300 --folder faults

Each case starts a command, waits for a random part of the time that it takes, and either kills a
process of it (-9; the program itself, or in one case of four any of its processes) or sends Ctrl-C
to all of them, as a terminal does. `fit` replaces an existing folder; `reproduce` adds to a store,
with worker processes and with a Dask cluster on this machine. Counted are folders and rows that are
lost, damaged or doubled, runs that do not end, and interrupts that are not answered by one line and
exit code 130. Cases are noted in ``cases.jsonl``; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

# A run, or a process that it started, that is still there so many seconds after the signal hangs.
LIMIT = 120.0
TRIALS = 30
SEEDS = (1, 2)
KEPT = ("predictions.csv", "config.toml", "model/model.safetensors", "model/tables.json")
OTHERS = (
    *("report.html", "summary.json", "predictions.parquet"),
    *("next_labels.csv", "suspect_edges.csv", "suspect_labels.csv"),
)
SPEC = f"""title = "Faults"
datasets = ["cora"]
splits = ["fixed"]
labels_per_class = [5]
methods = ["label-propagation"]
trials_per_cell = {TRIALS}
"""
# Signals count from the first line of our own code: before it, Python itself answers them.
START = """
import os, sys
from nodecopy import interrupts
interrupts.begin()
os.write({pipe}, b".")
os.close({pipe})
from nodecopy.__main__ import run
sys.exit(run())
"""
NOISE = re.compile(r"Traceback|internal error|Exception ignored|terminate called|Fatal|abort")


@dataclass(frozen=True)
class Case:
    """What is done in one case: it follows from its number."""

    number: int
    signal: str
    scenario: str
    moment: float
    bystander: bool

    @classmethod
    def of(cls, number: int, kind: str) -> Case:
        draw = random.Random(f"{kind} {number}")
        scenario = draw.choice(("fit", "fit", "fit", "fit", "processes", "cluster"))
        bystander = kind == "kill" and not scenario.startswith("fit") and draw.random() < 0.25
        return cls(number, kind, scenario, draw.uniform(0, 1.02), bystander)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--interrupts", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=Path("faults"))
    parser.add_argument("--only", help="one scenario, e.g. cluster")
    args = parser.parse_args()
    bench = Bench(args.folder.absolute())
    wanted = [
        Case.of(number, kind)
        for number in range(max(args.kills, args.interrupts))
        for kind, count in (("kill", args.kills), ("interrupt", args.interrupts))
        if number < count
    ]
    wanted = [case for case in wanted if args.only in (None, case.scenario)]
    done = {(note["signal"], note["number"]) for note in bench.notes()}
    for case in wanted:
        if (case.signal, case.number) not in done:
            bench.note(case, bench.run(case))
    summarise(bench.notes())


class Bench:
    """A folder with everything in it: tables, an experiment, references, what is attacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases = folder / "cases.jsonl"
        self.seconds: dict[str, float] = {}
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self._prepare()
        self.reference = {seed: self._kept(folder / f"reference-{seed}") for seed in SEEDS}
        self.rows = self._rows(folder / "reference.sqlite")
        assert len(self.rows) == TRIALS
        self.seconds = json.loads((folder / "ready").read_text())

    def notes(self) -> list[dict]:
        if not self.cases.exists():
            return []
        return [json.loads(line) for line in self.cases.read_text().splitlines()]

    def note(self, case: Case, found: dict) -> None:
        with self.cases.open("a") as file:
            file.write(json.dumps({**vars(case), **found}) + "\n")
        wrong = ", ".join(found["faults"]) or "fine"
        print(
            f"{case.signal} {case.number}, {case.scenario}, at {found['waited']:.2f} s: exit code "
            f"{found['code']}, {wrong}",
            flush=True,
        )

    def run(self, case: Case) -> dict:
        """Start the command of a case, send its signal, and look at what is there afterwards."""
        before = self._rows(self._store(case.scenario))
        seed = SEEDS[self._seed() == SEEDS[0]]
        process, errors = self._start(case.scenario, seed)
        waited = self.seconds[case.scenario] * case.moment
        time.sleep(waited)
        # Other work on the machine changes how long a run takes: follow it.
        if process.poll() is not None:
            self.seconds[case.scenario] *= 0.9
        elif case.moment > 0.9:
            self.seconds[case.scenario] *= 1.1
        sent = time.monotonic()
        _send(case, process)
        faults = [] if _ends(process) else ["did not end"]
        took = time.monotonic() - sent
        text = errors.read_text(errors="replace")
        if case.signal == "interrupt":
            faults += _answer_faults(process.returncode, text)
        elif process.returncode not in (0, -signal.SIGKILL, 1 if case.bystander else 0):
            faults.append(f"exit code {process.returncode}")
        if case.scenario.startswith("fit"):
            faults += self._folder_faults()
        else:
            faults += self._row_faults(before, self._rows(self._store(case.scenario)))
            if len(self._rows(self._store(case.scenario))) == TRIALS:
                _remove_store(self._store(case.scenario))
        kept = text if faults or NOISE.search(text) else ""
        return {
            "waited": waited,
            "took": took,
            "code": process.returncode,
            "faults": faults,
            "errors": kept[-3000:],
        }

    def _prepare(self) -> None:
        pairs = [(r + k, r + (k + s) % 20) for r in (0, 20) for k in range(20) for s in (1, 2)]
        lines = [f"n{u},n{v}" for u, v in (*pairs, (0, 20))]
        (self.folder / "edges.csv").write_text("\n".join(["source,target", *lines]))
        labels = [f"n{n},{'red' if n < 20 else 'blue'}" for n in (0, 1, 2, 3, 20, 21, 22, 23)]
        (self.folder / "labels.csv").write_text("\n".join(["id,label", *labels]))
        (self.folder / "spec.toml").write_text(SPEC)
        for scenario in ("fit", "processes", "cluster"):
            for seed in SEEDS:  # the second time, when files are cached, is the one that counts
                if not scenario.startswith("fit"):
                    _remove_store(self._store(scenario))
                begun = time.monotonic()
                process, errors = self._start(scenario, seed)
                assert process.wait(LIMIT) == 0, errors.read_text()
                self.seconds[scenario] = time.monotonic() - begun
                if scenario == "fit":
                    shutil.copytree(self.folder / "run", self.folder / f"reference-{seed}")
        shutil.copy(self._store("processes"), self.folder / "reference.sqlite")
        (self.folder / "ready").write_text(json.dumps(self.seconds))

    def _start(self, scenario: str, seed: int) -> tuple[subprocess.Popen, Path]:
        """Start the command of a scenario; return when its own code has begun."""
        if scenario.startswith("fit"):
            args = ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run"]
            args += ["--n-zeta=2", f"--seed={seed}"]
        else:
            args = ["reproduce", "spec.toml", "--workers=2", f"--executor={scenario}"]
            args += [f"--store={self._store(scenario)}"]
        heard, told = os.pipe()
        errors = self.folder / "errors.txt"
        with errors.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-c", START.format(pipe=told), *args],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                pass_fds=[told],
                start_new_session=True,
                # Whoever started this in the background may have had interrupts ignored.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        os.close(told)
        ready, _, _ = select.select([heard], [], [], LIMIT)
        assert ready, "the program did not begin"
        os.close(heard)
        return process, errors

    def _store(self, scenario: str) -> Path:
        return self.folder / f"{scenario}.sqlite"

    def _seed(self) -> int | None:
        """Return the seed of the fit that stands under its name, None if it is not whole."""
        run = self.folder / "run"
        kept = self._kept(run)
        whole = all((run / name).is_file() for name in OTHERS)
        whole = whole and (run / "report.html").read_text().rstrip().endswith("</html>")
        return next((s for s in SEEDS if whole and kept == self.reference[s]), None)

    def _kept(self, run: Path) -> dict[str, bytes | None]:
        """Return the files of a fit that are the same bytes however often it is repeated."""
        found = {name: run / name for name in KEPT}
        return {name: path.read_bytes() if path.exists() else None for name, path in found.items()}

    def _folder_faults(self) -> list[str]:
        seed = self._seed()
        if seed is not None:
            return []
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        shutil.copytree(self.folder / f"reference-{SEEDS[0]}", self.folder / "run")
        return ["folder lost"]

    def _rows(self, store: Path) -> dict[str, tuple]:
        """Return the rows of a store by digest, without what they cost."""
        if not store.exists() or not store.stat().st_size:
            return {}
        with closing(sqlite3.connect(store)) as connection:
            (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
            assert verdict == "ok", verdict
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
            if ("results",) not in tables:
                return {}
            query = "SELECT digest, seed, accuracy, nll, brier, reliability FROM results"
            rows = connection.execute(query).fetchall()
        found = {row[0]: row[1:] for row in rows}
        assert len(found) == len(rows) == len({row[1] for row in rows}), "rows doubled"
        return found

    def _row_faults(self, before: dict[str, tuple], after: dict[str, tuple]) -> list[str]:
        faults = []
        if not before.items() <= after.items():
            faults.append("rows lost")
        if not after.items() <= self.rows.items():
            faults.append("rows wrong or doubled")
        return faults


def summarise(notes: list[dict]) -> None:
    for kind in ("kill", "interrupt"):
        own = [note for note in notes if note["signal"] == kind]
        if not own:
            continue
        scenarios = Counter(note["scenario"] for note in own)
        faults = Counter(fault for note in own for fault in note["faults"])
        codes = Counter(str(note["code"]) for note in own)
        print(f"{kind}: {len(own)} cases: {dict(scenarios)}")
        print(f"  exit codes {dict(codes)}; slowest end {max(n['took'] for n in own):.1f} s")
        print(f"  faults: {dict(faults) or 'none'}")
        noisy = [note["number"] for note in own if note["errors"] and not note["faults"]]
        print(f"  tracebacks of killed processes on stderr: {len(noisy)} {noisy[:10]}")


def _send(case: Case, process: subprocess.Popen) -> None:
    if process.poll() is not None:
        return
    if case.signal == "interrupt":
        os.killpg(process.pid, signal.SIGINT)
        return
    others = [pid for pid in _members(process.pid) if pid != process.pid]
    draw = random.Random(case.number)
    victim = draw.choice(others) if case.bystander and others else process.pid
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)


def _ends(process: subprocess.Popen) -> bool:
    """Wait for the program and all processes that it started; end them by force after a while."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if process.poll() is not None and not _members(process.pid):
            return True
        time.sleep(0.02)
    for pid in {process.pid, *_members(process.pid)}:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(LIMIT)
    return False


def _members(session: int) -> list[int]:
    """Return the living processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, _, owner = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(owner) == session and state != "Z":
                found.append(int(folder.name))
    return found


def _answer_faults(code: int, text: str) -> list[str]:
    """Say what is wrong with the answer to an interrupt."""
    if code == 0:  # it was done before
        return ["noise"] if NOISE.search(text) else []
    faults = [] if code == 130 else [f"exit code {code}"]
    if text.count("interrupted\n") != 1 or not text.endswith("interrupted\n"):
        faults.append("not one line")
    return faults + (["noise"] if NOISE.search(text) else [])


def _remove_store(store: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{store}{suffix}").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
