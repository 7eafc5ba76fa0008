"""Damaged input of every kind, given to the command: an answer or one clear line, nothing else.

    nice -n 10 python -m benchmarks.fuzz --runs 20000 [--seed 0] [--first 0]

Every run calls the command in this process, on files that were whole but for some damage: tables,
Parquet and gzip files, models, settings, stores, exported rows, experiments, names. It must end
with code 0, and a whole folder where one is due, or with code 2, one line on stderr and no new
file; within a time limit and a limit of memory; and it must leave its input as it was. A run
depends on the seed and its number only, so a failure can be run again: --first NUMBER --runs 1
--keep FOLDER leaves its files there.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz_cases import CASES, MANIFEST, Case, Maker, copy_whole, whole_files
from nodecopy import cli

TIME_LIMIT = 60  # seconds, for one run on a busy machine
# Lines that a busy machine has time to write.
PROGRESS = ("fitting", "reading", "choosing", "writing")
MEMORY_LIMIT = 8 * 1024**3  # of address space, for the whole process


class Ended(NamedTuple):
    """How a run ended: its exit code, and what is wrong with that."""

    case: str
    code: int | None
    wrong: str


class TooLong(BaseException):
    """The time limit is over."""


def run(whole: Path, folder: Path, seed: int, number: int) -> Ended:
    """Do one run in an empty folder."""
    rng = random.Random(f"{seed}/{number}")
    maker: Maker = rng.choices(list(CASES), list(CASES.values()))[0]
    copy_whole(whole, folder)
    case = maker(rng, folder)
    before = _content(folder)
    out, err = io.StringIO(), io.StringIO()
    code, wrong = None, ""
    here = os.getcwd()
    try:
        os.chdir(folder)  # names without a folder land here
        with _limited(TIME_LIMIT), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(case.words)
    except TooLong:
        wrong = "it did not end"
    except BaseException as error:  # noqa: BLE001 - whatever gets out is what is looked for
        wrong = "".join(traceback.format_exception(error))
    finally:
        os.chdir(here)
    listing = case.words[:1] == ["inspect"]  # it may name several problems, one in a line
    wrong = wrong or _wrong_end(code, out.getvalue(), err.getvalue(), listing)
    wrong = wrong or _wrong_files(case, code, before, _content(folder))
    return Ended(maker.__name__, code, f"{wrong}\n{case.words}" if wrong else "")


def campaign(
    runs: int, seed: int = 0, first: int = 0, keep: Path | None = None
) -> Iterator[tuple[int, Ended]]:
    """Yield the number and the end of every run."""
    with tempfile.TemporaryDirectory() as home:
        whole, folder = Path(home, "whole"), keep or Path(home, "run")
        whole.mkdir()
        whole_files(whole)
        for number in range(first, first + runs):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            yield number, run(whole, folder, seed, number)


def _wrong_end(code: int | None, out: str, err: str, listing: bool) -> str:
    if "Traceback" in err or "Traceback" in out:
        return f"a traceback: {err}"
    if code not in (0, 2):
        return f"exit code {code}: {err}"
    lines = [line for line in err.splitlines() if not line.startswith(PROGRESS)]
    clear = bool(lines) and all(line.startswith("error: ") for line in lines)
    if code == 2 and not (clear and (listing or len(lines) == 1)):
        return f"not one clear line: {err!r}"
    return ""


def _wrong_files(
    case: Case, code: int | None, before: dict[str, str], after: dict[str, str]
) -> str:
    """Say what is wrong with the files that a run left."""
    gone = [name for name in before if after.get(name) != before[name]]
    new = [name for name in after if name not in before]
    if code == 2 and (gone or new):
        return f"changed although it failed: {gone}, {new}"
    if case.leaves == ("*",):
        return ""
    strange = [name for name in new if name.split("/")[0] not in case.leaves]
    if gone or strange:
        return f"changed: {gone}, left behind: {strange}"
    folder = [name for name in new if name.startswith("new/") and name.count("/") == 1]
    if code == 0 and "new" in case.leaves and f"new/{MANIFEST}" not in folder:
        return f"half a folder: {folder}"
    return ""


def _content(folder: Path) -> dict[str, str]:
    """Return a digest of every file, and the names of the folders, but for those of SQLite."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")
        if name.endswith(("-wal", "-shm")):
            continue
        if path.suffix == ".sqlite":  # opening one may bring its log into it
            found[name] = "store"
        elif path.is_file():
            found[name] = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        else:
            found[name] = "folder"
    return found


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--keep", type=Path, help="folder for the files of the last run")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    failures = 0
    for number, ended in campaign(given.runs, given.seed, given.first, given.keep):
        if ended.wrong:
            failures += 1
            print(f"run {number}, {ended.case}: {ended.wrong}", flush=True)
        if (number + 1 - given.first) % 500 == 0:
            gc.collect()
            print(f"{number + 1 - given.first} runs, {failures} failures", flush=True)
    print(f"{given.runs} runs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
