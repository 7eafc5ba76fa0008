"""Write what the default computes today to ``expected.json``: the golden test compares with it.

    python -m tests.golden.regenerate --reason "Three folds in place of five"

The reason goes into the file, so that the commit shows it. What differs is printed first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.graphs import GRAPHS
from tests.golden.reading import METHODS, fitted, settings

EXPECTED = Path(__file__).with_name("expected.json")
# Probabilities may differ by as much on another processor: with other vector instructions they did
# by 2e-5. Quantiles and temperatures of flat likelihoods follow them less closely.
_PROBABILITY, _OTHER = 1e-4, 1e-3
_PROBABILITIES = ("probabilities", "weights", "graph_information", "model_information", "accuracy")
_DIGITS = 6
# Dense columns are nothing special to the paper's method.
CASES = [(m, graph) for graph in GRAPHS for m in METHODS if (m, graph) != ("paper", "numeric")]


def expected() -> dict[str, Any]:
    """Return what the file holds."""
    return json.loads(EXPECTED.read_text(encoding="utf-8"))


def numbers_of(method: str, graph: str) -> dict[str, Any]:
    """Return the numbers of a fit; those of trust on the small graphs only."""
    return fitted(method, GRAPHS[graph](), trust=graph != "cora")


def differences(golden: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a line for each value that is another, or a number further off than its tolerance."""
    lines = [f"{name} is {'new' if name in now else 'gone'}" for name in golden.keys() ^ now.keys()]
    for name in golden.keys() & now.keys():
        before, after = golden[name], now[name]
        if isinstance(before, dict) and before.keys() == after.keys():
            before, after = list(before.values()), [after[key] for key in before]
        if not _numeric(before) or not _numeric(after) or np.shape(before) != np.shape(after):
            if not np.array_equal(before, after):
                lines.append(f"{name}: {before} became {after}")
            continue
        differ = np.not_equal(before, after)  # two infinite thresholds do not
        off = np.subtract(before, after, out=np.zeros(differ.shape), where=differ, dtype=float)
        off = float(np.abs(off).max(initial=0.0))
        allowed = _PROBABILITY if name in _PROBABILITIES else _OTHER
        if not off <= allowed:
            lines.append(f"{name}: off by {off:.2g}, at most {allowed:g} is allowed")
    return sorted(lines)


def main() -> None:
    """Compute everything, print what differs, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reason", required=True, help="why the default is to differ")
    reason = parser.parse_args().reason.strip()
    if len(reason.split()) < 2:
        parser.error("say in a few words why the default is to differ")
    before = expected() if EXPECTED.exists() else {"history": [], "settings": {}, "fits": {}}
    history = [*before["history"], reason]
    now = {
        "history": {str(number): text for number, text in enumerate(history)},
        "settings": {method: settings(method) for method in METHODS},
        "fits": {f"{m} on {graph}": numbers_of(m, graph) for m, graph in CASES},
    }
    for part in ("settings", "fits"):
        for name, values in now[part].items():
            for line in differences(before[part].get(name, {}), values):
                print(f"{name}: {line}")
    EXPECTED.write_text(_written(now | {"history": history}) + "\n", encoding="utf-8")


def _numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "if"


def _written(value: Any, depth: int = 0) -> str:
    """Return JSON with a line for each setting, reason and array."""
    inner = "\n" + " " * (depth + 1)
    if isinstance(value, dict) and value and depth < 3:
        lines = (f"{json.dumps(k)}: {_written(v, depth + 1)}" for k, v in value.items())
        return "{" + inner + f",{inner}".join(lines) + "\n" + " " * depth + "}"
    return json.dumps(_rounded(value), ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return round(value, _DIGITS) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
