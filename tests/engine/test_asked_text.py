"""What people write of a claim is kept to its cutoff: when a run is opened, and when one goes on that was opened before this was done."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff
from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.store import ModelLedger, Store

CLAIM = "The cabinet falls by 2024-12-31"
KNOWN, LATER = "The cabinet was formed in 2022.", "Update 2024-02-28: the cabinet resigned."
ZERO_SHOT = ("--analyzer", "single", "--grounder", "zero-shot")


def analyze(home: Path, server: OpenAIServer, *words: str) -> Any:
    model = server.words(price="100,200")
    return run_cli(
        home, "analyze", CLAIM, "--cutoff", "2024-01-15", *model, *ZERO_SHOT, *words, OPENAI_API_KEY="none"
    )


def test_an_own_background_is_cut_before_a_model_is_asked_and_that_is_said(tmp_path: Path) -> None:
    with OpenAIServer(Policy()) as server:
        assert (
            analyze(tmp_path, server, "--background", KNOWN, "--criteria", "Yes if it falls.").returncode == 0
        )
        plain, server.asked[:] = [asked.everything for asked in server.asked], []
        done = analyze(
            tmp_path,
            server,
            "--background",
            f"{KNOWN} {LATER}",
            "--criteria",
            "Yes if it falls. EDIT: it fell",
        )
        assert done.returncode == 0 and [asked.everything for asked in server.asked] == plain
        assert "cut from the background" in done.stderr and "the cabinet resigned" in done.stderr
        assert "cut from the criteria, an edit of later, or without a date: 'EDIT: it fell'" in done.stderr
        server.asked.clear()
        refused = analyze(tmp_path, server, "--background", LATER)
        assert refused.returncode == 2 and "nothing is left to ask by" in refused.stderr and not server.asked
    audit = run_json(tmp_path, "audit", "last")
    checks = {check["name"]: check for check in audit["checks"]}
    assert (
        checks["cut texts"]["found"].startswith("2 pieces were cut") and checks["prompts"]["verdict"] == "ok"
    )


@pytest.fixture
def uncut(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The doors as they were before texts were cut; undone by the test."""
    live = Cutoff.parse("now")
    monkeypatch.setattr(
        "workbench.engine.new_run.cut_claim", lambda text, cutoff, settings: (text, settings, ())
    )
    monkeypatch.setattr("workbench.engine.flow.adopt_cut", lambda recorder, allowed: None)
    monkeypatch.setattr("workbench.agents.base.as_of", lambda text, cutoff, **more: as_of(text, live))
    return monkeypatch


def begun(home: Path, server: OpenAIServer, background: str) -> str:
    """A run that stopped after two of its four calls."""
    words = ("--background", background, "--set", "grounder.elicit=ensemble", "--budget-calls", "2")
    done = analyze(home, server, *words)
    assert done.returncode == 3 and len(server.asked) == 2, done.stderr
    return done.stderr.split()[1]


def test_a_run_that_was_begun_with_later_text_asks_before_it_buys_again(
    tmp_path: Path, uncut: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(Policy()) as server:
        run = begun(tmp_path, server, f"{KNOWN} {LATER}")
        uncut.undo()
        server.asked.clear()
        refused = run_cli(tmp_path, "resume", run, "--budget-calls", "99", OPENAI_API_KEY="none")
        assert refused.returncode == 2 and not server.asked
        assert (
            "2 replies on record would be bought again, for about $0." in refused.stderr
            and "--yes" in refused.stderr
        )
        with closing(Store(tmp_path / "home")) as store:
            assert ModelLedger(store).count(run) == 2
        audit = run_json(tmp_path, "audit", run)
        (prompts,) = [check for check in audit["checks"] if check["name"] == "prompts"]
        assert prompts["verdict"] == "warn" and LATER in prompts["found"] and "P0 " in prompts["found"]
        run_ok(tmp_path, "resume", run, "--yes", OPENAI_API_KEY="none")
        assert len(server.asked) == 4 and not any("resigned" in asked.everything for asked in server.asked)
        assert all(KNOWN in asked.everything for asked in server.asked)
        # it is on record now, and asked for once
        again = run_cli(tmp_path, "resume", run, OPENAI_API_KEY="none")
        assert again.returncode == 0 and len(server.asked) == 4


def test_a_run_that_was_begun_without_goes_on_as_it_was(tmp_path: Path, uncut: pytest.MonkeyPatch) -> None:
    with OpenAIServer(Policy()) as server:
        run = begun(tmp_path, server, f"{KNOWN} The next election is due by June 30, 2025.")
        uncut.undo()
        run_ok(tmp_path, "resume", run, "--budget-calls", "99", OPENAI_API_KEY="none")
        assert len(server.asked) == 4 and len({asked.everything for asked in server.asked}) == 4


@pytest.mark.parametrize("cut", [True, False])
def test_a_plan_that_a_person_changes_is_asked_about_in_words_of_before_the_cutoff(
    cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remark = " [Edited on March 1, 2024: it fell]"
    with OpenAIServer(Policy()) as server:
        words = ("--plan-only", "--grounder", "zero-shot", "--model", "openai/x", "--api-base", server.url)
        run_ok(tmp_path, "analyze", CLAIM, "--cutoff", "2024-01-15", *words, OPENAI_API_KEY="none")
        (file,) = (tmp_path / "home").rglob("tree.json")
        leaf = "The VIX closes above 20 on 2018-12-31"
        assert leaf in file.read_text()
        file.write_text(file.read_text().replace(leaf, leaf + remark))
        if not cut:
            monkeypatch.setattr("proxies.asof.later_text.later_parts", lambda *_, **__: [])
        run_ok(tmp_path, "resume", "last", OPENAI_API_KEY="none")
        heard = "\n".join(asked.everything for asked in server.asked)
    assert leaf in heard and ("it fell]" in heard) != cut
