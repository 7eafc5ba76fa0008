"""Say how many tests were skipped and why; fail on a reason that is not known.

    python .ci/skipped.py REPORT.xml present|absent     (whether there is a browser)

REPORT.xml is what ``pytest --junitxml=REPORT.xml`` writes.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

# Every reason for which a test may be skipped. That a package is missing is not among them: `make
# test` installs them all.
KNOWN = {
    "needs a CUDA device",
    "only Linux can forget a peak",
    "the original Planetoid files are not here",
    "this system cannot exchange two names",
}
# Likewise, but only where no browser can be installed.
BROWSER = {"Chromium and its driver are not installed", "Chromium is not installed"}


def skipped(report: Path) -> Counter[str]:
    """Return how often each reason occurs in a report; an expected failure is no skip."""
    found = ElementTree.parse(report).getroot().iter("skipped")
    return Counter(one.get("message", "") for one in found if one.get("type") != "pytest.xfail")


def main(report: str, browser: str) -> int:
    """Print the reasons and return the exit code."""
    known = KNOWN | BROWSER if browser == "absent" else KNOWN
    reasons = skipped(Path(report))
    print(f"== {sum(reasons.values())} tests skipped")
    for reason, count in sorted(reasons.items()):
        print(f"{count:5d}  {reason}" + ("" if reason in known else "  (an unknown reason)"))
    return int(not set(reasons) <= known)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
