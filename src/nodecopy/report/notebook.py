"""The page of a fit that was made in Python, in a file and in a notebook."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from nodecopy.data import NodeDataset
from nodecopy.data.structural import NO_FEATURES
from nodecopy.estimator import NodeCopyClassifier
from nodecopy.files import write_whole
from nodecopy.report.page import report_page
from nodecopy.run import FitSettings
from nodecopy.run.fit import analyse_fit
from nodecopy.tables import TableDataset


@dataclass(frozen=True)
class Report:
    """A page that was written; a notebook shows it.

    Attributes:
        path: of the file.
    """

    path: Path
    _html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """Return the page in a frame: it needs nothing else."""
        style = "width: 100%; height: 800px; border: 1px solid #8888"
        return f'<iframe srcdoc="{escape(self._html)}" style="{style}"></iframe>'


def write_report(classifier: NodeCopyClassifier, path: str | os.PathLike[str]) -> Report:
    """Write the page of a fitted classifier, the one that `nodecopy fit` writes."""
    prior, state = classifier.class_prior, classifier.random_state
    settings = FitSettings(
        edges="fitted in Python",  # what the page names as its source
        method=classifier.method if isinstance(classifier.method, str) else "best",
        calibrate=classifier.calibrate,
        folds=classifier.folds,
        class_prior=prior if isinstance(prior, str) else "labels",  # known, in any case
        random_state=int(state) if isinstance(state, (int, np.integer)) else 0,
    )
    page = report_page(analyse_fit(settings, _table(classifier), classifier))
    write_whole(Path(path), page.encode())
    return Report(Path(path), page)


def _table(classifier: NodeCopyClassifier) -> TableDataset:
    """Return the nodes of a fit as if they had been read from files."""
    nodes = classifier.nodes_
    names = nodes.names.named(np.arange(nodes.graph.num_nodes)).tolist()
    classes = tuple(map(str, classifier.classes_.tolist()))
    dataset = NodeDataset("python", nodes.graph, nodes.compared, nodes.labels.numbers, classes)
    return TableDataset(
        dataset,
        np.array([str(name) for name in names], object),
        () if nodes.encoder is None else nodes.encoder.feature_names,
        () if nodes.hubs is None else (NO_FEATURES,),
        encoder=nodes.encoder,
        kinds=dict(nodes.kinds),
        suggested=nodes.suggested,
    )
