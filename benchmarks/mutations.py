"""Mutations: changes of the default that the golden test must notice.

    python -m benchmarks.mutations                    all, one after the other: about 10 minutes
    python -m benchmarks.mutations epsilon rounds     those whose name holds one of the words
    python -m benchmarks.mutations --suite places     also the tests of the room that it touches

Each, of those in mutations.toml, replaces one piece of text in a copy of the source and runs
``tests/golden`` there: first the fits, until one fails, and if none does the settings. A mutation
whose text the source does not hold exactly once is stale: adapt it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/nodecopy")
# What fits import; loading it takes longer than a small fit.
LIBRARIES = [
    "pandas",
    "pytest",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.isotonic",
    "sklearn.linear_model",
    "torch",
]


class Mutation(NamedTuple):
    """A change of the source: in one file, one text in place of another."""

    name: str
    file: str
    old: str
    new: str


MUTATIONS = tuple(
    Mutation(name, file, *texts)
    for file, held in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
    for name, texts in held.items()
)


def main() -> None:
    """Try the mutations and print a table; exit with 1 if one survives or is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of the names of mutations; all by default")
    parser.add_argument("--suite", action="store_true", help="also run the tests of the room")
    given = parser.parse_args()
    chosen = [m for m in MUTATIONS if not given.words or any(w in m.name for w in given.words)]
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, copy / part)
        shutil.copy(ROOT / "pyproject.toml", copy)
        if failure := _failure(copy, "tests/golden", ""):
            sys.exit(f"without any mutation, {failure}")
        for mutation in chosen:
            caught = _tried(copy, mutation, given.suite)
            survived += not caught
            print(f"{mutation.name:36}{caught or 'SURVIVED'}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} caught")
    sys.exit(bool(survived))


def _tried(copy: Path, mutation: Mutation, suite: bool) -> str:
    """Return what noticed a mutation; empty where nothing did."""
    path = copy / PACKAGE / mutation.file
    before = path.read_text(encoding="utf-8")
    if before.count(mutation.old) != 1:
        print(f"stale: {mutation.file} holds {mutation.old!r} {before.count(mutation.old)} times")
        return ""
    path.write_text(before.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        runs = [("tests/golden", "fits"), ("tests/golden", "settings")]
        room = Path("tests", Path(mutation.file).parts[0])
        if suite and (copy / room).is_dir():
            runs.append((str(room), ""))
        failures = (_failure(copy, *run) for run in runs)
        return next(filter(None, failures), "")
    finally:
        path.write_text(before, encoding="utf-8")


def _failure(copy: Path, tests: str, word: str) -> str:
    """Return the first test that fails, and what differs; empty if all pass.

    In a process that has loaded all libraries, but not the package.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    with context.Pool(1) as pool:
        return pool.apply(_first_failure, (copy, tests, word))


def _first_failure(copy: Path, tests: str, word: str) -> str:
    import pytest

    sys.path[:0] = [str(copy / "src"), str(copy)]
    os.chdir(copy)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "-x", "-p", "pytest_timeout", "-p", "no:cacheprovider", "-k", word]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        failed = pytest.main([*options, tests])
    if not failed:
        return ""
    name = re.search(r"^FAILED \S*::(\S+)", output.getvalue(), re.MULTILINE)
    why = re.search(r"^E +(.*)", output.getvalue(), re.MULTILINE)
    return f"{name[1] if name else 'an error'}: {why[1][:110] if why else output.getvalue()[-200:]}"


if __name__ == "__main__":
    main()
