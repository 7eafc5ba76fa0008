"""What the report says, section by section; `markdown` and `html` write the same contents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nodecopy.report.agreement import ALPHA, Agreement, Verdict, compare_with_paper, count_verdicts
from nodecopy.report.drawing import Drawing
from nodecopy.report.figures import figure_1, overview_figure, reliability_figure
from nodecopy.report.paired import REFERENCE, paired_tables
from nodecopy.report.study import SPLITS, CellKey, Study
from nodecopy.report.tables import (
    accuracy_tables,
    cost_table,
    disagreement_table,
    provenance_table,
    score_tables,
)
from nodecopy.report.text_table import TextTable

TITLE = "Bayesian GCN by node copying: the paper's experiments, run again"


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, then figures, then tables."""

    title: str
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Drawing, ...] = ()
    tables: tuple[TextTable, ...] = ()


def report_sections(study: Study) -> list[Section]:
    """Return the whole report."""
    agreements = compare_with_paper(study)
    return [
        Section(
            "In short", tuple(summary(study, agreements)), (overview_figure(study, agreements),)
        ),
        _accuracy(study, agreements),
        _degree(study),
        _paired(study),
        _calibration(study),
        _cost(study),
        _provenance(study),
    ]


def summary(study: Study, agreements: Mapping[CellKey, Agreement]) -> list[str]:
    """Return the result in sentences: how many published cells agree, over all and by method."""
    gcn, copying = study.method_title("gcn"), study.method_title(REFERENCE)
    two = [cell for cell in agreements.values() if cell.key.method in ("gcn", REFERENCE)]
    early = sum(cell.test is not None and cell.test.p < ALPHA for cell in agreements.values())
    tested = sum(cell.test is not None for cell in agreements.values())
    return [
        f"Of the paper's {len(agreements)} cells: {_counts(agreements.values())}.",
        f"Of the {len(two)} cells of {gcn} and {copying}: {_counts(two)}.",
        f"Before the correction for {len(agreements)} tests, {early} of {tested} tested cells "
        f"differ at the {ALPHA * 100:.0f} % level; chance alone would give about "
        f"{tested * ALPHA:.1f}.",
    ]


def _counts(cells: Iterable[Agreement]) -> str:
    counts = count_verdicts(cells)
    words = {
        Verdict.AGREES: "agree",
        Verdict.HIGHER: "higher",
        Verdict.LOWER: "lower",
        Verdict.UNTESTED: "with one trial only",
        Verdict.NOT_RUN: "not run",
    }
    always = (Verdict.AGREES, Verdict.HIGHER, Verdict.LOWER)
    said = [f"{counts[v]} {word}" for v, word in words.items() if counts[v] or v in always]
    return ", ".join(said)


def _accuracy(study: Study, agreements: Mapping[CellKey, Agreement]) -> Section:
    differing = disagreement_table(study, agreements)
    found = any(block.rows for block in differing.blocks)
    return Section(
        "Accuracy: Tables 1-3",
        (
            "Each cell: our mean ± standard deviation over the trials; the paper's mean ± standard "
            "deviation over 50 trials; the difference of the means; the standard error (se) of our "
            "mean and the number of trials (n). BGCN (MMSBM) stands beside the paper's "
            "BGCN, BGCN (node copying) beside its BGCN (ours); rows without a paper's value are "
            "further methods. How long to train (all but GAT) and which block model to compare "
            "were chosen by agreement with these tables, which makes agreement less of a finding.",
            "✓ agrees: no significant difference. ▲ higher, ▼ lower: a significant difference by "
            "Welch's t-test from the published mean, deviation and n = 50, after Holm's correction "
            f"for {len(agreements)} cells, at the {ALPHA * 100:.0f} % level. ? untested: one trial "
            "only. Agreement means that no difference was found, and fewer trials find fewer.",
            "The cells that differ are listed below the tables."
            if found
            else "No cell differs from the paper's.",
        ),
        tables=(*accuracy_tables(study, agreements), *((differing,) if found else ())),
    )


def _degree(study: Study) -> Section:
    figures = tuple(figure for split in SPLITS if (figure := figure_1(study, split)))
    missing = () if figures else (f"No trial of {study.method_title(REFERENCE)} was run.",)
    return Section("Figure 1: whom node copying corrects", missing, figures)


def _paired(study: Study) -> Section:
    tables = tuple(paired_tables(study))
    name = study.method_title(REFERENCE)
    text = (
        f"Difference in accuracy, {name} minus the row's method, in percentage points, over trials "
        "with the same seed and so the same split. ▲ better, ▼ worse: significant by Wilcoxon's "
        f"signed-rank test after Holm's correction for all comparisons here, at the "
        f"{ALPHA * 100:.0f} % level. Below: the corrected p, and in how many trials the accuracy "
        "was better, equal and worse."
    )
    return Section("Paired comparisons", (text if tables else "There are no pairs.",), (), tables)


def _calibration(study: Study) -> Section:
    figure = reliability_figure(study)
    text = (
        "Means over the trials. NLL: negative log-likelihood in nats; ECE: expected calibration "
        "error, 15 bins of equal width; Brier score, summed over classes; error AUROC: how well "
        "1 - confidence tells wrong nodes from right ones. All but the last: smaller is better."
    )
    figures = (figure,) if figure else ()
    return Section("Probabilities", (text,), figures, tuple(score_tables(study)))


def _cost(study: Study) -> Section:
    text = (
        "CPU time of fitting and predicting on one thread, mean over the trials of all splits and "
        "label counts; peak memory of the process, the largest of all trials."
    )
    return Section("Cost", (text,), (), (cost_table(study),))


def _provenance(study: Study) -> Section:
    text = "Every number above is computed from the rows of these trials."
    return Section("Provenance", (text,), (), (provenance_table(study),))
