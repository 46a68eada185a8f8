"""What each preset of a round costs and is worth, beside the recipe that public tournament bots share: one research, five samples, their median.

    python -m benchmarks.tournament [--events 20] [--sd 0.8] [--news 0.7]

Scripted forecasters of known skill (``tests.fakes.skilled_forecasters``) answer every stage with the truth and an error, so that a
forecast is judged by what it is expected to score, without luck of outcomes and without a paid model. Calls and input tokens are those
that reached the server (four characters a token, nothing from a cache); replies count as long as such replies are (`REPLIES`), at $3
and $15 for a million tokens of input and output. The recipe reads the same news in a prompt of its usual length. No network but loopback.
"""

import argparse
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks.arguments import parse
from tests.command_line import run_cli, run_ok
from tests.fakes.model_policy import Asked
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.skilled_forecasters import Skill, World, excess_brier, excess_log, shifted
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from workbench.questions.formats.format_registry import OWN

IN, OUT = 3e-6, 15e-6
#: Tokens of a reply by its stage; a forecast with its reasons has as many as the recipe's.
REPLIES = {"conclude": 900, "outcomes": 900, "linear": 900, "sources": 800, "analyze": 700, "act": 250}
REPLY = 150
#: Tokens of the recipe's prompts beside question and news: of its forecasts, and of its one research.
RECIPE_FORECAST, RECIPE_RESEARCH = 300, 150
PRESETS = ("quick", "product", "best")
SAMPLES = 5
_NEWS = "What was gathered about it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What one way of forecasting came to, a question."""

    calls: float
    tokens_in: float
    tokens_out: float
    #: Mean excess over the truth's own scores, lower is better.
    brier: float
    log: float

    @property
    def usd(self) -> float:
        """Dollars a question."""
        return IN * self.tokens_in + OUT * self.tokens_out


def scored(world: World, forecasts: Mapping[int, float]) -> dict[str, float]:
    """Mean excess scores of a forecast for every event of a world."""
    assert len(forecasts) == world.events, f"{len(forecasts)} of {world.events} events have a forecast"
    pairs = [(p, world.truth(event)) for event, p in forecasts.items()]
    return {"brier": fmean(excess_brier(*pair) for pair in pairs), "log": fmean(excess_log(*pair) for pair in pairs)}  # fmt: skip


def played(world: World, home: Path, words: Sequence[str]) -> tuple[Came, list[Asked]]:
    """A round over a world's events by these words of its command line, and what it asked."""
    home.mkdir()
    (home / "q.json").write_text(json.dumps({"format": OWN, "questions": world.questions()}))
    run_ok(home, "questions", "import", "q.json", "--as", "s")
    pages = [
        WebPage(f"https://www.reuters.com/{n}", f"Outlook {n}", "2024-05-20", "It may come about. " * 40)
        for n in range(10)
    ]
    with Upstream(FakeWeb(pages).answer) as upstream, OpenAIServer(world.forecasters()) as server:
        keys = {
            "WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave",
            "BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y",
            "OPENAI_API_KEY": "sk-none",
        }
        model = ("--model", "openai/x", "--set", f"api_base={server.url}", "--set", "price=openai/x=3,15")
        more = ("--engines", "brave", "--set", "raw=true", "--json")
        done = run_cli(home, "tournament", "run", "s", *model, *more, *words, **keys)
    if done.returncode or server.unread:
        raise SystemExit(f"tournament run {' '.join(words)}: {done.stderr[-2000:]} {server.unread[:1]}")
    rows = json.loads(done.stdout)["forecasts"]
    forecasts = {int(row["event"].removeprefix("event")): row["p"] for row in rows}
    sent = sum(len(asked.everything) for asked in server.asked) / 4
    replies = sum(REPLIES.get(asked.stage, REPLY) for asked in server.asked)
    came = Came(
        calls=len(server.asked) / world.events,
        tokens_in=sent / world.events,
        tokens_out=replies / world.events,
        **scored(world, forecasts),
    )
    return came, server.asked


def recipe(world: World, asked: Sequence[Asked]) -> Came:
    """The public recipe over the questions and the news that a round's forecasts read."""
    fixed = [next(text["content"] for text in each.messages if text["role"] == "system") for each in asked]
    forecasts = [(each, rules) for each, rules in zip(asked, fixed, strict=True) if _NEWS in each.everything]
    news = fmean(each.everything.index("\nP0: ") - each.everything.index(_NEWS) for each, _ in forecasts) / 4
    question = len(world.title("event", 0)) / 4
    values = {}
    for event in range(world.events):
        errors = [world.news * world.error("direct", ("event", event), (), "openai/x", n) for n in range(SAMPLES)]  # fmt: skip
        values[event] = median(shifted(world.truth(event), error) for error in errors)
    return Came(
        calls=1 + SAMPLES,
        tokens_in=RECIPE_RESEARCH + question + news + SAMPLES * (RECIPE_FORECAST + question + news),
        tokens_out=REPLIES["sources"] + SAMPLES * REPLIES["conclude"],
        **scored(world, values),
    )


def compared(world: World, presets: Sequence[str] = PRESETS) -> dict[str, Came]:
    """The recipe and a round of each preset."""
    came, asked = {}, []
    with tempfile.TemporaryDirectory(prefix="tournament-") as folder:
        for preset in presets:
            came[preset], seen = played(world, Path(folder) / preset, ("--preset", preset))
            asked = asked or seen
    return {"recipe": recipe(world, asked), **came}


def law(came: Mapping[str, Came]) -> list[str]:
    """Say where ``quick`` costs more than 1.2 times the recipe, or is below its score."""
    quick, other = came["quick"], came["recipe"]
    faults = []
    if quick.usd > 1.2 * other.usd:
        faults.append(f"quick costs {quick.usd / other.usd:.2f} times the recipe")
    if quick.brier > other.brier + 1e-9 or quick.log > other.log + 1e-9:
        faults.append(f"quick is below the recipe: {quick.brier:.4f} against {other.brier:.4f}")
    return faults


def main() -> None:
    """Print the table and whether the law holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--sd", type=float, default=0.8, help="error of one forecast, in logits")
    parser.add_argument("--news", type=float, default=0.7, help="how large errors are for who knows the news, times")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1)
    options = parse(parser, events=2)
    skill = Skill(sd=options.sd)
    skills = {"direct": skill, "driver": skill, "weights": Skill(sd=options.sd / 2)}
    world = World(seed=options.seed, events=options.events, skills=skills, news=options.news)
    came = compared(world)
    truths = [world.truth(event) for event in range(world.events)]
    least = fmean(q * (1 - q) for q in truths)
    entropy = fmean(-q * math.log(q) - (1 - q) * math.log(1 - q) for q in truths)
    print(f"{world.events} events; errors of {options.sd:g} logits, {skill.samples:g} correlated between samples; the truth scores {least:.4f}, {-entropy:.4f}")  # fmt: skip
    print(f"{'':10} {'calls':>7} {'tokens in':>10} {'out':>7} {'dollars':>8} {'of recipe':>9} {'Brier':>7} {'log':>8}")  # fmt: skip
    for name, each in came.items():
        print(
            f"{name:10} {each.calls:>7.1f} {each.tokens_in:>10,.0f} {each.tokens_out:>7,.0f} {each.usd:>8.4f}"
            f" {each.usd / came['recipe'].usd:>9.2f} {least + each.brier:>7.4f} {-entropy - each.log:>8.4f}"
        )
    print("; ".join(law(came)) or "quick costs at most 1.2 times the recipe and is not below it")


if __name__ == "__main__":
    main()
