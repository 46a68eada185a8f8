"""Calls, tokens and dollars of one question by preset, beside the recipe of the public template bot.

Run: ``python -m benchmarks.preset_costs``. Scripted forecasters answer on loopback and a fake engine finds pages, so that calls and
requests are those of a live round; what is sent is counted on the wire, four characters a token. Scripts write little, so every reply
counts as 1,000 tokens, $3 and $15 for a million tokens in and out, without a cache.

The template (Metaculus/metac-bot-template, main.py): one call of research, five forecasts that read its text, and for each forecast two
calls of a small model that parse it, which are counted as calls and cost next to nothing.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.arguments import parse
from tests.command_line import run_cli
from tests.fakes.model_policy import Asked, text_of
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.skilled_forecasters import World
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from workbench.questions.formats.format_registry import OWN

DOLLARS_IN, DOLLARS_OUT, REPLY = 3e-6, 15e-6, 1_000
#: Tokens of the template's own words around question and research: its research prompt, its binary prompt.
RESEARCH_FRAME, FORECAST_FRAME, FORECASTS, PARSES = 110, 230, 5, 10
#: Name, preset, and whether each question gets a tree.
ROWS = (
    ("quick", "quick", False),
    ("product, no tree", "product", False),
    ("product, a tree", "product", True),
    ("best, a tree", "best", True),
)


def tokens(asked: Asked) -> int:
    """What a request sends, tools included."""
    return (
        sum(len(text_of(turn)) for turn in asked.messages) + len(json.dumps(asked.body.get("tools") or ""))
    ) // 4


@contextmanager
def engine() -> Iterator[dict[str, str]]:
    """A search engine with twenty pages about anything, as environment variables name it."""
    text = "Officials said that the matter is under way and named the day on which it is decided. " * 10
    pages = [
        WebPage(f"https://www.reuters.com/{n}", f"Report {n} on event of world", "2026-11-20", f"{n}: {text}")
        for n in range(20)
    ]
    with Upstream(FakeWeb(pages).answer) as upstream:
        yield {"WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave", "BRAVE_API_KEY": "k" * 16}


def asked_in_a_round(questions: int, preset: str, *, trees: bool) -> Sequence[Asked]:
    """Every request of a live round over some events."""
    world = World(events=questions)
    with (
        tempfile.TemporaryDirectory() as folder,
        engine() as upstream,
        OpenAIServer(world.forecasters()) as server,
    ):
        home = Path(folder)
        (home / "q.json").write_text(json.dumps({"format": OWN, "questions": world.questions()}))
        run_cli(home, "questions", "import", "q.json", "--as", "q")
        words = ("--preset", preset, "--promote", str(questions * trees), "--engines", "brave")
        model = ("--model", "openai/x", "--set", f"api_base={server.url}")
        done = run_cli(home, "tournament", "run", "q", *model, *words, OPENAI_API_KEY="none", **upstream)
        if done.returncode:
            raise SystemExit(done.stderr)
        return list(server.asked)


def dollars(sent: float, replies: float) -> float:
    """What so many tokens sent and so many replies cost."""
    return sent * DOLLARS_IN + replies * REPLY * DOLLARS_OUT


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=3)
    options = parse(parser, questions=1)
    print(f"{'':18}{'calls':>7}{'tokens sent':>13}{'dollars':>9}{'of template':>13}")
    research = FORECASTS * (FORECAST_FRAME + 150 + REPLY) + RESEARCH_FRAME + 150
    template = dollars(research, 1 + FORECASTS)
    print(f"{'template':18}{1 + FORECASTS + PARSES:7.0f}{research:13,.0f}{template:9.3f}{1:13.2f}")
    for name, preset, trees in ROWS:
        asked = asked_in_a_round(options.questions, preset, trees=trees)
        calls, sent = len(asked) / options.questions, sum(map(tokens, asked)) / options.questions
        cost = dollars(sent, calls)
        print(f"{name:18}{calls:7.1f}{sent:13,.0f}{cost:9.3f}{cost / template:13.2f}")


if __name__ == "__main__":
    main()
