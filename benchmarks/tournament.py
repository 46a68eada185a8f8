"""What each preset of a round costs and is worth, beside the recipe that public tournament bots share: one research, five samples, their median.

    python -m benchmarks.tournament [--events 12] [--sd 0.8] [--news 0.7]

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
from tests.fakes.model_policy import Asked, text_of
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.skilled_forecasters import Skill, World, excess_brier, excess_log, shifted
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from workbench.questions.formats.format_registry import OWN

IN, OUT = 3e-6, 15e-6
#: Tokens of a reply by its stage; a forecast with its reasons has as many as the recipe's.
REPLIES = {"conclude": 900, "outcomes": 900, "linear": 900, "sources": 800, "analyze": 700, "act": 250}
REPLY = 150
#: Tokens of the public template's own words around question and research (Metaculus/metac-bot-template, main.py): of each forecast, and
#: of its one research. Its parsing of forecasts by a small model costs next to nothing and is left out.
RECIPE_FORECAST, RECIPE_RESEARCH = 230, 110
#: Name, preset, and whether each question gets a tree.
ROWS = (
    ("quick", "quick", False),
    ("product, no tree", "product", False),
    ("product, a tree", "product", True),
    ("best, a tree", "best", True),
)
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


def tokens(asked: Asked) -> float:
    """What a request sends, tools included."""
    tools = json.dumps(asked.body.get("tools") or "")
    return (sum(len(text_of(turn)) for turn in asked.messages) + len(tools)) / 4


def played(world: World, home: Path, words: Sequence[str]) -> tuple[Came, list[Asked]]:
    """A round over a world's events by these words of its command line, and what it asked."""
    home.mkdir()
    (home / "q.json").write_text(json.dumps({"format": OWN, "questions": world.questions()}))
    run_ok(home, "questions", "import", "q.json", "--as", "s")
    text = "Officials said that the matter is under way and named the day on which it is decided. " * 10
    pages = [WebPage(f"https://www.reuters.com/{n}", f"Report {n} on event of world", "2026-11-20", f"{n}: {text}") for n in range(20)]  # fmt: skip
    with Upstream(FakeWeb(pages).answer) as upstream, OpenAIServer(world.forecasters()) as server:
        keys = {
            "WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave",
            "BRAVE_API_KEY": "k" * 16,
            "OPENAI_API_KEY": "none",
        }
        model = ("--model", "openai/x", "--set", f"api_base={server.url}", "--engines", "brave")
        done = run_cli(home, "tournament", "run", "s", *model, "--set", "raw=true", "--json", *words, **keys)
    if done.returncode or server.unread:
        raise SystemExit(f"tournament run {' '.join(words)}: {done.stderr[-2000:]} {server.unread[:1]}")
    rows = json.loads(done.stdout)["forecasts"]
    forecasts = {int(row["event"].removeprefix("event")): row["p"] for row in rows}
    came = Came(
        calls=len(server.asked) / world.events,
        tokens_in=sum(map(tokens, server.asked)) / world.events,
        tokens_out=sum(REPLIES.get(asked.stage, REPLY) for asked in server.asked) / world.events,
        **scored(world, forecasts),
    )
    return came, server.asked


def recipe(world: World, asked: Sequence[Asked]) -> Came:
    """The public recipe over the questions and the news that a round's forecasts read."""
    read = [each.everything for each in asked if _NEWS in each.everything and each.node == "P0"]
    news = fmean(text.index("\nP0: ") - text.index(_NEWS) for text in read) / 4
    question = len(world.title("event", 0)) / 4
    values = {}
    for event in range(world.events):
        errors = [world.news * world.error("direct", ("event", event), (), "x", n) for n in range(SAMPLES)]  # fmt: skip
        values[event] = median(shifted(world.truth(event), error) for error in errors)
    return Came(
        calls=1 + SAMPLES,
        tokens_in=RECIPE_RESEARCH + question + news + SAMPLES * (RECIPE_FORECAST + question + news),
        tokens_out=REPLIES["sources"] + SAMPLES * REPLIES["conclude"],
        **scored(world, values),
    )


def compared(world: World, rows: Sequence[tuple[str, str, bool]] = ROWS) -> dict[str, Came]:
    """The recipe and a round of each row; the recipe reads the news of the first."""
    came: dict[str, Came] = {}
    with tempfile.TemporaryDirectory(prefix="tournament-") as folder:
        for name, preset, trees in rows:
            words = ("--preset", preset, "--promote", str(world.events * trees))
            came[name], asked = played(world, Path(folder) / name.replace(" ", "-"), words)
            if "recipe" not in came:
                came["recipe"] = recipe(world, asked)
    return {"recipe": came.pop("recipe"), **came}


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
    parser.add_argument("--events", type=int, default=12)
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
    print(f"{'':16} {'calls':>7} {'tokens in':>10} {'out':>7} {'dollars':>8} {'of recipe':>9} {'Brier':>7} {'log':>8}")  # fmt: skip
    for name, each in came.items():
        print(
            f"{name:16} {each.calls:>7.1f} {each.tokens_in:>10,.0f} {each.tokens_out:>7,.0f} {each.usd:>8.4f}"
            f" {each.usd / came['recipe'].usd:>9.2f} {least + each.brier:>7.4f} {-entropy - each.log:>8.4f}"
        )
    print("; ".join(law(came)) or "quick costs at most 1.2 times the recipe and is not below it")


if __name__ == "__main__":
    main()
