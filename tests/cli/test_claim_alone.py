"""A claim without a driver, from the command line to the note: its simulation sets the number, and every screen says so."""

import csv
import json
import random
from pathlib import Path

import pytest

from tests.command_line import run_cli
from workbench.views.answer import Rest, waterfall
from workbench.views.run_view import load_run


def noise(path: Path) -> None:
    """Fourteen years of monthly figures that nothing drives."""
    draws = random.Random(5)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["month", "orders"])
        for month in range(174):
            rows.writerow([f"{2004 + month // 12}-{month % 12 + 1:02}", f"{draws.gauss(100, 10):.1f}"])


@pytest.mark.long
def test_a_claim_without_drivers_is_a_run_on_every_screen(tmp_path: Path) -> None:
    noise(tmp_path / "orders.csv")
    added = run_cli(
        tmp_path, "source", "add", "orders", str(tmp_path / "orders.csv"),
        "--date", "month", "--lag", "10d", "--share", "packages", "--yes",
    )  # fmt: skip
    assert added.returncode == 0, added.stderr
    claim = ("own:orders above 104 on 2018-12-31", "--cutoff", "2018-06-30")
    done = run_cli(tmp_path, "analyze", *claim)
    assert done.returncode == 0, done.stderr
    assert "no driver was found" in done.stderr and "no driver with a measured link was found" in done.stdout
    run = load_run(tmp_path / "home", "last")
    assert run.tree.ids() == ("P0",)
    steps = waterfall(run.tree)
    assert steps is not None and steps.set_by_series
    assert [part.name for part in steps.parts] == [str(Rest.SERIES)]
    for words, shown in (
        (("show", "last"), "no track record"),
        (("whatif", "last", "--set", "P0=0.3"), "30.0%"),
        (("sensitivity", "last", "--report"), "P0"),
        (("ask", "last"), "simulation"),
        (("ask", "last", "what does it hinge on?"), "no drivers"),
        (("audit", "last"), "Nothing fails"),
        (("verify", "last"), "0 differences"),
        (("export", "last", "-o", str(tmp_path / "note.md")), "note"),
        (("export", "last", "-o", str(tmp_path / "run.zip")), "run.zip"),
        (("show", str(tmp_path / "run.zip")), "no driver with a measured link was found"),
    ):
        ended = run_cli(tmp_path, *words)
        assert ended.returncode == 0, (words, ended.stderr)
        assert shown in ended.stdout + ended.stderr, words
    assert "no driver with a measured link was found" in (tmp_path / "note.md").read_text()
    document = json.loads(run_cli(tmp_path, "show", "last", "--json").stdout)
    assert [node["kind"] for node in document["nodes"]] == ["root"] and document["record"] is None
