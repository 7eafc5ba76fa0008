"""Paired comparisons: node copying against every other method, trial by trial on the same seeds.

Trials with one seed see the same split, so their difference is free of how hard the split was.
"""

from __future__ import annotations

from nodecopy.report.agreement import ALPHA
from nodecopy.report.statistics import SignedRankTest, holm, signed_rank_test
from nodecopy.report.study import CellKey, Study, dataset_title
from nodecopy.report.tables import dataset_tables
from nodecopy.report.text_table import TextCell, TextTable, p_text, signed

REFERENCE = "copying"


def paired_tests(study: Study) -> dict[CellKey, tuple[SignedRankTest, float]]:
    """Return the test of node copying - method, and its corrected p, for every cell of a method.

    Wilcoxon's signed-rank test on accuracy in per cent; Holm's correction over all of them.
    """
    tests = {}
    for key in study.cells:
        own, other = study.accuracy(key._replace(method=REFERENCE)), study.accuracy(key)
        seeds = sorted(own.keys() & other.keys())
        if key.method != REFERENCE and seeds:
            pairs = [own[seed] for seed in seeds], [other[seed] for seed in seeds]
            tests[key] = signed_rank_test(*pairs)
    adjusted = holm([test.p for test in tests.values()])
    return {key: (tests[key], p) for key, p in zip(tests, adjusted, strict=True)}


def paired_tables(study: Study) -> list[TextTable]:
    """Return the comparisons, a table per dataset."""
    cells = {key: _difference(*test) for key, test in paired_tests(study).items()}
    name = study.method_title(REFERENCE)
    return dataset_tables(
        study,
        cells,
        lambda dataset: f"{dataset_title(dataset)}: accuracy of {name} minus that of …",
    )


def _difference(test: SignedRankTest, adjusted_p: float) -> TextCell:
    score = f"{test.wins} better, {test.ties} equal, {test.losses} worse"
    notes = (p_text(adjusted_p), score)
    if adjusted_p >= ALPHA:
        return TextCell(signed(test.difference), notes)
    symbol, mark = ("▲", "higher") if test.difference > 0 else ("▼", "lower")
    return TextCell("", notes, f"{symbol} {signed(test.difference)}", mark)
