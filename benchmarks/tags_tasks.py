"""Tables with several tags per node: three synthetic ones, films by genre, Debian's programs.

Settings may be chosen on the synthetic tasks and on films (`DEVELOPMENT`); Debian's tags are for
judgement. Films come from bokeh_sampledata (BSD-3-Clause), fetched once by regret_tasks.py, tags of
programs from the lists that apt keeps (debtags). Nothing of them is in this repository.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp

from benchmarks.debian import lines_of, names_in
from benchmarks.debian_tables import LISTS, TOPICS
from benchmarks.regret_graphs import NODES, Table, nearest
from benchmarks.regret_tasks import BOKEH, database, packages, sharing
from nodecopy.core.rng import stream

Generator = np.random.Generator
# The facets of debtags that say what a program is for and how it is used.
FACETS = ("admin", "field", "game", "interface", "network", "uitoolkit", "use", "works-with")
# Nodes that a tag of a real table has at least.
LEAST = 30


def communities(rng: Generator) -> Table:
    """Overlapping communities: a node is in one to three of eight, and tied to their nodes.

    Words say a little about each community.
    """
    tags = np.zeros((NODES, 8), bool)
    for row, count in zip(tags, rng.choice([1, 2, 3], NODES, p=[0.5, 0.3, 0.2]), strict=True):
        row[rng.choice(8, count, replace=False)] = True
    members = [np.flatnonzero(column) for column in tags.T]
    source = np.repeat(np.arange(NODES), 3)
    chosen = np.array([rng.choice(np.flatnonzero(tags[node])) for node in source])
    inside = np.array([rng.choice(members[tag]) for tag in chosen])
    target = np.where(rng.random(len(source)) < 0.75, inside, rng.integers(NODES, size=len(source)))
    return Table(np.stack([source, target], 1), _words(tags, rng), tags)


def from_columns(rng: Generator) -> Table:
    """Six tags that depend on columns, some of them not linearly; edges are at random."""
    x = rng.normal(size=(NODES, 12))
    score = x[:, :6] + 0.7 * np.roll(x[:, :6], 1, axis=1)
    score[:, 3:] += x[:, 6:9] * x[:, 9:12]
    score += 0.5 * rng.normal(size=score.shape)
    tags = (
        score > np.quantile(score, 1 - np.array([0.5, 0.3, 0.2, 0.3, 0.2, 0.1]), axis=0).diagonal()
    )
    edges = rng.integers(NODES, size=(3 * NODES, 2))
    return Table(edges, pd.DataFrame(x).add_prefix("c"), tags)


def correlated(rng: Generator) -> Table:
    """Ten tags of 3 to 12 % of the nodes, which follow from four shared factors."""
    place = rng.normal(size=(NODES, 4))
    loading = rng.normal(size=(4, 10)) * (rng.random((4, 10)) < 0.5) + 0.1
    score = place @ loading + 0.6 * rng.normal(size=(NODES, 10))
    tags = score > np.quantile(score, 1 - np.linspace(0.03, 0.12, 10), axis=0).diagonal()
    edges = nearest(place + 0.5 * rng.normal(size=place.shape), 3)
    columns = np.hstack([place, rng.normal(size=(NODES, 4))]) + 0.8 * rng.normal(size=(NODES, 8))
    return Table(edges, pd.DataFrame(columns).add_prefix("c"), tags)


def _words(
    tags: np.ndarray, rng: Generator, vocabulary: int = 300, count: int = 12
) -> sp.csr_array:
    """Return words of each node, a fifth of them typical of one of its tags [N, D]."""
    typical = rng.integers(vocabulary, size=(tags.shape[1], 15))
    rows = np.repeat(np.arange(len(tags)), count)
    columns = rng.integers(vocabulary, size=len(rows))
    for at in np.flatnonzero(rng.random(len(rows)) < 0.2):
        columns[at] = rng.choice(typical[rng.choice(np.flatnonzero(tags[rows[at]]))])
    words = sp.coo_array((np.ones(len(rows), np.float32), (rows, columns)))
    words.resize(len(tags), vocabulary)
    return (words.tocsr() > 0).astype(np.float32)


@cache
def films() -> Table:
    """Films tied by director and writer; tags are their genres."""
    query = (
        "select Title, Year, Runtime, Genre, Director, Writer, Language, Country, Meter, Reviews "
        "from omdb join tomatoes using (ID) where Genre != '' and Country != ''"
    )
    data = database(BOKEH, "bokeh_sampledata/_data/movies.db", query)
    tags = data["Genre"].str.get_dummies(", ").astype(bool)
    edges = sharing(data["Director"], 1) + sharing(data["Writer"], 1)
    columns = data.drop(columns=["Genre", "Writer", "Director"])
    return _sampled(np.array(edges), columns, tags, BOKEH)


@cache
def debian() -> Table:
    """Debian's programs that have tags, tied by dependencies."""
    data = pd.DataFrame(packages()).T
    tags = pd.Series(_debtags(), dtype=object)
    data = data[data["Section"].isin(TOPICS) & data.index.isin(tags.index)]
    indicator = tags[data.index].str.join("|").str.get_dummies("|").astype(bool)
    needs = data["Depends"].fillna("") + ", " + data["Recommends"].fillna("")
    named = [(name, other) for name, text in needs.items() for other in names_in(text)]
    ends = np.array([data.index.get_indexer(end) for end in zip(*named, strict=True)]).T
    columns = data[["Description", "Priority"]].assign(size=data["Installed-Size"].astype(float))
    edges = ends[(ends >= 0).all(1)]
    return _sampled(edges, columns.reset_index(drop=True), indicator, "apt lists of this system")


def _debtags() -> dict[str, list[str]]:
    """Return the tags of each package, of the facets above; a field may go on over lines."""
    tags: dict[str, list[str]] = {}
    name, inside = "", False
    for line in lines_of(LISTS, "*_main_binary-*_Packages*"):
        key, _, value = line.partition(": ")
        if key == "Package":
            name = value
        inside = key == "Tag" or (inside and line.startswith(" "))
        if inside:
            listed = [one.strip() for one in (value if key == "Tag" else line).split(",")]
            kept = [one for one in listed if one.partition("::")[0] in FACETS and "TODO" not in one]
            tags[name] = list(dict.fromkeys([*tags.get(name, []), *kept]))
    return tags


def _sampled(edges: np.ndarray, columns: pd.DataFrame, tags: pd.DataFrame, source: str) -> Table:
    """Return a connected part, with the tags that enough of its nodes have."""
    part = Table(edges, columns, tags.to_numpy(), source, tuple(tags)).sampled()
    kept = np.flatnonzero(part.classes.sum(0) >= LEAST)
    names = tuple(part.names[at] for at in kept)
    return Table(part.edges, part.columns, part.classes[:, kept], source, names)


SYNTHETIC: dict[str, Callable[[Generator], Table]] = {
    "overlapping communities": communities,
    "tags from columns": from_columns,
    "rare and correlated": correlated,
}
REAL: dict[str, Callable[[], Table]] = {"films by genre": films, "Debian by tag": debian}
TASKS = (*SYNTHETIC, *REAL)
DEVELOPMENT = (*SYNTHETIC, "films by genre")


def load(name: str, trial: int) -> Table:
    """Return a task; synthetic ones differ from trial to trial."""
    if name in REAL:
        return REAL[name]()
    return SYNTHETIC[name](stream(trial, "tags", name))
