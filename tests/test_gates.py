"""Rules about the source tree that linters do not check."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import nodecopy
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "nodecopy"


def test_the_package_does_not_import_from_its_own_facade():
    facade = set(nodecopy._HOME)
    offenders = [
        f"{path.relative_to(PACKAGE)}: {alias.name}"
        for path, tree in parsed(PACKAGE)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "nodecopy"
        for alias in node.names
        if alias.name in facade
    ]
    assert offenders == []


def test_contributing_shows_the_layers_that_are_checked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (layers,) = [c["layers"] for c in project["tool"]["importlinter"]["contracts"] if "layers" in c]
    levels = [re.sub(r"[()]", "", layer) for layer in layers if layer != "__main__"]
    expected = " > ".join(f"({level})" if "|" in level else level for level in levels)
    shown = re.findall(
        r"^    cli > .*(?:\n        > .*)*", (ROOT / "CONTRIBUTING.md").read_text(), re.M
    )
    assert [" ".join(text.split()) for text in shown] == [expected]


def test_the_pinned_set_covers_every_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines[0].startswith("# ")
    pins = [re.fullmatch(r"([\w.-]+)==[\w.]+", line) for line in lines[1:]]
    assert all(pins), "every line is name==version, with no local version and no path"
    pinned = {_normalised(pin[1]) for pin in pins if pin}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *itertools.chain.from_iterable(extras)]
    names = {_normalised(re.match(r"[\w.-]+", requirement)[0]) for requirement in required}
    assert names - {"nodecopy"} - pinned == set()


def test_the_oldest_set_has_the_lower_bounds():
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [project["optional-dependencies"][e] for e in ("cluster", "networkx", "pyg", "report")]
    bounds = dict(each.split(">=") for each in itertools.chain(project["dependencies"], *extras))
    pinned = {_normalised(name): version for name, version in pins.items()}
    other = {
        name for name, least in bounds.items() if not pinned[_normalised(name)].startswith(least)
    }
    assert other == {"torch"}, "an older torch was not tried"


def test_every_test_has_a_time_limit(pytestconfig):
    assert pytestconfig.pluginmanager.hasplugin("timeout")
    assert 0 < float(pytestconfig.getini("timeout")) <= 600
    assert 0 < float(pytestconfig.getini("faulthandler_timeout")) < 600


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_the_distributions_carry_every_file_of_the_package(target, tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.iterdir()
    if target == "wheel":
        names = zipfile.ZipFile(archive).namelist()
        carried = {name for name in names if name.startswith("nodecopy/")}
        assert carried == {name for name in names if ".dist-info/" not in name}
    else:
        with tarfile.open(archive) as sdist:
            names = sdist.getnames()
        carried = {name.split("/src/", 1)[1] for name in names if "/src/" in name}
    shipped = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped - carried == set()
    assert any(name.endswith("LICENSE") for name in names)
    assert any(name.endswith("NOTICE-DATA.md") for name in names)


def test_every_statement_of_the_version_agrees():
    read = [sys.executable, "-m", "hatchling", "version"]
    built = subprocess.run(
        read, cwd=ROOT, check=True, capture_output=True, text=True, timeout=LIMIT
    )
    assert built.stdout.strip() == nodecopy.__version__
    cited = re.search(
        r"^version: (.*)\ndate-released: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M
    )
    released = re.search(r"^## \[([\d.]+)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert cited is not None
    assert released is not None
    assert cited.groups() == released.groups() == (nodecopy.__version__, released[2])


def parsed(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
