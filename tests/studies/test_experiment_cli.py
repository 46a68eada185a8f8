"""`workbench experiment` from its file to its report: locked until audited, killed and resumed, made again from its own files."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

from tests.command_line import cli_environment, run_cli
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.studies.test_study_files import events_file
from workbench.engine.ownership import own_folder
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.study_state import load_study, stream_of

pytestmark = pytest.mark.long

SIMULATED = """
name: sim
exam: {simulator: {kind: logic, questions: 60, seed: 3}}
trials: 3
seeds: [0, 1]
reference: market
resamples: 400
arms:
  - market
  - random
  - {arm: simulated, name: own, sd: 0.2}
  - {arm: simulated, name: leaf, sd: 0.2, bias: 0.1, rule: leaf}
"""
CLAIMS = """id,title,asked_on,category
a,The S&P 500 closes higher on 2018-12-31 than on 2018-06-29,2018-06-30,equity
b,VIX closes above 20 on 2018-12-31,2018-11-01,volatility
c,WTI closes above 50 on 2018-12-31,2018-10-01,oil
d,Something else happens,2018-10-01,other
"""


def test_a_simulated_study_from_file_to_report(tmp_path: Path) -> None:
    (tmp_path / "sim.yaml").write_text(SIMULATED)
    assert "not begun" in run_cli(tmp_path, "experiment", "status", "sim.yaml").stdout
    early = run_cli(tmp_path, "experiment", "report", "sim.yaml")
    assert early.returncode == 2 and "there is no study 'sim'" in early.stderr
    done = run_cli(tmp_path, "experiment", "run", "sim.yaml", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["audit"] == {"checked": 60 + 3 * 360, "findings": []}
    assert {arm: row["trials"] for arm, row in results["arms"].items()} == {
        "market": 1,
        "random": 6,
        "own": 6,
        "leaf": 6,
    }
    differences = {row["arm"]: row for row in results["differences"]}
    # simulated questions share no luck: each is a day of its own
    assert {row["days"] for row in differences.values()} == {60}
    assert differences["random"]["verdict"] == "worse"
    assert {row["verdict"] for row in differences.values()} <= {"better", "worse", "no difference shown"}
    assert (
        differences["random"]["difference"]
        < -10
        < min(differences[arm]["difference"] for arm in ("own", "leaf"))
    )
    assert not any(
        "no difference (" in line or line.endswith("no difference.") for line in results["summary"]
    )
    folder = tmp_path / "home" / "studies" / "sim"
    table = pd.read_csv(folder / "table.csv")
    assert len(table) == 60 + 3 * 360
    parquet = pd.read_parquet(folder / "table.parquet")
    assert parquet["p"].equals(table["p"]) and list(parquet) == list(table)
    # the same numbers by the plain commands, from the files of the study
    files = ("--events", str(folder / "events.csv"), "--forecasts", str(folder / "forecasts.csv"))
    scores = json.loads(run_cli(tmp_path, "score", *files, "--json").stdout)["methods"]
    for arm, row in results["arms"].items():
        assert scores[arm]["brier"]["market"] == pytest.approx(row["brier"], abs=1e-12)
        assert scores[arm]["ece"]["overall"] == pytest.approx(row["ece"], abs=1e-12)
    # the notebook makes them again as well
    book = nbformat.read(folder / "report.ipynb", as_version=4)
    names: dict[str, Any] = {}
    with contextlib.chdir(folder):
        for cell in book.cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, "report.ipynb", "exec"), names)
    assert names["scores"]["methods"]["own"]["brier"]["market"] == pytest.approx(
        results["arms"]["own"]["brier"]
    )
    page = (folder / "report.html").read_text()
    assert (
        page.index("Leak audit") < page.index("<h2>Scores")
        and "<script" not in page
        and 'src="http' not in page
    )


def test_series_arms_on_a_set_say_what_they_cannot_treat(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text(CLAIMS)
    (tmp_path / "s.yaml").write_text(
        "name: s\nexam: {set: claims}\nunresolved: leave-out\narms:\n"
        "  - {arm: series, name: base, model: house-base-rate}\n  - {arm: series, name: walk, model: walk}\n  - {arm: series, name: forecaster}\n"
    )
    run_cli(tmp_path, "questions", "import", "claims.csv")
    run_cli(tmp_path, "questions", "resolve", "claims")
    run_cli(tmp_path, "questions", "resolve", "claims", "d", "yes")
    done = run_cli(tmp_path, "experiment", "run", "s.yaml", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert {row["events"] for row in results["arms"].values()} == {3}
    assert {row["arm"] for row in results["missing"]} == {"base", "walk", "forecaster"}
    assert all("offline/analyst decides one dated claim" in row["reason"] for row in results["missing"])


def test_bad_studies_are_one_line_each_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "name: bad\nexam: {events: none.csv}\narms: [magic, {arm: notebook, analytica: Q}]\n"
    )
    done = run_cli(tmp_path, "experiment", "run", "bad.yaml")
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 3
    assert run_cli(tmp_path, "experiment", "status", "bad.yaml").returncode == 2


def test_a_second_process_on_one_study_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "sim.yaml").write_text(SIMULATED)
    with own_folder(tmp_path / "home" / "studies" / "sim", what="study sim"):
        done = run_cli(tmp_path, "experiment", "run", "sim.yaml")
    assert done.returncode == 2 and done.stdout == ""
    assert f"study sim is running: process {os.getpid()} since" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "not begun" in run_cli(tmp_path, "experiment", "status", "sim.yaml").stdout


def test_a_killed_study_goes_on_at_the_call_where_it_was(tmp_path: Path, store: Store) -> None:
    events_file(tmp_path)
    with OpenAIServer(Policy(delay=0.03)) as server:
        (tmp_path / "k.yaml").write_text(
            "name: k\nexam: {events: e.csv}\nconcurrency: 2\nreference: market\narms:\n  - market\n"
            f"  - {{arm: tot, model: openai/x, api_base: '{server.url}', options: {{depth: 1}}}}\n"
        )
        words = [sys.executable, "-m", "workbench.cli.main", "experiment", "run", "k.yaml"]
        environment = cli_environment(tmp_path, OPENAI_API_KEY="sk-none")
        process = subprocess.Popen(
            words, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 200  # a loaded machine took over a minute to the first request
        while len(server.asked) < 13 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert 13 <= len(server.asked) < 30
        locked = run_cli(tmp_path, "experiment", "report", "k.yaml", OPENAI_API_KEY="sk-none")
        assert locked.returncode == 2 and "locked until it is done" in locked.stderr
        assert (
            "results are locked"
            in run_cli(tmp_path, "experiment", "status", "k.yaml", OPENAI_API_KEY="sk-none").stdout
        )
        done = run_cli(tmp_path, "experiment", "run", "k.yaml", OPENAI_API_KEY="sk-none")
        assert done.returncode == 0, done.stderr
        asked = Counter(json.dumps(each.body["messages"]) for each in server.asked)
    # 6 questions x (1 proposal + 3 values + 1 conclusion); at most what was on the wire at the kill is asked again
    assert len(asked) == 30 and sum(asked.values()) <= 32
    stream = store.events(stream_of("k"))
    made = [stored.event for stored in stream if isinstance(stored.event, ev.ForecastMade)]
    assert len(made) == 12 and len({(each.arm, each.node) for each in made}) == 12
    assert len(store.run_ids()) == 6  # the runs that the kill cut off were taken up again
    assert load_study(store, "k").audited is not None
    changed = (tmp_path / "k.yaml").read_text().replace("depth: 1", "depth: 2")
    (tmp_path / "k.yaml").write_text(changed)
    other = run_cli(tmp_path, "experiment", "run", "k.yaml", OPENAI_API_KEY="sk-none")
    assert other.returncode == 2 and "begun with other arms" in other.stderr
