"""Kill and interrupt `nodecopy fit` and `nodecopy reproduce` at random moments; count what is lost.

    python -m benchmarks.faults --cases 300 --folder faults

Each case starts a command, waits for a random part of the time that it takes, and either kills the
program (-9) or sends Ctrl-C to all its processes, as a terminal does. `fit` replaces an existing
folder, `reproduce` adds to a store from two worker processes. Counted are folders and rows that are
lost, damaged or doubled, processes that do not end, and interrupts that end with another exit code
than 130.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from nodecopy.paper.rows import read_rows

# Seconds after the signal in which the program and all its processes have to end.
LIMIT = 120.0
TRIALS = 30
FILES = ("predictions.csv", "config.toml", "model/model.safetensors")
SPEC = f"""title = "Faults"
datasets = ["cora"]
splits = ["fixed"]
labels_per_class = [5]
methods = ["label-propagation"]
trials_per_cell = {TRIALS}
"""
COMMANDS = {
    "fit": ["fit", "--edges=edges.csv", "--labels=labels.csv", "--out=run", "--random-state=1"],
    "reproduce": ["reproduce", "spec.toml", "--workers=2"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=Path("faults"))
    chosen = parser.parse_args()
    folder = chosen.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepare(folder)
    seconds = {command: measure(folder, command) for command in COMMANDS}
    expected = {"fit": fit_state(folder), "reproduce": row_state(folder)}
    faults: Counter[str] = Counter()
    for number in range(chosen.cases):
        draw = random.Random(number)
        command, sent = draw.choice([*COMMANDS]), draw.choice([signal.SIGKILL, signal.SIGINT])
        moment = draw.uniform(0, 1.02) * seconds[command]
        wrong = case(folder, command, sent, moment, expected[command])
        print(f"{number} {command} {sent.name} at {moment:.2f} s: {', '.join(wrong) or 'fine'}")
        faults.update(wrong)
    print(f"{chosen.cases} cases, faults: {dict(faults) or 'none'}")


def prepare(folder: Path) -> None:
    """Write the tables and the experiment."""
    pairs = [(r + k, r + (k + s) % 20) for r in (0, 20) for k in range(20) for s in (1, 2)]
    lines = [f"n{u},n{v}" for u, v in (*pairs, (0, 20))]
    (folder / "edges.csv").write_text("\n".join(["source,target", *lines]))
    labels = [f"n{n},{'red' if n < 20 else 'blue'}" for n in (0, 1, 2, 3, 20, 21, 22, 23)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *labels]))
    (folder / "spec.toml").write_text(SPEC)


def measure(folder: Path, command: str) -> float:
    """Run a command to its end; return the seconds that it takes."""
    begun = time.monotonic()
    assert start(folder, command).wait(LIMIT) == 0, (folder / "errors.txt").read_text()
    return time.monotonic() - begun


def case(folder: Path, command: str, sent: signal.Signals, moment: float, expected: dict) -> list:
    """Start a command, send a signal, and return what is wrong afterwards."""
    if len(row_state(folder)) == TRIALS and command == "reproduce":
        (folder / "runs.sqlite").unlink()
    before = row_state(folder)
    process = start(folder, command)
    time.sleep(moment)
    if process.poll() is None:
        (os.killpg if sent == signal.SIGINT else os.kill)(process.pid, sent)
    wrong = [] if ends(process) else ["did not end"]
    # As Python ends, it gives signals back to the system.
    if process.returncode not in (0, -sent, 130 if sent == signal.SIGINT else 0):
        wrong.append(f"exit code {process.returncode}")
    if command == "fit":
        if fit_state(folder) != expected:
            wrong.append("folder lost")
            measure(folder, "fit")
    else:
        after = row_state(folder)
        wrong += [] if before.items() <= after.items() else ["rows lost"]
        wrong += [] if after.items() <= expected.items() else ["rows wrong"]
    return wrong


def start(folder: Path, command: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "nodecopy", *COMMANDS[command]],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "errors.txt").open("w"),
        start_new_session=True,
        # Whoever started this in the background may have had interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def ends(process: subprocess.Popen) -> bool:
    """Wait for the program and all processes that it started; end them by force after a while."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if process.poll() is not None and not members(process.pid):
            return True
        time.sleep(0.02)
    for pid in {process.pid, *members(process.pid)}:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(LIMIT)
    return False


def members(session: int) -> list[int]:
    """Return the living processes of a session."""
    living = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit():
                state, _, _, owner = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(owner) == session and state != "Z":
                    living.append(int(folder.name))
    return living


def fit_state(folder: Path) -> dict[str, bytes]:
    """Return the files of the fit that are the same bytes however often it is repeated."""
    paths = [folder / "run" / name for name in FILES]
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def row_state(folder: Path) -> dict[int, tuple[float, ...]]:
    """Return the scores in the store by seed."""
    store = folder / "runs.sqlite"
    rows = read_rows(store) if store.exists() and store.stat().st_size else []
    return {row.trial.seed: (row.result.accuracy, row.result.nll) for row in rows}


if __name__ == "__main__":
    main()
