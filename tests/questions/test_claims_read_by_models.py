"""A claim that the reader cannot read is filled by a model, checked, shown for a yes, and never taken silently."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from tests.fakes.model_policy import Policy, fenced
from tests.fakes.openai_server import OpenAIServer
from tests.search.conftest import ScriptedReader
from workbench.agents.claim_reader import FilledClaim, fill_claim, reading_of
from workbench.agents.errors import MalformedReply
from workbench.questions.grammar import read_claim
from workbench.questions.readings.names import reachable_series
from workbench.store import ModelLedger, Store
from workbench.widgets import home_page

UNREAD = "expected turbulence of American shares is subdued, a reading of less than 13, when 2018 closes"
CUTOFF = Cutoff.parse("2018-06-30")
VIX = {"series": "embedded:VIX", "relation": "level", "comparison": "below", "level": 13, "unit": "quoted", "end": "2018-12-31"}  # fmt: skip
KNOWN = {reference: name for reference, (name, _) in reachable_series("").items()}
TODAY = date(2018, 6, 30)


def slots(**changed: Any) -> dict[str, Any]:
    return {**VIX, **changed}


_DAYS = st.dates(date(2010, 1, 1), date(2040, 1, 1)).map(str) | st.none()
_LEVELS = st.none() | st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 5.0, 20.0, 2700.0, -10.0])
_FIELDS = FilledClaim.model_fields


def _choices(name: str) -> Any:
    return st.sampled_from(_FIELDS[name].annotation.__args__)  # type: ignore[union-attr]


@given(
    st.builds(
        dict,
        series=st.sampled_from([*KNOWN][:12]),
        other=st.none() | st.sampled_from([*KNOWN][:12]),
        relation=_choices("relation"),
        comparison=_choices("comparison"),
        level=_LEVELS,
        upper=_LEVELS,
        unit=st.sampled_from(["quoted", "%", "bp", "points", None]),
        start=_DAYS,
        end=_DAYS,
        times=st.integers(1, 9),
        every=st.sampled_from([None, "week", "month"]),
        never=st.booleans(),
    )
)
def test_whatever_is_filled_is_a_claim_that_its_own_sentence_reads_back_into_or_none(
    filled: dict[str, Any],
) -> None:
    try:
        reading = reading_of(FilledClaim.model_validate(filled), KNOWN, TODAY)
    except MalformedReply:
        return
    assert reading is not None and reading.claim is not None
    assert read_claim(reading.statement) == reading.claim and reading.claim.end >= TODAY


@pytest.mark.parametrize(
    ("filled", "statement"),
    [
        (slots(), "The VIX closes below 13 on 2018-12-31"),
        (slots(relation="touch", comparison="toward", level=30), "The VIX touches 30 through 2018-12-31"),
        (slots(series="embedded:WTI", relation="change", comparison="at_most", level=-10, unit="%"), "WTI crude oil falls at least 10% by 2018-12-31"),
        (slots(series="embedded:SPREAD", comparison="above", level=120, unit="bp"), "The BAA-AAA spread is above 1.2 on 2018-12-31"),
        (slots(series="yahoo:AAPL", relation="beats", other="embedded:SP500", comparison="above", level=None), "yahoo:AAPL outperforms the S&P 500 by 2018-12-31"),
        (slots(series="embedded:CORE_CPI", relation="growth_yoy", comparison="at_least", level=2.5, unit="%"), "US core CPI rises at least 2.5% from 2017-12-31 to 2018-12-31"),
        (slots(relation="count", comparison="above", level=20, times=5), "The VIX closes above 20 on at least 5 days through 2018-12-31"),
    ],
)  # fmt: skip
def test_filled_slots_are_the_claim_that_they_say(filled: dict[str, Any], statement: str) -> None:
    reading = reading_of(FilledClaim.model_validate(filled), KNOWN, TODAY)
    assert reading is not None and reading.statement == statement


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (slots(series="yahoo:NOSUCH"), "no series of the list"),
        (slots(series="embedded:SPREAD", level=120), "another unit"),
        (slots(unit="%"), 'not in "%"'),
        (slots(relation="drawdown", comparison="at_most", level=-10), 'is in "%"'),
        (slots(end="2018-06-01"), "a day from 2018-06-30 on"),
        (slots(start="2019-06-01"), '"start" must be'),
        (slots(level=None), "needs a level"),
    ],
)
async def test_what_does_not_fit_is_sent_back_once_and_then_the_text_stays(
    wrong: dict[str, Any], why: str
) -> None:
    ask = ScriptedReader(fenced(wrong), fenced(wrong))
    assert await fill_claim(UNREAD, CUTOFF, ask, "openai/x") is None
    assert why in ask.calls[-1].request.messages[-1].content
    mended = ScriptedReader(fenced(wrong), fenced(VIX))
    reading = await fill_claim(UNREAD, CUTOFF, mended, "openai/x")
    assert reading is not None and reading.read_by == "openai/x"


@pytest.mark.parametrize(
    "reply", ["It is about the VIX, I think.", "I cannot help with that.", fenced({"series": None})]
)
async def test_prose_a_refusal_and_no_series_leave_the_text_as_it_is(reply: str) -> None:
    assert await fill_claim(UNREAD, CUTOFF, ScriptedReader(*[reply] * 3), "openai/x") is None


async def test_the_model_sees_the_series_the_day_and_the_claim_as_a_quotation() -> None:
    ask = ScriptedReader(fenced({"series": None}))
    await fill_claim(f"own:orders do it, {UNREAD}", CUTOFF, ask, "openai/x")
    words = ask.calls[0].request.messages[-1].content
    assert "embedded:WTI: WTI crude oil, USD per barrel" in words and "own:orders: named in" in words
    assert "are counted from 2018-06-30" in words and "| own:orders do it" in words


def _words(server: OpenAIServer) -> tuple[str, ...]:
    return ("--cutoff", "2018-06-30", "--model", "openai/x", "--api-base", server.url)


def test_read_shows_what_a_model_fills_and_asks_it_once(tmp_path: Path) -> None:
    with OpenAIServer(Policy(claim=VIX)) as server:
        shown = run_cli(tmp_path, "read", UNREAD, *_words(server))
        assert shown.returncode == 2
        assert "Read by openai/x as:\n  1) The VIX closes below 13 on 2018-12-31" in shown.stdout
        assert "--reading 1" in shown.stdout
        taken = run_cli(tmp_path, "read", UNREAD, *_words(server), "--reading", "1", "--json")
        assert taken.returncode == 0 and json.loads(taken.stdout)["best"]["read_by"] == "openai/x"
        assert run_cli(tmp_path, "read", "VIX above 20 on 2018-12-31", *_words(server)).returncode == 0
        assert len(server.asked) == 1
    with Store(tmp_path / "home") as store:
        _, tokens, answered = ModelLedger(store).spent("claims:openai/x")
        assert (answered, tokens > 0) == (1, True)


def test_a_run_takes_no_reading_of_a_model_without_a_yes(tmp_path: Path) -> None:
    with OpenAIServer(Policy(claim=VIX)) as server:
        words = ("analyze", UNREAD, *_words(server), "--plan-only", "--json")
        refused = run_cli(tmp_path, *words)
        assert refused.returncode == 2
        for part in ("openai/x reads the claim as: The VIX closes below 13", "--reading 1", "--reading 0"):
            assert part in refused.stderr
        for option, read_as in (("--reading=0", None), ("--reading=1", "openai/x"), ("--yes", "openai/x")):
            done = run_cli(tmp_path, *words, option)
            assert done.returncode == 0, done.stderr
            run = json.loads(done.stdout)["run_id"]
            with Store(tmp_path / "home") as store:
                started = store.events(run)[0].event
            assert started.statement == UNREAD  # type: ignore[union-attr]
            assert (started.read_as or {}).get("read_by") == read_as  # type: ignore[union-attr]
        assert len(server.by_stage("read-claim")) == 1


@pytest.mark.parametrize(("claim", "calls"), [("Ann gets 3000 votes", 1), ("Ann is elected", 0)])
def test_a_run_whose_claim_fits_no_series_is_opened_as_before(tmp_path: Path, claim: str, calls: int) -> None:
    with OpenAIServer(Policy()) as server:
        done = run_cli(tmp_path, "analyze", claim, *_words(server), "--plan-only", "--json")
        assert done.returncode == 0, done.stderr
        assert len(server.by_stage("read-claim")) == calls


def test_a_run_whose_model_refuses_the_request_treats_the_text(tmp_path: Path) -> None:
    with OpenAIServer(Policy(faults={"read-claim": [400]})) as server:
        done = run_cli(tmp_path, "analyze", UNREAD, *_words(server), "--plan-only")
        assert done.returncode == 0 and "The claim is treated as text" in done.stderr


def test_the_page_asks_a_model_shows_its_reading_and_starts_with_what_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[list[str]] = []
    monkeypatch.setattr(home_page, "plan_elsewhere", lambda *words: begun.append(words[-1]) or "x")
    page = home_page.Home(tmp_path, environ={})
    page.poller.stop()

    def buttons() -> dict[str, Any]:
        return {each.description: each for each in page.readings.children if hasattr(each, "click")}

    with OpenAIServer(Policy(claim=VIX)) as server:
        page.cutoff.value, page.model.value, page.claim.value = "2018-06-30", "openai/x", UNREAD
        page.settings.value = f"api_base={server.url}"
        assert [*buttons()] == ["Ask openai/x to read it"] and not server.asked
        page.plan.click()  # it is read first, and nothing starts
        assert [*buttons()] == ["The VIX closes below 13 on 2018-12-31", "Keep my words"] and not begun
        for name, number in (("The VIX closes below 13 on 2018-12-31", "1"), ("Keep my words", "0")):
            buttons()[name].click()
            page.plan.click()
            assert begun.pop()[-2:] == ["--reading", number]
        assert len(server.asked) == 1
