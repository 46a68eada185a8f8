"""Metaculus, fetched and posted to: what its validators take, each forecast and comment once, also through a kill, and no token anywhere."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.vendors.metaculus import MetaculusSite
from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.metaculus import (
    TOKEN,
    FakeMetaculus,
    forecast_fault,
    group,
    instant,
    number,
    post,
    question,
)
from tests.fakes.sittings import context
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.rounds.killed import sitting_in_process
from workbench.engine.ownership import own_folder
from workbench.questions.formats.metaculus import read_questions
from workbench.questions.question import Question
from workbench.questions.sets.posting import Posting
from workbench.questions.sets.question_sets import QuestionSet, load_set
from workbench.questions.sets.schedule import HalvingSchedule, due_since
from workbench.questions.sets.submission_files import (
    METACULUS_WRITES,
    check_metaculus_forecasts,
    metaculus_forecasts,
    within,
)
from workbench.store import Store
from workbench.studies.study_exam import known_context

LEVELS = ("0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")


def cup() -> FakeMetaculus:
    """A tournament of a question of each kind, and a group."""
    rows = [
        post(question(1, "binary", "Will it rain?")),
        post(question(2, "multiple_choice", "Who wins?", options=["Ann", "Bo", "Cy"])),
        post(number(3, "How many come?", 0, 200, open_high=True)),
        post(number(4, "How many goals?", -0.5, 10.5, open_high=True, kind="discrete", count=11)),
        group(900, "Which months are dry?", question(5, "binary", "May?"), question(6, "binary", "June?"), question(7, "binary", "July?"), question(8, "binary", "August?")),
        post(question(9, "binary", "Already over?", scheduled_close_time=instant(-1), actual_close_time=instant(-1))),
    ]  # fmt: skip
    return FakeMetaculus({"cup": rows, "33022": rows[:1]})


def environ(site: Upstream, **more: str) -> dict[str, str]:
    return {"WORKBENCH_UPSTREAM_METACULUS": f"{site.url}/api", "METACULUS_TOKEN": TOKEN, **more}


def forecasts(home: Path, *, p: float = 0.3) -> None:
    """A file with a forecast of every event of the set ``cup`` but of its numbers."""
    rows = [("1", p), ("2#Ann", 0.5), ("2#Bo", 0.5), ("2#Cy", 0.0), *((name, 0.4) for name in "5678")]
    (home / "f.csv").write_text("method,event_id,trial,p\n" + "".join(f"m,{event},1,{q}\n" for event, q in rows))  # fmt: skip


@dataclass(frozen=True)
class Desk:
    """A home that has fetched the tournament and holds a file of forecasts, and the environment that leads to the site."""

    fake: FakeMetaculus
    environ: dict[str, str]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    fake = cup()
    with Upstream(fake) as site:
        run_ok(tmp_path, "questions", "fetch", "metaculus:cup", **environ(site))
        forecasts(tmp_path)
        yield Desk(fake, environ(site))


POST = ("submit", "metaculus", "cup", "--forecasts", "f.csv", "--post")


def test_a_tournament_is_fetched_whole_with_the_texts_of_its_groups(tmp_path: Path) -> None:
    with Upstream(cup()) as site:
        done = run_json(tmp_path, "questions", "fetch", "metaculus:cup", **environ(site))
        assert (done["set"], done["kept"]) == ("cup", 8)
        shown = run_json(tmp_path, "questions", "show", "cup/8")["question"]
        assert (shown["background"], shown["criteria"]) == ("Of all.", "The same for each. No rounding.")
        assert (
            run_json(tmp_path, "questions", "fetch", "metaculus:33022", "--as", "n", **environ(site))["kept"]
            == 1
        )
        one = run_json(tmp_path, "questions", "fetch", "metaculus:questions/100002", **environ(site))
        assert (one["set"], one["kept"]) == ("100002", 1)
        again = run_json(tmp_path, "questions", "fetch", "metaculus:cup", **environ(site))
        assert again["new_or_changed"] == 0
        gone = run_cli(tmp_path, "questions", "fetch", "metaculus:nothing", **environ(site))
        assert gone.returncode == 2 and "no tournament 'nothing'" in gone.stderr


def test_each_forecast_and_comment_is_posted_once_and_a_new_one_again(tmp_path: Path, desk: Desk) -> None:
    fake = desk.fake
    plan = run_json(tmp_path, *POST[:-1], **desk.environ)
    assert {row["state"] for row in plan["posted"]} == {"to post"} and not fake.forecasts
    assert plan["left_out"] == ["3: no forecast", "4: no forecast"]
    done = run_json(tmp_path, *POST, **desk.environ)
    assert {row["state"] for row in done["posted"]} == {"posted"} and not done["problems"]
    assert sorted(row["question"] for row in fake.forecasts) == [1, 2, 5, 6, 7, 8]
    assert [row["on_post"] for row in fake.comments] == [100_001, 100_002, 900]
    assert all(row["is_private"] for row in fake.comments)
    again = run_json(tmp_path, *POST, **desk.environ)
    assert {row["state"] for row in again["posted"]} == {"before"}
    forecasts(tmp_path, p=0.6)
    run_ok(tmp_path, *POST, **desk.environ)
    assert [row["question"] for row in fake.forecasts[6:]] == [1] and len(fake.comments) == 4


def test_a_forecast_that_the_site_refuses_is_named_and_holds_up_no_other(tmp_path: Path, desk: Desk) -> None:
    fake = desk.fake

    def closes(seen: Seen) -> Sent | None:
        if seen.method == "POST":  # between our look at it and the forecast
            closed = {"scheduled_close_time": instant(-0.01), "actual_close_time": instant(-0.01)}
            fake.tournaments["cup"][0]["question"].update(closed)
        return None

    fake.before = closes
    done = run_cli(tmp_path, *POST, **desk.environ)
    assert done.returncode == 6 and "already closed" in done.stdout, done.stdout + done.stderr
    assert sorted(row["question"] for row in fake.forecasts) == [2, 5, 6, 7, 8]
    assert [row["on_post"] for row in fake.comments] == [100_002, 900]


def test_without_a_token_nothing_is_sent_and_a_wrong_one_is_told_at_once(tmp_path: Path, desk: Desk) -> None:
    fake = desk.fake
    for token, says in (("", "set METACULUS_TOKEN"), ("an0therb0tst0ken", "check METACULUS_TOKEN")):
        done = run_cli(tmp_path, *POST, **{**desk.environ, "METACULUS_TOKEN": token})
        assert done.returncode in (2, 4) and says in done.stderr, done.stderr
    assert not fake.forecasts
    public = run_cli(tmp_path, *POST, "--set", "public=true", **desk.environ)
    assert public.returncode == 6 and "private comment" in public.stdout and len(fake.forecasts) == 6


def test_the_token_stands_nowhere(tmp_path: Path, desk: Desk) -> None:
    fake = desk.fake
    fake.after = lambda seen: Sent({"detail": f"got {seen.headers.get('authorization')}"}, 400) if seen.method == "POST" else None  # fmt: skip
    done = run_cli(tmp_path, *POST, **desk.environ)
    assert done.returncode == 6
    assert TOKEN not in done.stdout + done.stderr
    for path in (tmp_path / "home").rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes(), path


def test_what_the_site_has_settled_is_recorded_numbers_and_days_too(tmp_path: Path) -> None:
    fake = cup()
    with Upstream(fake) as site:
        run_ok(tmp_path, "questions", "fetch", "metaculus:cup", **environ(site))
        over = {
            "scheduled_close_time": instant(-1),
            "actual_close_time": instant(-1),
            "actual_resolve_time": instant(-0.5),
        }
        for place, resolution in enumerate(("yes", "Bo", "17", "3")):
            fake.tournaments["cup"][place]["question"].update(resolution=resolution, **over)
        # the set was fetched while they were open: only the site knows better
        asked = len(site.seen)
        assert (
            run_json(tmp_path, "resolve", "--due", **environ(site))["sets"] == {} and len(site.seen) == asked
        )
        late = [
            {**row, "question": {**row["question"], "resolution": None}}
            for row in fake.tournaments["cup"][:4]
        ]
        (tmp_path / "late.json").write_text(json.dumps(late))
        run_ok(tmp_path, "questions", "import", "late.json", "--as", "cup")
        done = run_json(tmp_path, "resolve", "--due", **environ(site))
        assert not done["failed"] and done["sets"]["cup"] > 3
        shown = {name: run_json(tmp_path, "questions", "show", f"cup/{name}") for name in "1234"}
        assert [shown[name]["question"].get("values") for name in "34"] == [{"3": 17.0}, {"4": 3.0}]
        assert shown["1"]["events"][0]["outcome"] == 1.0
        assert {row["part"]: row["outcome"] for row in shown["2"]["events"]} == {
            "Ann": 0.0,
            "Bo": 1.0,
            "Cy": 0.0,
        }
        assert run_json(tmp_path, "resolve", "--due", **environ(site))["sets"] == {}


@pytest.mark.long
@pytest.mark.parametrize("at", [1, 2, 4])
@pytest.mark.parametrize("arrives", [True, False])
def test_a_posting_that_is_killed_goes_on_and_posts_nothing_twice(
    tmp_path: Path, desk: Desk, at: int, arrives: bool
) -> None:
    """Killed at the nth request that writes: before the site has taken it, or after, without the answer."""
    fake, writes, victim = desk.fake, [0], [0]

    def strike(seen: Seen) -> Sent | None:
        writes[0] += seen.method == "POST"
        if seen.method == "POST" and writes[0] == at and victim[0]:
            os.kill(victim[0], signal.SIGKILL)
            victim[0] = 0
            return Sent({}, 503)
        return None

    setattr(fake, "after" if arrives else "before", strike)
    process = context().Process(target=sitting_in_process, args=(tmp_path, POST, desk.environ))
    process.start()
    victim[0] = process.pid or 0
    process.join()
    assert process.exitcode == -9
    run_ok(tmp_path, *POST, **desk.environ)
    assert sorted(row["question"] for row in fake.forecasts) == [1, 2, 5, 6, 7, 8]
    assert sorted(row["on_post"] for row in fake.comments) == [900, 100_001, 100_002]


def test_two_postings_at_once_are_one(tmp_path: Path, desk: Desk) -> None:
    fake = desk.fake
    with own_folder(tmp_path / "home" / "nights" / "cup.posting.lock", what="posting set cup"):
        busy = run_cli(tmp_path, *POST, **desk.environ)
    assert busy.returncode == 2 and "posting set cup is running" in busy.stderr and not fake.forecasts


@given(st.timedeltas(timedelta(0), timedelta(days=365)))
def test_a_question_is_due_until_the_instant_at_which_its_site_closes_it(after: timedelta) -> None:
    close = datetime(2026, 1, 1, tzinfo=UTC) + after
    asked = as_asked(question(1, "binary", "Rain?", scheduled_close_time=close.isoformat(), actual_close_time=(close + timedelta(days=3)).isoformat()))  # fmt: skip
    second = timedelta(seconds=1)
    assert due_since(asked, [], HalvingSchedule(), close - second) is not None
    assert due_since(asked, [], HalvingSchedule(), close + second) is None
    told = known_context(asked, "", Cutoff.parse("now")).horizon.text
    assert told == f"by {(close - timedelta(microseconds=1)).date().isoformat()}"


def as_asked(entry: dict[str, Any]) -> Question:
    reading = read_questions([post(entry)])
    assert not reading.left_out, reading.left_out
    return reading.questions[0]


@st.composite
def numeric_entries(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.floats(-1e6, 1e6))
    width = draw(st.floats(1e-3, 1e6))
    kind = draw(st.sampled_from(["numeric", "discrete"]))
    zero = draw(st.one_of(st.none(), st.floats(0.01, 100))) if kind == "numeric" else None
    return number(
        3, "How many?", low, low + width, open_low=draw(st.booleans()), open_high=draw(st.booleans()), kind=kind,
        zero_point=None if zero is None else low - zero * width,
        count=draw(st.integers(2, 199)) if kind == "discrete" else None,
    )  # fmt: skip


@given(numeric_entries(), st.lists(st.floats(-0.5, 1.5), min_size=7, max_size=7))
def test_every_distribution_is_one_that_the_site_takes(entry: dict[str, Any], places: list[float]) -> None:
    asked = as_asked(entry)
    assert asked.low is not None and asked.high is not None
    low = 0.0 if not asked.open_low else -0.5
    high = 1.0 if not asked.open_high else 1.5
    stated = sorted(asked.low + (asked.high - asked.low) * min(max(place, low), high) for place in places)
    stated = [
        min(max(value, asked.low if low == 0 else value), asked.high if high == 1 else value)
        for value in stated
    ]
    questions = QuestionSet(name="s", questions={asked.id: asked})
    (made,) = metaculus_forecasts(questions, {}, {asked.id: dict(zip(LEVELS, stated, strict=True))})
    assert forecast_fault(entry, made["continuous_cdf"]) == ""
    assert check_metaculus_forecasts(json.dumps([made]), questions) == []


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.floats(0, 0.02))
def test_every_choice_is_one_that_the_site_takes(weights: list[float], least: float) -> None:
    total = sum(weights)
    weights = [each / total for each in weights] if total > 1e-6 else [1 / len(weights)] * len(weights)
    options = [f"o{place}" for place in range(len(weights))]
    entry = question(2, "multiple_choice", "Who?", options=options)
    asked = as_asked(entry)
    questions = QuestionSet(name="s", questions={asked.id: asked})
    p = {f"2#{option}": weight for option, weight in zip(options, weights, strict=True)}
    (made,) = metaculus_forecasts(questions, within(questions, p, max(least, METACULUS_WRITES)), {})
    assert forecast_fault(entry, made["probability_yes_per_category"]) == ""
    assert check_metaculus_forecasts(json.dumps([made]), questions) == []


@given(st.data())
def test_our_check_and_the_site_refuse_the_same_distributions(data: st.DataObject) -> None:
    entry = number(3, "How many?", 0, 10, open_low=data.draw(st.booleans()), open_high=data.draw(st.booleans()), kind="discrete", count=20)  # fmt: skip
    asked = as_asked(entry)
    made = [place / 20 for place in range(21)]
    for _ in range(data.draw(st.integers(0, 2))):
        made[data.draw(st.integers(0, 20))] = data.draw(st.floats(0, 1))
    ends = data.draw(st.sampled_from([(0.0, 1.0), (0.001, 0.999), (0.0009, 1.0), (0.01, 1.0)]))
    made[0], made[-1] = ends
    made = made[: data.draw(st.sampled_from([21, 21, 21, 20]))]
    questions = QuestionSet(name="s", questions={asked.id: asked})
    ours = check_metaculus_forecasts(json.dumps([{"question": 3, "source": "api", "continuous_cdf": made}]), questions)  # fmt: skip
    assert bool(ours) == bool(forecast_fault(entry, made))


def states(done: dict[str, Any]) -> dict[str, str]:
    return {row["question"]: row["state"] for row in done["posted"] if row["part"] == "forecast"}


@pytest.mark.parametrize(
    ("place", "change", "state", "says"),
    [
        (0, {"status": "closed", "actual_close_time": instant(-0.1)}, "closed", "closed on the site"),
        (0, {"resolution": "annulled", "actual_resolve_time": instant(-0.1)}, "closed", "resolved as annulled"),
        (0, {"resolution": "yes", "actual_resolve_time": instant(-0.1), "actual_close_time": instant(-0.1)}, "closed", "closed on the site"),
        (1, {"options": ["Ann", "Bo", "Cy", "Di"]}, "refused", "changed options"),
        (0, None, "closed", "shows it no more"),
    ],
    ids=["closed", "annulled", "settled", "another option", "gone"],
)  # fmt: skip
def test_a_question_that_is_another_one_by_now_gets_no_forecast_and_holds_up_no_other(
    tmp_path: Path, desk: Desk, place: int, change: dict[str, Any] | None, state: str, says: str
) -> None:
    fake = desk.fake
    asked = fake.tournaments["cup"][place]
    name = str(asked["question"]["id"])
    asked["question"] = {"id": 77} if change is None else {**asked["question"], **change}
    if change is None:
        asked |= {"question": question(77, "binary", "Another one?")}
    came = run_cli(tmp_path, *POST, "--json", **desk.environ)
    done = json.loads(came.stdout)
    assert states(done)[name] == state and set(states(done).values()) == {state, "posted"}
    assert says in next(row["reason"] for row in done["posted"] if row["question"] == name)
    assert int(name) not in {row["question"] for row in fake.forecasts} and len(fake.forecasts) == 5
    # a question that has closed is nothing that a cron line should report each time
    assert came.returncode == (6 if state == "refused" else 0)


def test_a_site_that_asks_to_wait_gets_each_forecast_once_then_or_at_the_next_call(
    tmp_path: Path, desk: Desk
) -> None:
    fake, waits = desk.fake, ["1", "1", "3600"]

    def busy(seen: Seen) -> Sent | None:
        if seen.method != "POST" or not waits:
            return None
        return Sent({"detail": "Request was throttled."}, 429, {"retry-after": waits.pop(0)})

    fake.before = busy
    first = run_cli(tmp_path, *POST, **desk.environ)
    assert first.returncode != 0 and "HTTP 429" in first.stderr and not fake.forecasts
    waits += ["1"]
    assert set(states(run_json(tmp_path, *POST, **desk.environ)).values()) == {"posted"}
    numbers = [row["question"] for row in fake.forecasts]
    assert sorted(numbers) == [1, 2, 5, 6, 7, 8] and len(fake.comments) == 3


def test_a_token_that_is_revoked_on_the_way_leaves_what_the_next_one_finishes(
    tmp_path: Path, desk: Desk
) -> None:
    fake, sent = desk.fake, 0

    def revoked(seen: Seen) -> Sent | None:
        nonlocal sent
        sent += seen.method == "POST"
        return Sent({"detail": "Invalid token."}, 401) if sent in (2, 3) else None

    fake.before = revoked
    first = run_cli(tmp_path, *POST, **desk.environ)
    assert first.returncode == 2 and "METACULUS_TOKEN" in first.stderr
    sent = 9
    run_ok(tmp_path, *POST, **desk.environ)
    assert sorted(row["question"] for row in fake.forecasts) == [1, 2, 5, 6, 7, 8]
    assert sorted(row["on_post"] for row in fake.comments) == [900, 100_001, 100_002]


def test_a_question_of_two_tournaments_gets_one_forecast_and_one_comment(tmp_path: Path) -> None:
    fake = cup()
    with Upstream(fake) as site:
        for part in ("cup", "33022"):
            run_ok(tmp_path, "questions", "fetch", f"metaculus:{part}", "--as", f"t{part}", **environ(site))
        forecasts(tmp_path)
        words = [(POST[0], POST[1], f"t{part}", *POST[3:], "--partial") for part in ("cup", "33022")]
        run_ok(tmp_path, *words[0], **environ(site))
        (tmp_path / "f.csv").write_text("method,event_id,trial,p\nm,1,1,0.3\n")
        assert states(run_json(tmp_path, *words[1], **environ(site))) == {"1": "before"}
        assert [row["question"] for row in fake.forecasts].count(1) == 1
        assert [row["on_post"] for row in fake.comments].count(100_001) == 1
        # another forecast is an update, whichever set it comes from
        (tmp_path / "f.csv").write_text("method,event_id,trial,p\nm,1,1,0.7\n")
        assert states(run_json(tmp_path, *words[1], **environ(site))) == {"1": "posted"}


@pytest.mark.parametrize(
    "change",
    [{"scaling": {"range_max": 500}}, {"scaling": {"range_min": -10}}, {"open_upper_bound": False}, {"scaling": {"zero_point": -5}}],
    ids=["high", "low", "closed end", "logarithmic"],
)  # fmt: skip
async def test_a_distribution_is_not_sent_for_other_ends_than_it_was_made_for(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    fake = cup()
    with Upstream(fake) as upstream:
        run_ok(tmp_path, "questions", "fetch", "metaculus:cup", **environ(upstream))
        with Store(tmp_path / "home") as store:
            questions = load_set(store, "cup")
            values = dict(zip(LEVELS, (5, 10, 30, 60, 90, 120, 150), strict=True))
            (entry,) = metaculus_forecasts(questions, {}, {"3": values})
            posting = Posting(
                store=store, questions=questions, entries={"3": entry}, comments={}, now=datetime.now(UTC)
            )
            asked = fake.questions()[3][0]
            before = dict(asked)
            asked |= {
                name: {**asked[name], **to} if isinstance(to, dict) else to for name, to in change.items()
            }
            site = MetaculusSite(environ(upstream))
            (row,) = await posting.post(site)
            assert (row.state, "has changed" in row.reason, fake.forecasts) == ("refused", True, [])
            asked |= before
            (row,) = await posting.post(site)
            assert row.state == "posted" and fake.forecasts[0]["question"] == 3
            await site.aclose()


def test_what_the_site_took_is_posted_whatever_it_says_to_it(tmp_path: Path, desk: Desk) -> None:
    desk.fake.after = lambda seen: Sent(b"", 201) if seen.method == "POST" else None
    for state in ("posted", "before"):
        assert set(states(run_json(tmp_path, *POST, **desk.environ)).values()) == {state}
    assert sorted(row["question"] for row in desk.fake.forecasts) == [1, 2, 5, 6, 7, 8]
    assert len(desk.fake.comments) == 3


def test_a_post_that_is_gone_holds_up_no_other(tmp_path: Path, desk: Desk) -> None:
    desk.fake.tournaments = {"cup": desk.fake.tournaments["cup"][1:]}
    for state in ("posted", "before"):
        found = states(run_json(tmp_path, *POST, **desk.environ))
        assert found == {"1": "closed", **dict.fromkeys("25678", state)}
    assert sorted(row["question"] for row in desk.fake.forecasts) == [2, 5, 6, 7, 8]


def test_an_answer_that_cannot_be_read_leaves_what_the_next_call_looks_up(tmp_path: Path, desk: Desk) -> None:
    odd = Sent(b"[]", 201, {"content-encoding": "br"})
    desk.fake.after = lambda seen: odd if seen.method == "POST" else None
    assert run_cli(tmp_path, *POST, **desk.environ).returncode != 0
    desk.fake.after = lambda seen: None
    assert set(states(run_json(tmp_path, *POST, **desk.environ)).values()) == {"posted"}
    assert sorted(row["question"] for row in desk.fake.forecasts) == [1, 2, 5, 6, 7, 8]


def test_a_post_that_is_gone_before_it_is_looked_up_holds_up_no_other(tmp_path: Path, desk: Desk) -> None:
    desk.fake.after = lambda seen: (
        Sent(b"[]", 201, {"content-encoding": "br"}) if seen.method == "POST" else None
    )
    assert run_cli(tmp_path, *POST, **desk.environ).returncode != 0
    desk.fake.after = lambda seen: None
    desk.fake.tournaments = {"cup": desk.fake.tournaments["cup"][1:]}
    found = states(run_json(tmp_path, *POST, **desk.environ))
    assert found == {"1": "closed", **dict.fromkeys("25678", "posted")}
