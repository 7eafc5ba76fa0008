"""Customers and shops, from their files to the page: only customers are predicted."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nodecopy import NodeCopyClassifier, cli
from nodecopy.annotate import Session
from nodecopy.core.errors import InputError, ModelError
from nodecopy.run import FitSettings
from tests.csv_files import read_csv, write_csv
from tests.waiting import wait_until

NODES = ["--nodes=shops.csv", "--nodes=customers.csv"]
TABLES = ["--edges=purchases.csv", *NODES]
CUSTOMERS = 60


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with tables of two node types."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = np.arange(CUSTOMERS) % 2
    bought = [
        [f"c{c}", f"s{6 * truth[c] + s}"]
        for c in range(CUSTOMERS)
        for s in rng.choice(6, 3, replace=False)
    ]
    write_csv(tmp_path / "purchases.csv", "customer,shop", bought)
    ages = rng.normal(40 + 5 * truth, 5).round(1)
    write_csv(tmp_path / "customers.csv", "id,age", [[f"c{n}", age] for n, age in enumerate(ages)])
    words = ("bread and cake", "tools and nails")
    shops = [[f"s{n}", f"Shop {n}", words[n // 6]] for n in range(12)]
    write_csv(tmp_path / "shops.csv", "id,name,text", shops)
    labels = [[f"c{n}", "ab"[k]] for n, k in enumerate(truth)]
    write_csv(tmp_path / "labels.csv", "id,label", labels[:10])
    return tmp_path


def test_only_customers_are_predicted_suggested_and_counted(shop: Path, capsys) -> None:
    assert cli.main(["fit", *TABLES, "--labels=labels.csv", "--method=fast", "--out=run"]) == 0
    assert "60, 10 of them with a known label; beside them 12 shops" in capsys.readouterr().out
    rows = read_csv("run/predictions.csv")
    assert [row["id"][0] for row in rows] == ["c"] * CUSTOMERS
    assert {row["id"][0] for row in read_csv("run/next_labels.csv")} == {"c"}
    with pytest.raises(ModelError, match="one of the shops, which have no classes"):
        NodeCopyClassifier.load("run").predict(["s0"])
    for row in read_csv("run/suspect_edges.csv"):
        ends = {row["source"]: row["source_predicted"], row["target"]: row["target_predicted"]}
        assert all(bool(label) == id.startswith("c") for id, label in ends.items())


def test_a_model_needs_no_option_for_tables_that_have_grown(shop: Path) -> None:
    assert cli.main(["fit", *TABLES, "--labels=labels.csv", "--method=fast", "--out=run"]) == 0
    with Path("purchases.csv").open("a") as file:
        file.write("c99,s0\nc99,s77\nc0,s77\nc99,in no table\n")
    Path("people.csv").write_text(Path("customers.csv").read_text() + "c99,41\n")
    with Path("shops.csv").open("a") as file:
        file.write("s77,Shop 77,cake\n")
    tables = ["--edges=purchases.csv", "--nodes=people.csv", "--nodes=shops.csv"]
    assert cli.main(["predict", "--model=run", *tables, "--out=grown.csv"]) == 0
    before = {row["id"]: row for row in read_csv("run/predictions.csv")}
    after = {row["id"]: row for row in read_csv("grown.csv")}
    assert after.keys() - before.keys() == {"c99"}
    assert after["c99"]["predicted"] == "a"
    assert all(after[id]["predicted"] == row["predicted"] for id, row in before.items())


def test_new_customers_are_predicted_from_their_rows_alone(shop: Path, capsys) -> None:
    assert cli.main(["fit", *TABLES, "--labels=labels.csv", "--method=fast", "--out=run"]) == 0
    write_csv(shop / "bought.csv", "customer,shop", [["c98", "s0"], ["c99", "s11"], ["c99", "s7"]])
    write_csv(shop / "people.csv", "id,age", [["c98", 40], ["c99", 41]])
    predict = ["predict", "run", "--edges=bought.csv", "--out=new.csv"]
    assert cli.main([*predict, "--nodes=people.csv"]) == 0
    assert "2 new customers" in capsys.readouterr().out
    assert [(row["id"], row["predicted"]) for row in read_csv("new.csv")] == [
        ("c98", "a"),
        ("c99", "b"),
    ]
    write_csv(shop / "opened.csv", "id,name,text", [["s77", "Shop 77", "cake"]])
    write_csv(shop / "bought.csv", "customer,shop", [["c98", "s77"], ["c99", "s11"]])
    assert cli.main([*predict, "--nodes=people.csv", "--nodes=opened.csv"]) == 2
    assert "'s77' is a new node of another type than customers" in capsys.readouterr().err
    assert cli.main([*predict, "--nodes=people.csv"]) == 2
    assert "'s77'" in capsys.readouterr().err


def test_customers_are_asked_about_and_shops_are_drawn(shop: Path) -> None:
    files = {"edges": "purchases.csv", "nodes": ("shops.csv", "customers.csv")}
    settings = FitSettings(**files, labels="labels.csv", method="fast")
    with closing(Session("run", settings)) as session:
        assert wait_until(lambda: session.state()["fitted"])
        assert session.state()["nodes"] == CUSTOMERS
        assert all(id.startswith("c") for id in session.next_nodes(20))
        around = session.view("c0")["around"]
        assert around["otherTypes"] == ["shops"]
        assert around["predicted"][around["names"].index(around["names"][1])] == -2
        assert around["names"][1].startswith("Shop ")
        with pytest.raises(InputError, match="no node has the id 's1'"):
            session.label("s1", "a", None)
        session.label("c20", "a", None)
        session.finish()
    assert len(read_csv("run/predictions.csv")) == CUSTOMERS
    with closing(Session("run")) as session:
        assert session.state()["nodes"] == CUSTOMERS
