"""A real graph of a million nodes: Debian's packages, their folders and their shared file names.

    OMP_NUM_THREADS=1 python -m benchmarks.debian [--lists FOLDER] [--labels 20] [--trials 3]

Needs apt, which brings the lists of packages and of their files (55 MB) for the release that this
system is. Nodes are packages, folders, and names of files that several packages have; a package is
tied to what it depends on, to folders it puts files in and to names of its files, a folder to the
one it is in. Features are words: of a package's name and short description, of a folder's or file's
name, hashed to 4,096 columns. The label of a package is its section; a few of each are known, the
other packages are the test. Folders and names have no label. The peers: scikit-learn's logistic
regression on the words, and on three hops of PyTorch Geometric's SIGN of 128 components of them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.decomposition import TruncatedSVD

from benchmarks.measure import (
    cpu_seconds,
    environment,
    fit_regression,
    forget_peak,
    peak_gibibytes,
    sign_hops,
)
from nodecopy import NodeCopyClassifier
from nodecopy.core.metrics import Scores, score_predictions
from nodecopy.graph import Graph

COLUMNS, COMPONENTS, LEAST = 4096, 128, 200
# Lists of files are not fetched by every apt; a target of its own makes any do so.
TARGET = """Acquire::IndexTargets::deb::Contents-deb {
  MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; ShortDescription "Contents-$(ARCHITECTURE)";
  Description "Contents"; KeepCompressed "true"; DefaultEnabled "true"; };
"""


class Packages(NamedTuple):
    """The graph, the words of its nodes [N, 4,096], and the section of packages, -1 elsewhere."""

    graph: Graph
    words: sp.csr_array
    sections: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lists", type=Path, help="where apt keeps lists; fetched if missing")
    parser.add_argument("--labels", type=int, default=20, help="known packages of each section")
    parser.add_argument("--trials", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("torch", "numpy", "scipy", "torch_geometric", "scikit-learn"))
    with tempfile.TemporaryDirectory() as folder:
        packages = read_packages(fetched(chosen.lists or Path(folder)))
    graph = packages.graph
    print(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges")
    sections = packages.sections.max() + 1
    print(f"{sections} sections of at least {LEAST} packages, {chosen.labels} known each")
    words, truth = packages.words, packages.sections
    for trial in range(chosen.trials):
        known = some_of_each(packages.sections, chosen.labels, trial)
        show("nodecopy", *default(packages, known, trial))
        show("logistic regression", *fit_regression(lambda: words, known, truth))
        show(
            "SIGN, 3 hops",
            *fit_regression(lambda: sign_hops(graph, components(words)), known, truth),
        )


def fetched(lists: Path) -> Path:
    """Let apt bring its lists, with those of files, into a folder; one that has them stays."""
    if not any(lists.glob("*_Contents-*")):
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        config = lists / "contents.conf"
        config.write_text(TARGET)
        command = ["apt-get", "-q", "-c", str(config), "-o", f"Dir::State::Lists={lists}"]
        subprocess.run([*command, "update"], check=True, timeout=600, stdout=subprocess.DEVNULL)
    return lists


def lines_of(lists: Path, pattern: str) -> Iterator[str]:
    """Yield the lines of every list whose name fits, unpacked by apt."""
    for file in sorted(lists.glob(pattern)):
        command = ["/usr/lib/apt/apt-helper", "cat-file", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as reading:
            assert reading.stdout is not None
            for line in reading.stdout:
                yield line.decode("utf-8", "replace").rstrip("\n")


def read_packages(lists: Path) -> Packages:
    """Make the graph of what the lists name."""
    fields = described(lists)
    packages = {name: number for number, name in enumerate(fields)}
    needs = [
        (name, other)
        for name, one in fields.items()
        for key in ("Depends", "Pre-Depends", "Recommends")
        for other in names_in(one.get(key, ""))
    ]
    folders: dict[str, int] = {}
    shipped, names = set(), {}
    for path, owners in contents(lists):
        folder, _, name = path.rpartition("/")
        own = [packages[owner] for owner in owners if owner in packages]
        for owner in own:
            shipped.add((owner, folders.setdefault(folder, len(folders))))
            names.setdefault(name, set()).add(owner)
    inside = []
    for folder in list(folders):  # with all that they are in
        while above := folder.rpartition("/")[0]:
            new = above not in folders
            inside.append((folders[folder], folders.setdefault(above, len(folders))))
            if not new:
                break
            folder = above
    shared = {name: owners for name, owners in names.items() if len(owners) > 1}
    p, f = len(packages), len(packages) + len(folders)
    edges = chain(
        ((packages[a], packages[b]) for a, b in needs if b in packages),
        ((a, p + b) for a, b in shipped),
        ((p + a, p + b) for a, b in inside),
        ((a, f + number) for number, owners in enumerate(shared.values()) for a in owners),
    )
    nodes = f + len(shared)
    graph = Graph.from_edges(nodes, np.array(sorted({(a, b) for a, b in edges if a != b})))
    texts = [f"{name} {one.get('Description', '')}" for name, one in fields.items()]
    words = hashed(chain(texts, (folder.rpartition("/")[2] for folder in folders), shared))
    sections = [one.get("Section", "") for one in fields.values()]
    often = Counter(sections)
    kept = sorted(section for section, count in often.items() if count >= LEAST)
    label = {section: number for number, section in enumerate(kept)}
    known = np.full(nodes, -1)
    known[:p] = [label.get(section, -1) for section in sections]
    return Packages(graph, words, known)


def described(lists: Path) -> dict[str, dict[str, str]]:
    """Return the fields of each package."""
    packages: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in lines_of(lists, "*_main_binary-*_Packages*"):
        key, _, value = line.partition(": ")
        if key == "Package":
            current = packages.setdefault(value, {})
        elif not line.startswith(" "):
            current.setdefault(key, value)
    return packages


def names_in(value: str) -> list[str]:
    """Return the packages that a field names."""
    return re.findall(r"(?:^|[,|])\s*([^\s,|:(]+)", value)


def contents(lists: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each file and the packages that have it."""
    for line in lines_of(lists, "*_main_Contents-*"):
        path, _, owners = line.rpartition(" ")
        yield path.rstrip(), [owner.rpartition("/")[2] for owner in owners.split(",")]


def hashed(texts: Iterable[str]) -> sp.csr_array:
    """Return which words of a text are there, hashed [N, 4,096]."""
    columns: list[int] = []
    ends = [0]
    for text in texts:
        words = set(re.findall(r"[^\W\d_]{2,}", text.casefold()))
        columns += sorted({zlib.crc32(word.encode()) % COLUMNS for word in words})
        ends.append(len(columns))
    shape = len(ends) - 1, COLUMNS
    return sp.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=shape)


def some_of_each(sections: np.ndarray, count: int, trial: int) -> np.ndarray:
    """Return labels of a few packages of each section, -1 elsewhere."""
    rng, known = np.random.default_rng(trial), np.full(len(sections), -1)
    for k in range(sections.max() + 1):
        known[rng.choice(np.flatnonzero(sections == k), count, replace=False)] = k
    return known


def default(packages: Packages, known: np.ndarray, trial: int) -> tuple[Scores, float, float]:
    forget_peak()
    clf = NodeCopyClassifier(random_state=trial, progress=False)
    seconds = cpu_seconds(lambda: clf.fit(packages.graph, packages.words, known))
    test = np.flatnonzero((packages.sections >= 0) & (known < 0))
    scores = score_predictions(clf.predict_proba()[test], packages.sections[test])
    return scores, seconds, peak_gibibytes()


def components(words: sp.csr_array) -> np.ndarray:
    """Return 128 components of the words: all of them on three hops would take 70 GB."""
    few: np.ndarray = TruncatedSVD(COMPONENTS, random_state=0).fit_transform(words)
    return few


def show(name: str, scores: Scores, seconds: float, memory: float) -> None:
    print(
        f"  {name:20} accuracy {scores.accuracy:6.1%}  ECE {scores.ece_width:5.1%}  "
        f"{seconds:7.1f} CPU s  {memory:5.1f} GiB",
        flush=True,
    )


if __name__ == "__main__":
    main()
