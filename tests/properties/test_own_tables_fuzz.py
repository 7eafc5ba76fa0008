"""Whatever the files hold: an answer or one clear line, and a whole folder or none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nodecopy import cli

WORDS = "a b c 7 007 -1 nan 1e400 0.5 ß =1 <b> 1,5 sep=; id label source target weight feature"
CELLS = [*WORDS.split(), "value", "", " ", '"', "\0", "\u2028", "x" * 300]
SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
JOINTS = [",", "\t", ";", "|", " ", ",,"]

cell = st.sampled_from(CELLS)
row = st.builds(
    lambda joint, cells: joint.join(cells), st.sampled_from(JOINTS), st.lists(cell, max_size=4)
)
table = st.builds(
    lambda head, rows, end: (end.join([head, *rows])).encode(),
    st.sampled_from(["source,target", "id,label", "id,feature,value", "id,f1,f2", "", "a,b"]),
    st.lists(row, max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
content = st.one_of(table, st.binary(max_size=60))

EDGES = b"source,target\na,b\nb,c\nc,a\nc,d\nd,e\ne,f\nf,d\n"
LABELS = b"id,label\na,x\nb,x\nd,y\ne,y\n"
FEATURES = b"id,f1,f2\na,1,0\nb,1,0\nc,1,1\nd,0,1\ne,0,1\nf,0,1\n"
GOOD = {"edges": EDGES, "labels": LABELS, "features": FEATURES}
WRITTEN = {"config.toml", "predictions.csv", "report.html", "summary.json", "model"}


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, bytes]:
    """Return good files, one of them replaced or damaged at one place."""
    name = draw(st.sampled_from(sorted(GOOD)))
    if draw(st.booleans()):
        return GOOD | {name: draw(content)}
    good = GOOD[name]
    place = draw(st.integers(0, len(good)))
    inserted = draw(st.one_of(cell.map(str.encode), st.binary(max_size=3)))
    return GOOD | {name: good[:place] + inserted + good[place + draw(st.integers(0, 5)) :]}


KEYS = ["edges", "labels", "random_state", "normalise", "edge_columns", "nonsense", "[x]"]
VALUES = ['"e.csv"', "1", "-1", "nan", "true", "[]", "''", "1979-05-27"]
setting = st.builds("{} = {}".format, st.sampled_from(KEYS), st.sampled_from(VALUES))
columns = st.builds(
    lambda kind, names: f"--{kind}-columns={','.join(names)}",
    st.sampled_from(["edge", "label", "feature"]),
    st.lists(st.sampled_from([*CELLS, "1", "2", "3", "f1", "f2"]), max_size=4),
)


def run(
    folder: str, files: dict[str, bytes], chosen: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in files.items():
        Path(folder, f"{name}.csv").write_bytes(data)
    out = Path(folder, "run")
    options = [f"--{name}={Path(folder, f'{name}.csv')}" for name in files]
    cheap = ["--method=fast"]
    code = cli.main(["fit", *options, *chosen, *cheap, f"--out={out}"])
    captured = capsys.readouterr()
    assert code in (0, 2), captured.err
    if code == 0:
        assert set(os.listdir(out)) >= WRITTEN
    else:
        assert captured.err.startswith("error: ")
        assert captured.err.count("\n") == 1
        assert not out.exists()
    left = {f"{name}.csv" for name in files} | ({"run"} if code == 0 else set())
    assert set(os.listdir(folder)) == left


@settings(max_examples=80, suppress_health_check=SUPPRESSED)
@given(files=damaged(), chosen=st.lists(columns, max_size=2))
@example(files=GOOD, chosen=[])
@example(files=GOOD, chosen=["--edge-columns=2,1", "--feature-columns=id"])
@example(files=GOOD | {"labels": b"id,label\na,x\nb,y\n"}, chosen=[])
@example(files=GOOD | {"labels": b"id,label\na,x\xff\n"}, chosen=[])
@example(files=GOOD | {"features": b"id,f1\na,1e400\n"}, chosen=[])
def test_no_input_gives_a_traceback_or_half_a_folder(files, chosen, capsys):
    with tempfile.TemporaryDirectory() as folder:
        run(folder, files, chosen, capsys)


@settings(max_examples=60, suppress_health_check=SUPPRESSED)
@given(
    config=st.binary(max_size=80)
    | st.lists(setting, max_size=6).map(lambda lines: "\n".join(lines).encode())
)
def test_no_configuration_gives_a_traceback(config, capsys):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.toml")
        file.write_bytes(config)
        assert cli.main(["fit", "--config", str(file), "--out", str(Path(folder, "run"))]) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert os.listdir(folder) == ["config.toml"]
