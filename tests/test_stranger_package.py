"""A package of somebody else brings one of each part: a whole analysis runs, is checked and travels; without it runs stay readable."""

import asyncio
import dataclasses
import importlib
import json
import sqlite3
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import load_catalogue
from proxies.catalogue.plugins import installed_plugins
from proxies.hashing import content_hash
from proxies.ledger import Address, Answer, LedgerRow
from sandbox import Sandbox
from tests.browser.conftest import start
from tests.command_line import run_cli, run_process
from tests.fakes.upstream import Sent, Upstream
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.progress import progress_line
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.errors import ProviderError
from workbench.reports.note_page import write_report
from workbench.store import ApiLedger, Store
from workbench.store import events as ev
from workbench.synthesis.rules import rule_registry as registry

PACKAGE = Path(__file__).parent / "stranger_package"
STATEMENT = "The small claim comes true"
OFFLINE_CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
PARTS = {
    "model": "stranger/counting",
    "analyzer": "stranger-fan",
    "grounder": "stranger-guess",
    "rule": "stranger-geometric",
}


def forget() -> None:
    """Take out of this process what a look-up has loaded of the package."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger"]:
        del sys.modules[name]
    registry._loaded.clear()
    importlib.invalidate_caches()


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """The package is installed; what comes back takes it away."""
    forget()
    monkeypatch.syspath_prepend(str(PACKAGE))

    def uninstall() -> None:
        sys.path.remove(str(PACKAGE))
        forget()

    yield uninstall
    forget()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sealed sessions that were opened; none is."""
    opened: list[str] = []

    async def refuse(self: Sandbox, spec: Any, call_api: Any) -> None:
        opened.append(spec.name)
        raise AssertionError(f"a session was opened: {spec.name}")

    monkeypatch.setattr(Sandbox, "open", refuse)
    return opened


def work(home: Path, environ: Mapping[str, str] | None = None, **parts: Any) -> RunState:
    return asyncio.run(_work(home, with_preset("product", **{**PARTS, **parts}), environ or {}))


async def _work(home: Path, settings: RunSettings, environ: Mapping[str, str]) -> RunState:
    store = Store(home / "home")
    async with open_engine(store, settings, environ=environ, note=write_report) as engine:
        cutoff = Cutoff.parse("2018-06-30")
        await engine.check(STATEMENT, cutoff, settings)
        run_id = new_run(store, STATEMENT, cutoff, settings)
        try:
            await engine.work(run_id)
        except ProviderError:
            assert load_state(store, run_id).stopped is not None
    state = load_state(store, run_id)
    store.close()
    return state


def said(home: Path, *words: str, code: int = 0) -> str:
    done = run_cli(home, *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def alter(home: Path, query: str) -> None:
    """Change one byte of the body whose hash the query gives."""
    with closing(sqlite3.connect(home / "home" / "workbench.db")) as db, db:
        (digest,) = db.execute(query).fetchone()
        digest = json.loads(digest)["evidence"]["body"] if digest.startswith("{") else digest
        (data,) = db.execute("SELECT data FROM bodies WHERE hash = ?", (digest,)).fetchone()
        db.execute("UPDATE bodies SET data = ? WHERE hash = ?", (data[:-3] + b"1" + data[-2:], digest))


@pytest.mark.parametrize("grounder", ["stranger-guess", "stranger-series", "stranger-constant"])
def test_a_whole_analysis_runs_on_its_parts_without_a_kernel(
    grounder: str, package: object, sessions: list[str], tmp_path: Path
) -> None:
    state = work(tmp_path, grounder=grounder)
    assert state.finished and not sessions
    assert [state.verified(leaf) for leaf in state.tree.leaves()] == [True] * 5
    assert state.settings.packages == dict.fromkeys(
        ("model", "analyzer", "grounder", "synthesizer", "source stranger"), "stranger 1.0"
    )
    assert not list((tmp_path / "home" / "runs" / state.run_id).glob("sessions/*"))
    values = [state.tree[leaf].p for leaf in state.tree.leaves()]
    product = 1.0
    for value in values:
        product *= value or 0.0
    assert state.tree.root.p == pytest.approx(product ** (1 / 5))


@pytest.mark.parametrize("grounder", ["stranger-guess", "stranger-series"])
def test_every_command_works_on_its_run(
    grounder: str, package: object, sessions: list[str], tmp_path: Path
) -> None:
    run_id = (work(tmp_path, grounder=grounder)).run_id
    assert "5 proofs" in said(tmp_path, "verify", run_id)
    before, after = (
        json.loads(said(tmp_path, "whatif", run_id, "--set", f"P1={p}", "--json"))["after"]
        for p in (0.1, 0.9)
    )
    assert before < after
    for form in ("html", "json", "ipynb"):
        assert STATEMENT in said(tmp_path, "export", run_id, "--to", form)
    assert "× P2" in said(tmp_path, "show", run_id)
    zipped = tmp_path / "run.zip"
    said(tmp_path, "export", run_id, "--to", "zip", "-o", str(zipped))
    other = tmp_path / "other"
    other.mkdir()
    said(other, "import", str(zipped))
    assert "5 proofs" in said(other, "verify", run_id)
    assert not sessions


ALTERED = {
    "evidence": ("stranger-guess", "SELECT data FROM events WHERE kind = 'leaf.grounded' LIMIT 1"),
    "reply": ("stranger-guess", "SELECT reply FROM model_calls WHERE stage = 'stranger-guess' LIMIT 1"),
    "answer": ("stranger-series", "SELECT answer FROM api_calls LIMIT 1"),
}


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_body_is_found(what: str, package: object, tmp_path: Path) -> None:
    grounder, query = ALTERED[what]
    run_id = (work(tmp_path, grounder=grounder)).run_id
    said(tmp_path, "verify", run_id)
    alter(tmp_path, query)
    done = run_cli(tmp_path, "verify", run_id)
    assert done.returncode == 6 and "was altered" in done.stdout + done.stderr


def test_without_the_package_runs_are_read_and_not_changed(
    package: Callable[[], None], tmp_path: Path
) -> None:
    mine = (work(tmp_path)).run_id
    plain = (work(tmp_path, grounder="stranger-constant", rule="stranger-unregistered")).run_id
    untouched = (work(tmp_path, rule="average")).run_id
    package()
    for words in (["show", mine], ["show", mine, "--json"], ["runs"], ["export", mine, "--to", "html"]):
        assert "stranger 1.0" in said(tmp_path, *words), words
    assert "stranger 1.0" in run_cli(tmp_path, "export", mine, "--to", "json").stderr
    assert STATEMENT in said(tmp_path, "export", mine, "--to", "json")
    for words in (["whatif", mine, "--set", "P1=0.9"], ["refit", mine], ["resume", plain]):
        line = said(tmp_path, *words, code=2)
        assert line.count("\n") == 1 and "stranger 1.0" in line, line
    assert json.loads(said(tmp_path, "whatif", untouched, "--set", "P1=0.9", "--json"))["after"]


def test_a_rule_that_nobody_registers_stops_the_run_and_leaves_it_readable(
    package: object, tmp_path: Path
) -> None:
    state = work(tmp_path, rule="stranger-unregistered")
    assert state.stopped is not None and state.stopped.why == "failure"
    assert "no rule named 'stranger-unregistered'" in state.failures["P0"][0]
    assert len(state.pooled) == 5
    assert "P5" in said(tmp_path, "show", state.run_id)
    assert "resume" in said(tmp_path, "resume", state.run_id, code=4)  # it is tried again, and refused again


def test_a_grounder_that_raises_fails_its_leaves_and_names_its_package(
    package: object, tmp_path: Path
) -> None:
    state = work(tmp_path, grounder="stranger-broken")
    assert {state.node_status(leaf) for leaf in state.tree.leaves()} == {"failed"}
    assert "stranger-broken of the package stranger 1.0 raised KeyError" in state.trial("P1", 1).failure  # type: ignore[operator]
    assert state.stopped is not None and state.stopped.why == "failure"


def test_evidence_that_could_not_be_read_back_is_not_recorded(package: object, tmp_path: Path) -> None:
    state = work(tmp_path, grounder="stranger-unreadable")
    assert not any(trial.belief for trial in state.trials.values())
    assert "no evidence named 'stranger-nowhere'" in (state.trial("P1", 1).failure or "")


@pytest.mark.parametrize("breaks", ["raise", "nothing"])
def test_evidence_that_raises_leaves_one_line_and_its_leaf_unverified(
    breaks: str, package: object, tmp_path: Path
) -> None:
    state = work(tmp_path, grounder="stranger-fragile", options={"grounder": {"breaks": breaks}})
    assert state.finished
    assert {leaf: state.verified(leaf) for leaf in state.tree.leaves()} == {
        leaf: leaf != "P1" for leaf in state.tree.leaves()
    }
    store = Store(tmp_path / "home")
    lines = [line for stored in store.events(state.run_id) if (line := progress_line(state, stored))]
    store.close()
    (line,) = [line for line in lines if "not verified" in line]
    assert "P1 " in line and "the evidence stranger-fragile of the package stranger 1.0 raised" in line
    assert "\n" not in line
    done = run_cli(tmp_path, "verify", state.run_id)
    assert done.returncode == 6 and "Traceback" not in done.stderr
    assert sum("of the package stranger 1.0 raised" in line for line in done.stdout.splitlines()) == 1


def test_a_run_without_a_notebook_never_tries_to_seal_and_verify_says_so(
    package: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: Sandbox) -> None:
        raise AssertionError("isolation was tried")

    monkeypatch.setattr(Sandbox, "probe", refuse)
    state = work(tmp_path)
    assert state.finished and state.isolation is None
    line = said(tmp_path, "verify", state.run_id).splitlines()[-1]
    assert line.startswith("nothing was re-run: no proof has a notebook")
    assert json.loads(said(tmp_path, "verify", state.run_id, "--json"))["isolation"] is None
    said(tmp_path, "audit", state.run_id)


def test_a_leaf_whose_process_ended_before_its_check_is_checked_on_resume(
    package: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.engine.leaves import grounding

    async def killed(*_: object, **__: object) -> None:
        raise ProviderError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr(grounding, "verify_trial", killed)
        state = work(tmp_path)
    concluded = [key for key, trial in state.trials.items() if trial.belief]
    assert concluded and not any(trial.verified for trial in state.trials.values())
    assert said(tmp_path, "resume", state.run_id)
    store = Store(tmp_path / "home")
    after = load_state(store, state.run_id)
    store.close()
    assert all(trial.verified for trial in after.trials.values()) and after.finished
    assert "5 proofs" in said(tmp_path, "verify", state.run_id)


def test_its_source_is_in_the_catalogue_and_makes_its_own_requests(package: object) -> None:
    plugins = pytest.importorskip(
        "proxies.catalogue.plugins", reason="sources of packages are not in this checkout"
    )
    from proxies.catalogue import api_doc, load_catalogue

    load_catalogue.cache_clear()
    plugins.installed_plugins.cache_clear()
    try:
        assert "One row per day." in api_doc(load_catalogue(), ["stranger/prices"])
        assert plugins.installed_plugins()["stranger"].source.__name__ == "StrangerSource"
    finally:
        load_catalogue.cache_clear()
        plugins.installed_plugins.cache_clear()


@pytest.fixture
def catalogue() -> Iterator[None]:
    """The catalogue is read anew, with the package's endpoints in it, and forgotten after."""
    load_catalogue.cache_clear()
    installed_plugins.cache_clear()
    yield
    load_catalogue.cache_clear()
    installed_plugins.cache_clear()


def test_a_cell_reads_its_source_as_of_the_cutoff_and_the_proof_stands_without_it(
    package: Callable[[], None], catalogue: object, tmp_path: Path
) -> None:
    known, late = {"day": "2018-06-29", "price": 2}, {"day": "2018-07-03", "price": 9}
    with Upstream(lambda seen: Sent([known, late])) as upstream:
        state = work(
            tmp_path,
            {"WORKBENCH_UPSTREAM_STRANGER": upstream.url},
            grounder="notebook",
            options={"analyzer": {"reasons": 1}},
            max_proof_steps=1,
        )
    assert state.finished and state.verified("P1") and state.isolation in ("namespaces", "landlock")
    assert state.tree["P1"].p == 0.4 and upstream.seen
    store = Store(tmp_path / "home")
    (row,) = ApiLedger(store).rows(state.run_id)
    proof = (store.folder(state.run_id) / "proofs" / "P1.ipynb").read_text()
    store.close()
    assert row.path == "stranger/prices" and row.rows_dropped == 1
    assert row.answer is not None and row.answer.data == [known]
    assert "1 price of 2018-06-29" in proof and "2018-07-03" not in proof
    # The upstream has gone, the ledger answers.
    report = json.loads(said(tmp_path, "verify", state.run_id, "--json"))
    assert report["verified"] and report["isolation"] == state.isolation
    package()
    load_catalogue.cache_clear()
    installed_plugins.cache_clear()
    for words in (["show", state.run_id], ["runs"]):
        assert "source stranger (package stranger 1.0)" in said(tmp_path, *words)
    assert json.loads(said(tmp_path, "verify", state.run_id, "--json"))["verified"]
    alter(tmp_path, "SELECT answer FROM api_calls LIMIT 1")
    assert run_cli(tmp_path, "verify", state.run_id).returncode == 6


def test_a_run_that_read_its_source_is_not_resumed_without_it_and_others_are(
    package: Callable[[], None], catalogue: object, tmp_path: Path
) -> None:
    def stopped(run_id: str, *, read: bool) -> str:
        store = Store(tmp_path / "home")
        settings = dataclasses.replace(
            RunSettings(rule="average"), packages={"source stranger": "stranger 1.0"}
        )
        store.append(
            run_id,
            ev.RunStarted(
                statement=OFFLINE_CLAIM,
                cutoff="2018-06-30",
                cutoff_instant="2018-06-30T04:00:00Z",
                settings=settings.to_json(),
            ),
        )
        path = "stranger/prices" if read else "embedded/series/observations"
        address = Address(run=run_id, node="P1", trial=1, attempt=1, stage="cell", step=1, retry=0)
        answer = Answer(data=[], meta={"content_hash": content_hash([])})
        ApiLedger(store).record(
            LedgerRow(
                address=address,
                at_utc="2026-01-01T00:00:00Z",
                path=path,
                asked={},
                sent=[],
                cutoff="2018-06-30",
                answer=answer,
                refused=None,
                request_hash="sha256:" + "1" * 64,
            )
        )
        store.close()
        return run_id

    package()
    load_catalogue.cache_clear()
    installed_plugins.cache_clear()
    line = said(tmp_path, "resume", stopped("20180630-120000-0001", read=True), code=2)
    assert "reads from what is not installed here: source stranger (package stranger 1.0)" in line
    store = Store(tmp_path / "home")
    assert not load_state(store, stopped("20180630-120000-0002", read=False)).missing_sources
    store.close()


@pytest.mark.long
def test_the_command_line_takes_its_parts_in_a_process_of_its_own(tmp_path: Path) -> None:
    words = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")
    parts = ("--grounder", "stranger-constant", "--rule", "stranger-geometric")
    done = run_process(tmp_path, "analyze", *words, *parts, "--json", PYTHONPATH=str(PACKAGE))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["root"]["p"] == pytest.approx(0.5) and document["status"] == "done"
    gone = run_process(tmp_path, "analyze", *words, *parts)
    assert gone.returncode == 2 and "no synthesizer named 'stranger-geometric'" in gone.stderr


@pytest.mark.long
def test_its_run_is_served(package: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = work(tmp_path, grounder="stranger-series").run_id
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    served = start(tmp_path / "home", run_id)
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(served.url, timeout=120) as answer:
            page = answer.read().decode()
        assert answer.status == 200 and "widget-view" in page and "Traceback" not in page
    finally:
        served.stop()
        assert served.process.stdout is not None
        served.process.stdout.close()
