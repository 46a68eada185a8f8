"""A tournament of a hundred questions, from the venue and back to it, killed while it forecasts and while it posts: nothing twice."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.command_line import run_cli, run_json
from tests.fakes.metaculus import FakeMetaculus, number, post, question
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.sittings import context
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from tests.rounds.killed import PAGES, SIDE_BY_SIDE, KillingPolicy, sitting_in_process
from tests.rounds.test_metaculus_site import environ

BINARY, CHOICE, NUMERIC = 60, 20, 20
ALL = BINARY + CHOICE + NUMERIC


def tournament() -> FakeMetaculus:
    """The open questions of a season: yes or no, one of four, a number with ends open and closed, of many values and of few."""
    binary = [question(1000 + n, "binary", f"Will storm {n} reach the coast?") for n in range(BINARY)]
    choice = [question(2000 + n, "multiple_choice", f"Who wins race {n}?", options=["Ann", "Bo", "Cy", "Other"]) for n in range(CHOICE)]  # fmt: skip
    numeric = [
        number(
            3000 + n, f"How many ships call at port {n}?", 0, 200, open_low=n % 4 == 1, open_high=n % 2 == 0
        )
        if n % 5
        else number(3000 + n, f"How many goals fall in match {n}?", -0.5, 200.5, kind="discrete", count=201)
        for n in range(NUMERIC)
    ]
    return FakeMetaculus({"cup": [post(each) for each in (*binary, *choice, *numeric)]})


def sitting(home: Path, words: tuple[str, ...], env: dict[str, str], watched: list[int]) -> int | None:
    """A command in a process of its own, whose id those who may kill it know; its exit code."""
    process = context().Process(target=sitting_in_process, args=(home, words, env))
    process.start()
    watched.append(process.pid or 0)
    process.join()
    watched.clear()
    return process.exitcode


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_hundred_questions_are_fetched_forecast_and_posted_once_through_two_kills(tmp_path: Path) -> None:
    site, policy, web, watched, writes = (
        tournament(),
        KillingPolicy(at=[150]),
        FakeWeb([WebPage(PAGES[0].url, PAGES[0].title, PAGES[0].published, PAGES[0].text, engines=("exa",))]),
        list[int](),
        [0],
    )

    def strike(seen: Seen) -> Sent | None:
        """The third batch of forecasts arrives, and nobody hears of it."""
        writes[0] += seen.method == "POST"
        if writes[0] == 3 and watched:
            os.kill(watched.pop(), signal.SIGKILL)
        return None

    site.after = strike
    with Upstream(web.answer) as upstream, Upstream(site) as venue, OpenAIServer(policy) as server:
        env = environ(venue, WORKBENCH_UPSTREAM_EXA=f"{upstream.url}/exa", EXA_API_KEY="v3nd0rk3yv3nd0rk3y", OPENAI_API_KEY="sk-none")  # fmt: skip
        model = ("--model", "openai/x", "--set", f"api_base={server.url}", "--set", "price=openai/x=1,2")
        run = ("tournament", "run", "cup", *model, "--contexts", "gather", "--engines", "exa", "--trials", "1", "--promote", "0", "--budget-usd", "50")  # fmt: skip
        assert run_json(tmp_path, "questions", "fetch", "metaculus:cup", **env)["kept"] == ALL
        process = context().Process(target=sitting_in_process, args=(tmp_path, run, env))
        process.start()
        policy.pid = process.pid
        process.join()
        assert process.exitcode == -9 and policy.kills == 1
        done = run_cli(tmp_path, *run, "--json", **env)
        assert done.returncode == 0, done.stderr[-2000:]
        asked = Counter(policy.keys)
        assert sum(count - 1 for count in asked.values()) <= SIDE_BY_SIDE, (
            "only what was on its way is asked again"
        )
        document = json.loads(done.stdout)
        assert document["night"] == "cup.1" and all(row["p"] is not None for row in document["forecasts"])
        assert (
            len({row["question"] for row in document["forecasts"]}) == ALL
            and len(document["quantiles"]) == NUMERIC
        )

        hand_in = ("submit", "metaculus", "cup", "--post")
        dry = run_json(tmp_path, *hand_in[:-1], **env)
        assert Counter(row["part"] for row in dry["posted"]) == {"forecast": ALL, "comment": ALL}
        assert not site.forecasts and not dry["problems"]
        assert sitting(tmp_path, hand_in, env, watched) == -9 and len(site.forecasts) == 60
        rest = run_json(tmp_path, *hand_in, **env)
        assert {row["state"] for row in rest["posted"]} <= {"posted", "before"} and not rest["problems"]
        assert (
            set(Counter(row["question"] for row in site.forecasts).values()) == {1}
            and len(site.forecasts) == ALL
        )
        assert (
            set(Counter(row["on_post"] for row in site.comments).values()) == {1}
            and len(site.comments) == ALL
        )
        before = len(policy.keys), len(site.forecasts), len(site.comments)
        # what a cron line does when nothing is new
        assert run_json(tmp_path, "questions", "fetch", "metaculus:cup", **env)["new_or_changed"] == 0
        assert run_cli(tmp_path, "forecast", "--due", "--quiet", **env).returncode == 0
        assert {row["state"] for row in run_json(tmp_path, *hand_in, **env)["posted"]} == {"before"}
        assert before == (len(policy.keys), len(site.forecasts), len(site.comments))
