"""A person's folder with a run of every kind, made anew by commands: what the net is thrown over."""

import json
from pathlib import Path
from typing import Any

from tests.command_line import run_cli
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.net.trees import PLAN, RULES, SP500

STUDY = """\
name: sim
exam: {simulator: {kind: logic, questions: 60, seed: 3}}
trials: 2
seeds: [0, 1]
reference: market
resamples: 200
arms:
  - market
  - random
  - {arm: simulated, name: own, sd: 0.2}
  - {arm: simulated, name: leaf, sd: 0.2, bias: 0.1, rule: leaf}
"""
ARMS = """\
name: arms
exam: {set: dated}
trials: 2
resamples: 200
arms:
  - market
  - {arm: zero-shot, model: openai/x, api_base: SERVER, prices: {openai/x: [1.0, 2.0]}}
  - {arm: zero-shot, name: tree-V, analytica: V, model: openai/x, api_base: SERVER, prices: {openai/x: [1.0, 2.0]}}
"""
ORDERS = "month,orders\n" + "".join(
    f"{2008 + n // 12}-{n % 12 + 1:02}-28,{100 + n % 45 + n // 20}\n" for n in range(126)
)
EVENTS = "id,title,asked_on,closes_on,answer,crowd,topic\n" + "".join(
    f"e{n},Event {n} happens,2018-{n % 10 + 1:02}-01,2018-{n % 10 + 2:02}-01,{'no' if n % 3 else 'yes'},{0.2 + n % 7 / 10:.1f},t{n % 3}\n"
    for n in range(40)
)
DATED = "id,title,asked_on,closes_on,answer,crowd\n" + "".join(
    f"d{n},Event {n} of the set happens,2018-06-30,2018-12-31,{'no' if n % 2 else 'yes'},0.{n + 3}\n"
    for n in range(3)
)
PRICES = "symbol,date,close\n" + "".join(
    f"{symbol},{2017 + n // 12}-{n % 12 + 1:02}-02,{100 + slope * n + n % 5}\n"
    for symbol, slope in (("AAA", 1), ("BBB", -1))
    for n in range(20)
)
OWN = "event_id,method,p\n" + "".join(f"e{n},mine,{0.1 + n % 9 / 10:.1f}\n" for n in range(40))
OPEN = """\
id,title,closes_on,crowd,kind,options,low,high,unit,criteria,background
rain,Will it rain?,2099-01-01,0.1,binary,,,,,A gauge decides.,The season is dry.
who,Who wins the cup?,2099-01-01,,options,Ann|Bo|Cy|Dee,,,,The final decides.,
level,How high is the water?,2099-01-01,,numeric,,0,100,cm,The staff gauge decides.,
"""
VALUES = "event_id,method,share,value\n" + "".join(
    f"level,{method},{level},{40 + shift + 30 * (level - 0.5):.3f}\n"
    for method, shift in (("ours", 0.1), ("theirs", 0.8))
    for level in (0.1, 0.25, 0.5, 0.75, 0.9)
)


class Desk:
    """The folder, the model's server and the names of what was made."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        self.folder = folder
        self.model = server.words()
        #: The same for commands without options for it.
        self.model_by_set = (
            "--model",
            "openai/x",
            "--set",
            f"api_base={server.url}",
            "--set",
            "price=openai/x=1,2",
        )
        self.environ = {"OPENAI_API_KEY": "sk-none"}
        #: Name of a run in the calls -> its id in this home.
        self.runs: dict[str, str] = {}

    def call(self, *words: str, exits: int = 0) -> Any:
        """What a command printed as JSON; its exit code has to be this."""
        done = run_cli(self.folder, *words, "--json", **self.environ)
        assert done.returncode == exits, f"{words}: {done.returncode}: {done.stderr}"
        return json.loads(done.stdout) if done.stdout else None

    def analyze(self, name: str, claim: str, *words: str, exits: int = 0) -> None:
        """Make a run and keep its id under a name."""
        dated = () if "--cutoff" in words else ("--cutoff", "2018-06-30")
        before = {row["run_id"] for row in self.listed()}
        self.call("analyze", claim, *dated, *words, "--concurrency", "1", exits=exits)
        (self.runs[name],) = {row["run_id"] for row in self.listed()} - before

    def listed(self) -> list[dict[str, Any]]:
        """The rows of ``runs``."""
        rows: list[dict[str, Any]] = self.call("runs", "--limit", "1000")
        return rows


def policy() -> Policy:
    """Answers every stage from the words of the request."""
    return Policy(plan=PLAN)


def make(desk: Desk) -> None:
    """Fill the folder; some 60 seconds."""
    folder = desk.folder
    for name, text in {
        "orders.csv": ORDERS, "events.csv": EVENTS, "dated.csv": DATED, "open.csv": OPEN, "sim.yaml": STUDY, "arms.yaml": ARMS.replace("SERVER", desk.model[3]),
        "rules.json": json.dumps(RULES), "prices.csv": PRICES, "p.csv": OWN, "values.csv": VALUES,
        "claims.txt": f"{SP500}\nVIX above 20 on 2018-12-31\n",
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    desk.call("source", "add", "orders", "orders.csv", "--date", "month", "--value", "orders", "--lag", "10d")
    desk.analyze("demo", SP500)
    desk.analyze("alone", "VIX touches 50 by 2018-12-31")
    desk.analyze("orders", "own:orders is above 130 on 2018-09-28")
    desk.analyze("planned", SP500, "--plan-only")
    desk.analyze("notebook", SP500, *desk.model, "--grounder", "notebook")
    for name, rule in (("zero", "linear"), ("vanilla", "vanilla"), ("noisy", "noisy-or"), ("logic", "logic")):
        desk.analyze(name, SP500, *desk.model, "--grounder", "zero-shot", "--rule", rule, "--trials", "2")
    for name in ("tree-of-thoughts", "graph-of-thoughts", "forest-of-thoughts", "statistical"):
        desk.analyze(name, SP500, *desk.model, "--grounder", name)
    desk.analyze("stopped", SP500, *desk.model, "--grounder", "zero-shot", "--budget-calls", "3", exits=3)
    before = {row["run_id"] for row in desk.listed()}
    assert run_cli(folder, "import", "rules.json", "--cutoff", "2018-06-30").returncode == 0
    (desk.runs["rules"],) = {row["run_id"] for row in desk.listed()} - before
    desk.call("questions", "import", "events.csv")
    desk.call("questions", "import", "dated.csv")
    desk.call("questions", "import", "open.csv")
    desk.call("experiment", "run", "sim.yaml")
