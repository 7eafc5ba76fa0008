"""List the tests that were skipped; fail on a reason that is not allowed.

    python .ci/skipped.py REPORT.xml [REASON ...]     (further reasons that are allowed here)

REPORT.xml is what ``pytest --junitxml=REPORT.xml`` writes.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

# A missing package is not a reason: `make test` installs them all.
# The language model is large, and tests of what is done with it take a stub.
ALLOWED = {"needs a CUDA device", "only Linux can forget a peak", "needs nodecopy[text]"}


def main(report: str, *also_allowed: str) -> int:
    """Print how often each reason occurs and return the exit code."""
    skipped = ElementTree.parse(report).getroot().iter("skipped")
    reasons = Counter(s.get("message", "") for s in skipped if s.get("type") != "pytest.xfail")
    print(f"== {reasons.total()} tests skipped")
    refused = set(reasons) - ALLOWED - set(also_allowed)
    for reason, count in sorted(reasons.items()):
        print(f"{count:5d}  {reason}" + ("  (not allowed)" if reason in refused else ""))
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
