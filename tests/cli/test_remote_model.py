"""The same main job with a language model behind an OpenAI-compatible server, and everything that can go wrong with it."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.command_line import cli_environment, run_cli
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer

pytestmark = pytest.mark.long

STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
#: The tree alone: tests/cli/test_pooled_claim.py has the direct forecasts beside it.
ANALYZE = (
    "analyze",
    STATEMENT,
    "--cutoff",
    "2018-06-30",
    "--model",
    "openai/x",
    "--json",
)


def analyze(home: Path, server: OpenAIServer, *more: str) -> subprocess.CompletedProcess[str]:
    return run_cli(home, *ANALYZE, "--api-base", server.url, *more)


@contextmanager
def started(home: Path, server: OpenAIServer) -> Iterator[subprocess.Popen[str]]:
    """A run in a process of its own, which does not outlive a test that fails."""
    with subprocess.Popen(
        [sys.executable, "-m", "workbench.cli.main", *ANALYZE, "--api-base", server.url],
        env=cli_environment(home),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Any, seconds: float = 250) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def replies_on_record(home: Path) -> int:
    with closing(sqlite3.connect(home / "home" / "workbench.db")) as db:
        return int(db.execute("SELECT count(*) FROM model_calls").fetchone()[0])


def ids(document: dict[str, Any]) -> dict[str, str]:
    return {node["id"]: node["statement"] for node in document["nodes"]}


def p_of(document: dict[str, Any]) -> dict[str, float | None]:
    return {node["id"]: node["p"] for node in document["nodes"]}


def cells_of(home: Path, document: dict[str, Any], node: str) -> list[Any]:
    path = next(item["notebook"] for item in document["nodes"] if item["id"] == node)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def test_several_steps_a_mended_cell_a_doc_request_and_broken_json(tmp_path: Path) -> None:
    policy = Policy(
        fails_once={"P1.1"},
        reads_docs={"P3"},
        malformed={"linear P1", "conclude P2"},
        faults={"step P2": [500], "analyze": [429]},
    )
    with OpenAIServer(policy) as server:
        done = analyze(tmp_path, server)
    assert done.returncode == 0, done.stderr
    assert not server.unread
    document = json.loads(done.stdout)
    assert document["status"] == "done"
    assert document["n_leaves"] == 4
    assert document["cost_usd"] is None  # nobody knows the price of openai/x
    # Hand computation from what the server answered: 0.1 + 0.9/2 (0.6 + 0.6), then 0.1 + 0.9/3 ... with a negative one.
    values = p_of(document)
    assert values["P1"] == pytest.approx(0.1 + 0.45 * 0.6 + 0.45 * 0.6)
    assert values["P0"] == pytest.approx(0.1 + 0.3 * values["P1"] - 0.1 / 3 * 0.6 + 0.3 * 0.6)
    # The failing cell stays, superseded; its second correction works.
    cells = cells_of(tmp_path, document, "P1.1")
    failed = [cell for cell in cells if "superseded" in cell.metadata.get("tags", [])]
    assert len(failed) == 2
    assert all("raises-exception" in cell.metadata["tags"] for cell in failed)
    assert any(o.get("ename") == "NameError" for cell in failed for o in cell.outputs)
    # What was broken was asked once more, with the reason.
    assert any(asked.again for asked in server.by_stage("linear", "P1"))
    assert any(asked.again for asked in server.by_stage("conclude", "P2"))
    # The documentation came back as a tool's answer.
    assert any(
        turn["role"] == "tool" and "embedded/series/observations" in str(turn["content"])
        for asked in server.by_stage("step", "P3")
        for turn in asked.messages
    )
    # A leaf's requests name no other leaf; a synthesis names its node and direct children only.
    statements = ids(document)
    for asked in server.asked:
        if asked.stage in ("step", "debug", "conclude"):
            others = [text for node, text in statements.items() if node not in (asked.node,)]
            assert not [text for text in others if text in asked.everything], asked.node
        if asked.stage == "linear" and asked.node == "P0":
            assert statements["P1.1"] not in asked.everything
    assert {asked.cutoff for asked in server.asked} == {"2018-06-30"}


def test_a_leaf_that_never_works_ends_in_exit_4_and_keeps_the_others(tmp_path: Path) -> None:
    with OpenAIServer(Policy(never_works={"P2"})) as server:
        done = analyze(tmp_path, server)
        assert done.returncode == 4, done.stderr
        assert done.stderr.strip().splitlines()[-1].startswith("workbench: P2 failed for good")
        document = json.loads(done.stdout)
        assert document["status"] == "failed"
        values = p_of(document)
        assert values["P2"] is None and values["P0"] is None
        assert values["P1"] is not None and values["P3"] is not None
        # Three attempts of five corrections each, each in a fresh session.
        assert len(server.by_stage("debug", "P2")) == 3 * 5
        sessions = sorted((tmp_path / "home" / "runs" / document["run_id"] / "sessions").glob("P2.*.jsonl"))
        assert [path.name for path in sessions] == ["P2.1.1.jsonl", "P2.1.2.jsonl", "P2.1.3.jsonl"]
        seen = len(server.asked)
        server.policy.never_works.clear()
        again = run_cli(tmp_path, "resume", document["run_id"], "--json")
    assert again.returncode == 0, again.stderr
    resumed = json.loads(again.stdout)
    assert resumed["status"] == "done"
    assert ids(resumed) == ids(document)
    kept = p_of(resumed)
    assert all(kept[node] == value for node, value in values.items() if value is not None)
    asked_again = [asked for asked in server.asked[seen:] if asked.node not in ("P2", "P0")]
    assert not asked_again and len(server.asked) > seen


def test_killed_in_the_middle_it_resumes_without_asking_twice(tmp_path: Path) -> None:
    gate = threading.Event()
    with OpenAIServer(Policy(steps=3, hold={"conclude P1.2": gate, "step P3": threading.Event()})) as server:
        with started(tmp_path, server) as process:
            # P1.1 and P2 are done, P1.2 waits for its conclusion, P3 for its first step: now the power goes.
            wait_until(lambda: server.by_stage("conclude", "P1.1") and server.by_stage("conclude", "P2"))
            wait_until(lambda: len(server.held) == 2 and replies_on_record(tmp_path) == len(server.asked))
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=30)
        for event in server.policy.hold.values():
            event.set()
        wait_until(lambda: len(server.abandoned) == 2, seconds=30)
        server.policy.hold.clear()
        run_id = json.loads(run_cli(tmp_path, "runs", "--json").stdout)[0]["run_id"]
        planned = json.loads(run_cli(tmp_path, "show", run_id, "--json").stdout)
        seen = len(server.asked)
        done = run_cli(tmp_path, "resume", run_id, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert ids(document) == ids(planned)
    assert document["status"] == "done"
    # Exactly the two requests that nobody had an answer to are asked again.
    times = Counter((asked.stage, asked.node, asked.key()) for asked in server.asked)
    again = {(stage, node): count for (stage, node, _), count in times.items() if count > 1}
    assert again == {("conclude", "P1.2"): 2, ("step", "P3"): 2}
    later = server.asked[seen:]
    assert not [asked for asked in later if asked.stage == "analyze"]
    assert not [asked for asked in later if asked.node in ("P1.1", "P2")]
    # The journal of the leaf that was cut off went on where it was: no cell was written twice.
    sources = [cell.source for cell in cells_of(tmp_path, document, "P1.2") if cell.cell_type == "code"]
    assert len(sources) == len(set(sources)) == 3
