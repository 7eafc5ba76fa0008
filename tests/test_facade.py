"""The façade: every public name is there, and nothing is imported before it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import nodecopy
from tests.waiting import LIMIT


def test_the_public_names_are_sorted_few_and_all_listed():
    assert nodecopy.__all__ == sorted({*nodecopy._HOME, "__version__", "presets"})
    assert len(nodecopy.__all__) <= 16
    assert set(nodecopy.__all__) <= set(dir(nodecopy))


@pytest.mark.parametrize(("name", "home"), sorted(nodecopy._HOME.items()))
def test_a_name_is_the_object_of_its_home(name, home):
    assert getattr(nodecopy, name) is getattr(importlib.import_module(home), name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'nodecopy' has no attribute 'Grpah'"):
        _ = nodecopy.Grpah


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, nodecopy; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    modules = set(run.stdout.split())
    assert "nodecopy" in modules
    assert not {"numpy", "rich", "safetensors", "scipy", "torch", "typer"} & modules
