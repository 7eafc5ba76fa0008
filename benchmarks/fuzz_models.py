"""Damaged model files, read in Python and asked everything: an answer or one clear line.

    nice -n 10 python -m benchmarks.fuzz_models --runs 3000 [--seed 0]

A third of the files has a flipped bit, and must be refused or predict the same. The others are
crafted: a changed setting or array, with the checksum of what they hold. They must be refused with
one line or answer with probabilities.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors import SafetensorError

from benchmarks.fuzz_cases import mutated_json, odd_array, read_model, write_model
from nodecopy import NodeCopyClassifier, planted_partition
from nodecopy.core.errors import NodecopyError

DATA = planted_partition(60, 3, seed=0)


def campaign(runs: int, seed: int = 0) -> Iterator[tuple[int, str, str]]:
    """Yield the number of every run, how it ended ("answer" or "refused"), and what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        whole, path = Path(folder, "whole"), Path(folder, "damaged")
        y = np.where(np.arange(60) < 12, DATA.labels, -1)
        clf = NodeCopyClassifier(folds=2, random_state=0).fit(DATA.graph, DATA.features, y)
        clf.save(whole)
        for number in range(runs):
            rng = random.Random(f"{seed}/{number}")
            flipped = rng.random() < 1 / 3
            if flipped:
                content = bytearray(whole.read_bytes())
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
                path.write_bytes(content)
            else:
                _craft(rng, whole, path)
            yield number, *_asked(path, clf.predict_proba() if flipped else None)


def _craft(rng: random.Random, whole: Path, path: Path) -> None:
    """Write a model with a setting or an array changed."""
    settings, arrays = read_model(whole)
    if rng.random() < 0.5:
        settings = settings | {"value": mutated_json(rng, settings["value"])}
    else:
        name = rng.choice(sorted(arrays))
        arrays = arrays | {name: odd_array(rng, arrays[name])}
    # What safetensors does not write cannot come out of such a file either.
    with contextlib.suppress(SafetensorError):
        write_model(path, settings, arrays)


def _asked(path: Path, expected: np.ndarray | None) -> tuple[str, str]:
    """Return how questions to a model end, and what is wrong with that."""
    try:
        clf = NodeCopyClassifier.load(path)
        p = clf.predict_proba()
        for answer in (clf.predict, clf.predict_set, clf.estimated_accuracy, clf.suspect_labels):
            answer()
        there = clf.predict_on(DATA.graph, DATA.features).probabilities
        if not all(np.isfinite(one).all() and np.allclose(one.sum(1), 1) for one in (p, there)):
            return "answer", "probabilities that do not add up to one"
        if expected is not None and not np.array_equal(p, expected):
            return "answer", "other predictions"
    except NodecopyError as error:
        several = len(str(error).splitlines()) != 1
        return "refused", f"not one line: {error}" if several else ""
    except Exception as error:  # noqa: BLE001 - whatever gets out is what is looked for
        return "error", "".join(traceback.format_exception(error)[-3:])
    return "answer", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    ends: Counter[str] = Counter()
    for number, end, wrong in campaign(given.runs, given.seed):
        ends["wrong" if wrong else end] += 1
        if wrong:
            print(f"run {number}: {wrong}", flush=True)
    print(dict(ends))
    return 1 if ends["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
