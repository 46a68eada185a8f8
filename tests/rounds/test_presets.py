"""What a preset buys: planned calls are the calls that are made, news is shared, models and trees are pooled in any order."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli, run_json
from tests.fakes.model_policy import Policy, text_of
from tests.fakes.openai_server import OpenAIServer, shared_beginning
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from workbench.models.costs import count_tokens
from workbench.questions.formats.format_registry import OWN
from workbench.studies.rounds.round_record import ResolvedForecast, learned_tree_weight, pooled
from workbench.studies.rounds.round_state import RoundRules, arms_of
from workbench.synthesis.rules.pooled import together

QUESTIONS: list[dict[str, Any]] = [
    {"id": "june", "title": "Will Ruritania and Borduria sign a peace treaty before 2027-06-01?", "criteria": "Resolves Yes if both sign it."},
    {"id": "july", "title": "Will Ruritania and Borduria sign a peace treaty before 2027-07-01?", "criteria": "Resolves Yes if both sign it."},
    {"id": "party", "title": "Which party leads on 2027-06-01?", "kind": "options", "options": ["D66", "CDA", "Other"]},
]  # fmt: skip
PLAN = {"P0": {f"P{n}": (f"Step {n} is announced by 2027-02-01", "Positive") for n in range(1, 5)}}
PAGES = [
    WebPage(f"https://www.reuters.com/{n}", title, "2026-11-20", f"{title}: what officials said. " * 12)
    for n, title in enumerate(
        ("Treaty talks resume", "Borduria votes", "Which party leads in polls", "Envoys meet", "Border quiet")
    )
]
shares = st.floats(0.01, 0.99)


@given(shares, st.integers(1, 5), st.sampled_from(["logit-mean", "mean", "median"]), st.floats(0, 1))
def test_pooling_equal_forecasts_changes_nothing(p: float, count: int, how: str, weight: float) -> None:
    assert pooled([p] * count, how) == p == together(p, p, weight)


@given(st.lists(shares, min_size=1, max_size=4), st.sampled_from(["logit-mean", "mean", "median"]))
def test_the_order_of_forecasts_changes_nothing_and_none_lies_outside_of_them(
    values: list[float], how: str
) -> None:
    assert {pooled(order, how) for order in permutations(values)} == {pooled(values, how)}
    assert min(values) - 1e-12 <= pooled(values, how) <= max(values) + 1e-12


@given(direct=shares, tree=shares, weight=st.floats(0, 1))
def test_a_tree_and_the_direct_forecast_meet_between_them(direct: float, tree: float, weight: float) -> None:
    low, high = sorted((direct, tree))
    p = together(direct, tree, weight)
    assert p is not None and low - 1e-12 <= p <= high + 1e-12
    assert together(direct, None, weight) == direct and together(None, tree, weight) == tree


@given(st.permutations(["a/x", "b/y", "c/z"]), st.integers(1, 12))
def test_the_order_of_models_changes_nothing(models: list[str], trial: int) -> None:
    rules = RoundRules(quick="zero-shot", model="a/x", models=models)
    assert rules.model_of(trial) == "abc"[(trial - 1) % 3] + "/" + "xyz"[(trial - 1) % 3]


def resolved(count: int, *, tree_knows: bool) -> list[ResolvedForecast]:
    """Half come true; one of the two ways says 80 % of what is so, the other 50 %."""
    rows = []
    for number in range(count):
        outcome = float(number % 2)
        told = 0.8 if outcome else 0.2
        direct, tree = (0.5, told) if tree_knows else (told, 0.5)
        rows.append(ResolvedForecast(question=f"q{number}", trials=(direct,), p=0.5, crowd=None, outcome=outcome, direct=direct, tree=tree))  # fmt: skip
    return rows


def test_a_tree_gets_the_weight_that_it_earned_and_one_half_until_then() -> None:
    assert learned_tree_weight(resolved(19, tree_knows=True)) == 0.5
    knows, knows_not = (learned_tree_weight(resolved(60, tree_knows=knows)) for knows in (True, False))
    assert knows == pytest.approx(0.875) and knows_not == pytest.approx(0.125)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "q.json").write_text(json.dumps({"format": OWN, "questions": QUESTIONS}))
    assert run_cli(tmp_path, "questions", "import", "q.json", "--as", "q").returncode == 0
    return tmp_path


@pytest.fixture(scope="module")
def web() -> Iterator[tuple[FakeWeb, dict[str, str]]]:
    pages = FakeWeb(PAGES)
    with Upstream(pages.answer) as upstream:
        yield pages, {"WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave", "BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y"}  # fmt: skip


def tournament(home: Path, server: OpenAIServer, env: dict[str, str], *words: str) -> Any:
    asked = (
        "--set",
        f"api_base={server.url}",
        "--set",
        "price=openai/x=3,15",
        "--set",
        "price=openai/y=3,15",
    )
    model = () if "--model" in words else ("--model", "openai/x")
    return run_cli(home, "tournament", "run", "q", *model, *asked, *words, OPENAI_API_KEY="sk-none", **env)


def planned_calls(text: str) -> dict[str, int]:
    """Calls by the word that a line of a plan begins with."""
    parts = (line.replace("cost ", "").split() for line in text.splitlines() if " calls to " in line)
    return {words[0].rstrip(":"): int(words[words.index("calls") - 1]) for words in parts}


@pytest.mark.parametrize("preset", ["quick", "product"])
def test_what_a_preset_plans_is_what_it_asks(
    home: Path, web: tuple[FakeWeb, dict[str, str]], preset: str
) -> None:
    with OpenAIServer(Policy(plan=PLAN)) as server:
        words = (
            "--preset",
            preset,
            "--engines",
            "brave",
            *(("--promote", "1") if preset == "product" else ()),
        )
        plan = planned_calls(tournament(home, server, web[1], *words, "--plan-only").stdout)
        assert not server.asked
        done = tournament(home, server, web[1], *words, "--json")
        assert done.returncode == 0, done.stderr
        asked = Counter("contexts" if one.stage in ("queries", "sources") else "trees" if one.stage in ("act", "analyze", "linear") else "quick" for one in server.asked)  # fmt: skip
        texts = [one.everything for one in server.asked if one.stage in ("conclude", "outcomes")]
    rules = json.loads(done.stdout)["rules"]
    said = next(line for line in done.stderr.splitlines() if line.startswith("with what was found"))
    sent = int(re.search(r"([\d,]+) tokens sent", said)[1].replace(",", ""))  # type: ignore[index]
    assert sent == pytest.approx(sum(count_tokens("openai/x", text) for text in texts), rel=0.1)
    assert (asked["contexts"], asked["quick"]) == (plan["contexts"], plan["quick"]) and asked["quick"] == 15
    assert all("What was gathered about it" in text for text in texts), (
        "news is gathered without being asked for"
    )
    if preset == "quick":
        # a public template bot: one call of research, five forecasts and a parse
        assert plan == {"contexts": 3, "quick": 15} and sum(asked.values()) / 3 <= 1.2 * 7
        assert (rules["pool"], rules["promote"]) == ("median", 0)
    else:
        assert 0 < asked["trees"] <= plan["trees"] <= 25


@pytest.mark.parametrize("preset", ["quick", "best"])
def test_all_samples_but_the_first_of_a_question_are_read_from_the_providers_cache_and_billed_so(
    home: Path, preset: str
) -> None:
    long = [{**each, "criteria": "Resolves by what both governments publish, " * 110} for each in QUESTIONS]
    (home / "q.json").write_text(json.dumps({"format": OWN, "questions": long}))
    assert run_cli(home, "questions", "import", "q.json", "--as", "q").returncode == 0
    words = (
        "--preset",
        preset,
        "--promote",
        "0",
        "--contexts",
        "none",
        "--set",
        "price=openai/x=3000,15000,300",
    )
    with OpenAIServer(Policy(caches=True)) as server:
        plan = tournament(home, server, {}, *words, "--set", "reply_tokens=250", "--plan-only").stdout
        done = tournament(home, server, {}, *words, "--json")
        assert done.returncode == 0, done.stderr
    samples: dict[str, list[str]] = {}
    for asked in server.asked:
        text = "".join(map(text_of, asked.messages))
        samples.setdefault(next(each["id"] for each in QUESTIONS if each["title"] in text), []).append(text)
    assert {name: len(texts) for name, texts in samples.items()} == {"june": 5, "july": 5, "party": 5}
    for name, texts in samples.items():
        shared = shared_beginning(texts)
        # rules, question, context and form of the reply stand before what a sample alone is told
        assert len(shared) > 4096 and {len(text.removeprefix(shared)) < 400 for text in texts} == {True}
        assert len(set(texts)) == (3 if preset == "best" and name != "party" else 1)
    read = [usage["prompt_tokens_details"]["cached_tokens"] for _, usage in server.usages]
    assert sum(count > 1024 for count in read) >= 12  # the first of each question is read anew
    bill = sum(3 * (usage["prompt_tokens"] - count) + 0.3 * count + 15 * usage["completion_tokens"] for count, (_, usage) in zip(read, server.usages, strict=True))  # fmt: skip
    document = json.loads(done.stdout)
    assert document["cost_usd"] == pytest.approx(bill / 1e3, rel=1e-3)
    sent, dollars = re.search(r"quick pass .* ([\d,]+) tokens sent, about \$([\d.]+)", plan).groups()  # type: ignore[union-attr]
    # of a round's input the plan expects the same share to be paid in full as the bill does
    written = 15 * 250 * 15e-3
    expected = (float(dollars) - written) / (float(sent.replace(",", "")) * 3e-3)
    paid = 1 - 0.9 * sum(read) / sum(usage["prompt_tokens"] for _, usage in server.usages)
    assert expected == pytest.approx(paid, abs=0.06) and paid < 0.4


def test_close_questions_buy_one_search(home: Path, web: tuple[FakeWeb, dict[str, str]]) -> None:
    web[0].seen.clear()
    with OpenAIServer(Policy()) as server:
        words = ("--preset", "quick", "--engines", "brave", "--until", "contexts")
        assert tournament(home, server, web[1], *words).returncode == 0
    searched = [seen.query["q"] for seen in web[0].seen]
    assert len(searched) == len(set(searched)) == 4, searched


def test_a_live_round_without_a_source_of_news_asks_before_it_spends(home: Path) -> None:
    with OpenAIServer(Policy()) as server:
        none = {"WORKBENCH_NETWORK": "off"}
        refused = tournament(home, server, none, "--trials", "1", "--promote", "0")
        assert refused.returncode == 2 and "--contexts none" in refused.stderr and not server.asked
        done = tournament(home, server, none, "--trials", "1", "--promote", "0", "--contexts", "none")
        assert done.returncode == 0 and len(server.asked) == 3


def test_several_models_forecast_in_turn_and_their_order_counts_for_nothing(home: Path) -> None:
    results = []
    for first, second in (("x", "y"), ("y", "x")):
        with OpenAIServer(Policy()) as server:
            words = ("--model", f"openai/{first}", "--model", f"openai/{second}", "--contexts", "none", "--promote", "0", "--new")  # fmt: skip
            done = tournament(home, server, {}, *words, "--json")
            assert done.returncode == 0, done.stderr
            assert Counter(one.body["model"] for one in server.asked) == {"x": 9, "y": 6}
        results.append(json.loads(done.stdout)["forecasts"])
    assert [set(row["by_model"]) for row in results[0]] == [{"openai/x", "openai/y"}] * len(results[0])
    assert [row["p"] for row in results[0]] == [row["p"] for row in results[1]]


def test_a_server_of_ones_own_is_not_sent_another_providers_model() -> None:
    rules = RoundRules(
        quick="zero-shot",
        model="openai/x",
        models=("openai/x", "openai/y", "anthropic/z"),
        settings={"api_base": "http://localhost:9"},
    )
    arm = arms_of(rules)["quick"]
    assert [arm.base_of(model).api_base for model in arm.models] == [None, "http://localhost:9", "http://localhost:9"]  # fmt: skip


def test_a_budget_that_pays_for_no_tree_begins_none(home: Path) -> None:
    with OpenAIServer(Policy(plan=PLAN)) as server:
        words = ("--contexts", "none", "--trials", "1", "--budget-usd", "0.3", "--promote", "3")
        done = tournament(home, server, {}, *words)
        assert done.returncode == 0 and "pays for 0 of 3 trees" in done.stderr, done.stderr
        assert {one.stage for one in server.asked} == {"conclude", "outcomes"}
    assert run_json(home, "tournament", "show", "q")["promoted"] == {}


def test_a_claim_gets_one_search_and_five_forecasts(
    tmp_path: Path, web: tuple[FakeWeb, dict[str, str]]
) -> None:
    claim = ("analyze", "Ruritania and Borduria sign a peace treaty by 2027-06-01", "--cutoff", "now", "--preset", "quick")  # fmt: skip
    with OpenAIServer(Policy()) as server:
        words = (*claim, *server.words(), "--yes")
        refused = run_cli(tmp_path, *words[:-1], OPENAI_API_KEY="sk-none", WORKBENCH_NETWORK="off")
        assert refused.returncode == 2 and "news" in refused.stderr and not server.asked
        down = {f"WORKBENCH_UPSTREAM_{name}": "http://127.0.0.1:9" for name in ("GDELT", "WIKIPEDIA")}
        run_json(tmp_path, *words, OPENAI_API_KEY="sk-none", **web[1], **down)
        stages = [one.stage for one in server.asked]
        assert sorted(stages) == ["conclude"] * 5 + ["sources"]
        assert all("What was gathered about it" in one.everything for one in server.by_stage("conclude"))


def test_a_claim_about_an_event_takes_no_more_than_its_product_promises(
    tmp_path: Path, web: tuple[FakeWeb, dict[str, str]]
) -> None:
    claim = ("analyze", "Ruritania and Borduria sign a peace treaty by 2027-06-01", "--cutoff", "now")
    with OpenAIServer(Policy(plan=PLAN)) as server:
        done = run_cli(tmp_path, *claim, *server.words(), OPENAI_API_KEY="sk-none", **web[1])
        assert done.returncode == 0, done.stderr
        stages = Counter(one.stage for one in server.asked)
    assert stages["act"] >= 4 and not stages["step"] and sum(stages.values()) <= 25, stages
