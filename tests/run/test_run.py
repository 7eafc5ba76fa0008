"""The whole job on tables: what comes out fits what went in."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, presets
from nodecopy.core.errors import InputError, RunError
from nodecopy.report import report_page
from nodecopy.result import Result
from nodecopy.run import FitSettings, Run, label_tables, write_folder
from nodecopy.run.export import export_run
from nodecopy.run.fit import read_source
from nodecopy.run.folder import begin_folder, check_folder, incomplete_run
from nodecopy.run.predict import predict_tables


def test_classes_that_are_numbers_keep_the_order_of_numbers(settings, rows_file):
    rows = [("id", "label"), *((f"b{n}", "10" if n < 3 else "9") for n in range(6))]
    numbers = replace(settings, labels=rows_file("l.csv", rows))
    result = label_tables(numbers, progress=False).result
    assert result.given.class_names == ("9", "10")
    assert result.classes.tolist() == [9, 10]


def test_settings_name_classes_that_are_numbers_as_files_do(settings, rows_file, tmp_path):
    rows = [("id", "label"), *((f"b{n}", "10" if n < 3 else "9") for n in range(6))]
    shares, described = "9=0.75,10=0.25", rows_file("c.csv", [("class",), ("9",), ("10",), ("11",)])
    numbers = replace(settings, labels=rows_file("l.csv", rows), classes=described)
    run = label_tables(replace(numbers, class_prior=shares), progress=False)
    assert run.result.probabilities.mean(0) == pytest.approx([0.75, 0.25], abs=0.05)
    assert run.result.given.notes[-1].endswith(
        "not predicted, as no text is read by its meaning: 11"
    )
    write_folder(run, tmp_path / "run", lambda: report_page(run.result))
    loaded = NodeCopyClassifier.load(tmp_path / "run")
    assert loaded.class_prior == {9: 0.75, 10: 0.25}
    assert set(loaded.class_descriptions) == {9, 10, 11}


def test_a_fit_no_better_than_the_commonest_class_is_warned_of(labelled):
    good = labelled.result
    assert good.warnings == good.inspection.warnings
    held_out = good.model.held_out
    shifted = np.roll(held_out.probabilities, 1, axis=-1)
    useless = replace(good.model, held_out=replace(held_out, probabilities=shifted))
    result = replace(good, model=useless)
    assert result.held_out.scores.accuracy < 4 / 7
    assert "commonest class (57%)" in result.warnings[-1]


def test_a_fit_to_a_part_of_the_graph_says_what_it_has_to_say_of_all_of_it(settings, tmp_path):
    table = read_source(settings)
    part = NodeCopyClassifier(replace(presets.best(), most_nodes=14), random_state=0)
    result = part.fit(table).result_
    assert result.probabilities.shape == (20, 2)
    write_folder(Run(settings, result), tmp_path / "run", lambda: report_page(result))
    assert len((tmp_path / "run/predictions.csv").read_text().splitlines()) == 21


def test_predictions_and_model_are_written_before_a_page_that_fails(settings, tmp_path):
    run, folder = label_tables(replace(settings, method="fast"), progress=False), tmp_path / "run"

    def failing() -> str:
        raise RunError("no page")

    with pytest.raises(RunError, match="no page"):
        write_folder(run, folder, failing)
    assert len((folder / "predictions.csv").read_text().splitlines()) == 21
    np.testing.assert_array_equal(
        NodeCopyClassifier.load(folder).predict_proba(), run.result.probabilities
    )
    assert "report.html" in incomplete_run(folder)
    write_folder(run, folder, lambda: "page")
    assert incomplete_run(folder) == ""
    with pytest.raises(RunError, match="no page"):
        write_folder(run, folder, failing)
    assert not (folder / "report.html").exists()  # of another fit than the predictions
    (folder / "manifest.json").unlink()
    with pytest.warns(UserWarning, match=r"manifest\.json"):
        NodeCopyClassifier.load(folder)


def test_which_folders_may_be_written(settings, tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    begin_folder(run, settings)
    assert (check_folder(run), check_folder(other)) == (run, other)
    other.mkdir()
    for harmless in (".DS_Store", "labels.csv"):
        (other / harmless).touch()
        check_folder(other)
    (other / "config.toml").write_text("a config of another program")
    with pytest.raises(InputError, match=r"other files, 'config\.toml'"):
        check_folder(other)
    with pytest.raises(InputError, match="is a file"):
        check_folder(other / "config.toml")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    unwritable = ("loop", "a" * 300, "/proc/x", "other/config.toml/run")
    for path in ("/", *(tmp_path / name for name in unwritable)):
        with pytest.raises(InputError, match="cannot be written|other files"):
            check_folder(path)
    assert check_folder(tmp_path / "new" / "run").parent.exists() is False


def test_every_part_of_a_run_says_what_it_does_and_how_far_it_is(settings, tmp_path):
    told: list[tuple[str, int, int]] = []

    def show(*at):
        told.append(at)

    run = label_tables(replace(settings, method="fast"), show)
    write_folder(run, tmp_path / "run", lambda: report_page(run.result), show)
    other = FitSettings(settings.edges, nodes=settings.nodes)
    predict_tables(tmp_path / "run/model", other, progress=show)
    exported, *_ = export_run(tmp_path / "run", "parquet", progress=show)
    reading = ["reading nodes", "reading edges", "numbering nodes"]
    reading += ["reading columns", "numbering edges", "encoding columns"]
    writing = ["predictions", "next labels", "suspect edges", "missing edges"]
    writing += ["explanations", "report"]
    assert [name for name, _ in groupby(told, key=lambda at: at[0])] == [
        *(*reading, "fitting", *writing),
        *(*reading, "applying the model", "reading the run", f"writing {exported}"),
    ]
    assert all(0 <= done <= total for _, done, total in told)
    assert "progress" not in Result.load(tmp_path / "run").arguments
