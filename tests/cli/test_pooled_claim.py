"""One claim asked of models: the tree and the direct forecasts, what each model said, one search, one bill, no key on a wrong way."""

import json
import math
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.skilled_forecasters import CLOSES, World
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage

WORLD = World(seed=3, events=3)
CLAIM = f"Event 1 of world 3 comes about by {CLOSES}"
PRICES = ("--price", "openai/x=3,15", "--price", "openai/y=3,15")
TWO = ("--model", "openai/x", "--model", "openai/y", *PRICES)
#: Drivers whose evidence is thought alone, so that no kernel is started.
BARE = ("--grounder", "zero-shot", "--reading", "0", "--yes")
KEY = {"OPENAI_API_KEY": "sk-none"}


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def logit_mean(values: list[float]) -> float:
    return 1 / (1 + math.exp(-sum(map(logit, values)) / len(values)))


def analyze(home: Path, server: OpenAIServer, *words: str, **env: str) -> Any:
    return run_cli(
        home, "analyze", CLAIM, "--cutoff", "now", "--api-base", server.url, *BARE, *words, **KEY, **env
    )


def asked_of(server: OpenAIServer) -> Counter[tuple[str, str]]:
    return Counter((str(one.body["model"]), one.node) for one in server.asked if one.stage == "conclude")


@pytest.mark.parametrize("preset", ["product", "best"])
def test_the_root_is_the_logit_mean_of_the_tree_and_of_each_model(tmp_path: Path, preset: str) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        done = analyze(tmp_path, server, *TWO, "--preset", preset, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    root, *leaves = document["nodes"]
    direct, rule = document["direct"], document["nodes"][0]["rule"]
    forecasts = direct["forecasts"]
    # x forecasts first, third and fifth, y second and fourth: the models count alike, however often each was asked
    by_model = {"openai/x": logit_mean(forecasts[::2]), "openai/y": logit_mean(forecasts[1::2])}
    assert direct["by_model"] == pytest.approx(by_model)
    assert direct["p"] == pytest.approx(logit_mean([*by_model.values()])) == pytest.approx(rule["direct"])
    tree = rule["rule"]["intercept"] + sum(rule["rule"]["weights"][leaf["id"]] * leaf["p"] for leaf in leaves)
    assert direct["tree"] == pytest.approx(tree) and direct["tree_weight"] == rule["tree_weight"] == 0.5
    assert root["p"] == pytest.approx(logit_mean([tree, direct["p"]]))
    counted = asked_of(server)
    assert (counted["x", "P0"], counted["y", "P0"]) == (
        3 + (preset == "best"),
        2,
    )  # best asks for a prior too
    assert {model for model, node in counted if node != "P0"} == {"x"}  # the tree is the first one's
    text = run_ok(tmp_path, "show", "last")
    first = text.splitlines()[0]
    assert all(f"{100 * p:.1f}%" in first for p in (root["p"], tree, direct["p"])), first
    assert all(f"{model} {100 * p:.1f}%" in text for model, p in by_model.items()), text
    assert run_cli(tmp_path, "audit", "last").returncode == 0
    assert run_cli(tmp_path, "verify", "last").returncode == 0


def test_an_edit_moves_the_tree_and_no_direct_part_and_a_note_says_both(tmp_path: Path) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        assert analyze(tmp_path, server, *TWO).returncode == 0
    before = run_json(tmp_path, "show", "last", "--json")
    direct, rule = before["direct"]["p"], before["nodes"][0]["rule"]["rule"]
    leaves = [node["id"] for node in before["nodes"] if node["kind"] == "leaf"]
    for p in (0.2, 0.7):
        edits = [word for leaf in leaves for word in ("--set", f"{leaf}={p}")]
        after = run_json(tmp_path, "whatif", "last", *edits, "--json")
        tree = rule["intercept"] + p * sum(rule["weights"].values())
        assert after["after"] == pytest.approx(logit_mean([tree, direct])) and after["model_calls"] == 0
    run_ok(tmp_path, "export", "last", "-o", "note.md")
    note = (tmp_path / "note.md").read_text()
    assert f"{100 * direct:.1f}" in note and f"{100 * before['direct']['tree']:.1f}" in note
    run_ok(tmp_path, "export", "last", "-o", "run.zip")
    shown = run_json(tmp_path, "show", "run.zip", "--json")
    assert shown["direct"] == before["direct"] and shown["root"] == before["root"]


def test_a_quick_claim_is_spread_over_its_models(tmp_path: Path) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        done = run_cli(tmp_path, "analyze", CLAIM, "--cutoff", "now", "--api-base", server.url, *TWO, "--preset", "quick", "--set", "search-first=false", "--reading", "0", "--json", **KEY)  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    forecasts = document["direct"]["forecasts"]
    by_model = {"openai/x": sorted(forecasts[::2])[1], "openai/y": sum(forecasts[1::2]) / 2}  # medians
    assert document["direct"]["by_model"] == pytest.approx(by_model)
    assert document["root"]["p"] == pytest.approx(logit_mean([*by_model.values()]))
    assert asked_of(server) == {("x", "P0"): 3, ("y", "P0"): 2}


@pytest.mark.parametrize("calls", [1, 7])
def test_a_stopped_run_goes_on_and_buys_no_direct_forecast_twice(tmp_path: Path, calls: int) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        whole = analyze(tmp_path, server, *TWO, "--json")
        needed = len(server.asked)
    (tmp_path / "again").mkdir()
    with OpenAIServer(WORLD.forecasters()) as server:
        stopped = analyze(tmp_path / "again", server, *TWO, "--budget-calls", str(calls))
        assert stopped.returncode == 3 and len(server.asked) == calls, stopped.stderr
        resumed = run_cli(tmp_path / "again", "resume", "last", "--budget-calls", "100", "--json", **KEY)
        assert resumed.returncode == 0, resumed.stderr
        assert len(server.asked) == needed
    first, second = json.loads(whole.stdout), json.loads(resumed.stdout)
    assert second["model_calls"] == first["model_calls"] == needed
    assert sorted(second["direct"]["forecasts"]) == pytest.approx(sorted(first["direct"]["forecasts"]))


@pytest.mark.parametrize("usd", [0.02, 0.16])
def test_a_budget_in_dollars_is_kept(tmp_path: Path, usd: float) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        done = analyze(tmp_path, server, *TWO, "--budget-usd", str(usd), "--json")
        assert done.returncode in (0, 3), done.stderr
        assert json.loads(done.stdout)["cost_usd"] <= usd
        if done.returncode == 3:
            whole = run_cli(tmp_path, "resume", "last", "--budget-usd", "5", "--json", **KEY)
            assert whole.returncode == 0, whole.stderr
            assert json.loads(whole.stdout)["model_calls"] == len(server.asked)


PAGES = [
    WebPage(f"https://www.reuters.com/{day}", f"{title} of world 3", day, f"{title} of world 3 was in the news. " * 8, engines=("brave", "exa"))
    for day, title in (("2026-11-20", "Event 1"), ("2026-11-21", "Vote"), ("2025-02-03", "Talks"))
]  # fmt: skip


@pytest.mark.parametrize("cutoff", ["now", "2026-06-30"])
def test_the_search_of_a_quick_claim_is_on_its_bill_and_sees_nothing_late(
    tmp_path: Path, cutoff: str
) -> None:
    web = FakeWeb(PAGES)
    with OpenAIServer(WORLD.forecasters()) as server, Upstream(web.answer) as upstream:
        env = {f"WORKBENCH_UPSTREAM_{name}": f"{upstream.url}/{name.lower()}" for name in ("BRAVE", "EXA")}
        keys = {"BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y", "EXA_API_KEY": "v3nd0rk3yv3nd0rk3y"}
        done = run_cli(tmp_path, "analyze", CLAIM, "--cutoff", cutoff, "--api-base", server.url, "--model", "openai/x", *PRICES, "--preset", "quick", "--reading", "0", "--json", **KEY, **env, **keys)  # fmt: skip
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["model_calls"] == len(server.asked)
        (summed,) = [one for one in server.asked if one.stage == "sources"]
        assert "read before the first forecast" in document["news"]
        assert ("in the news" in summed.everything) and ("2026-11" in summed.last) == (cutoff == "now")
        assert document["api_calls"] > 0
        direct = [one for one in server.asked if one.stage == "conclude"]
        assert len(direct) == 5 and all("What was gathered about it" in one.everything for one in direct)
        audit = run_cli(tmp_path, "audit", "last")
        assert audit.returncode == 0, audit.stdout
        asked = len(server.asked)
        assert run_cli(tmp_path, "resume", "last", **KEY, **env, **keys).returncode == 0
        assert len(server.asked) == asked


def test_where_nothing_can_be_searched_the_answer_says_so(tmp_path: Path) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        done = run_cli(tmp_path, "analyze", CLAIM, "--cutoff", "2026-06-30", "--api-base", server.url, "--model", "openai/x", "--preset", "quick", "--reading", "0", WORKBENCH_OFFLINE="1", **KEY)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "No news was read" in done.stdout or "found nothing" in done.stdout, done.stdout


class _Listener(BaseHTTPRequestHandler):
    """Turns every request away, and remembers what it bore."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.seen.append(str(self.headers))
        self.send_error(401)

    def log_message(self, *_: Any) -> None:
        pass


def test_no_key_goes_to_the_server_of_another_provider(tmp_path: Path) -> None:
    elsewhere = HTTPServer(("127.0.0.1", 0), _Listener)
    threading.Thread(target=elsewhere.serve_forever, args=(0.05,), daemon=True).start()
    address = f"http://127.0.0.1:{elsewhere.server_address[1]}"
    with OpenAIServer(WORLD.forecasters()) as server:
        done = analyze(tmp_path, server, "--model", "openai/x", "--model", "groq/y", GROQ_API_KEY="gsk-other", GROQ_API_BASE=address)  # fmt: skip
        assert {str(one.body["model"]) for one in server.asked} <= {"x"}
    elsewhere.shutdown()
    elsewhere.server_close()
    assert done.returncode == 4, done.stderr
    assert _Listener.seen and all("gsk-other" in each and "sk-none" not in each for each in _Listener.seen)


def test_a_model_without_its_key_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with OpenAIServer(WORLD.forecasters()) as server:
        done = analyze(tmp_path, server, "--model", "openai/x", "--model", "groq/y")
        assert done.returncode == 2 and not server.asked
    assert run_json(tmp_path, "runs", "--json") == []
