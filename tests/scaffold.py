"""Begin a grounder or a data source of this project: a file to fill in, and its place in the contract suite, which fails until it is.

python -m tests.scaffold grounder NAME      (make new-grounder NAME=...)
python -m tests.scaffold source NAME        (make new-source NAME=...)
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

GROUNDER = '''"""The {name} grounder: say in one line how it comes to a leaf's belief, and from what."""

from typing import Any

from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.registry import no_options


class {title}Grounder:
    """Say what it reads, what it asks, and when it gives up.

    Parameters
    ----------
    settings : AgentSettings
        What every grounder is made with: limits of turns and of prompts.
    options : dict
        Settings of its own; none yet.
    """

    def __init__(self, settings: AgentSettings, options: dict[str, Any]) -> None:
        no_options("the {name} grounder", options)

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief with its evidence, or in one line why there is none."""
        return GroundingFailure(reason="the {name} grounder is not written yet", retryable=False)
'''

CASE = """    "{name}": Case(
        make=registered("{name}"),
        script={{}},  # what a model that behaves says, by stage; empty where none is asked
        endless={{}},  # and one that never comes to an end
        most_calls=0,
        p=None,
    ),
"""

SOURCE = """source: {name}
title: {title}
about: Say what it holds, and from which day on.
hosts: {{api: 'https://api.example.org'}}
upstream: {upper}
endpoints:
- path: {name}/observations
  call: GET v1/observations
  about: Say what a row is.
  params:
    series: {{required: true, example: X, about: the name of a series}}
  rows: '[]'
  fields: {{day: the day of the value, value: ''}}
  # When did a row become known? docs/trust/cutoff.md lists the policies. This one: at the end of the day that it bears.
  as_of: {{policy: filter_rows, residual: high, stamp: {{field: day, grain: day}}}}
"""


def new_grounder(name: str, root: Path = ROOT) -> list[str]:
    """Write the grounder, register it, give it a case; return what to do next."""
    title = "".join(word.capitalize() for word in name.split("-"))
    module = name.replace("-", "_") + "_grounder"
    path = root / "workbench" / "agents" / "grounders" / f"{module}.py"
    _create(path, GROUNDER.format(name=name, title=title))
    _insert(
        root / "pyproject.toml",
        '[project.entry-points."analyst_workbench.grounders"]\n',
        f'{name} = "workbench.agents.grounders.{module}:{title}Grounder"\n',
    )
    _insert(
        root / "tests" / "agents" / "grounder_cases.py",
        "CASES: Mapping[str, Case] = {\n",
        CASE.format(name=name),
    )
    return [
        f"write {path.relative_to(root)}; its case stands in tests/agents/grounder_cases.py",
        "make .stamp-test        # registers it in .venv",
        f".venv/bin/python -m pytest tests/agents/test_grounder_contract.py -k {name}    # fails until it is written",
        "then describe it in docs/use/grounders.md",
    ]


def new_source(name: str, root: Path = ROOT) -> list[str]:
    """Write the catalogue file of a source; return what to do next."""
    path = root / "proxies" / "catalogue" / f"{name.replace('-', '_')}.yaml"
    _create(path, SOURCE.format(name=name, title=name.replace("-", " ").title(), upper=name.upper()))
    return [
        f"write {path.relative_to(root)}, one entry an endpoint",
        "say in tests/fakes/upstream/facts.json when the facts of each endpoint are really out, by a kind of tests/fakes/upstream_facts.py",
        "write in tests/fakes/upstream/answers.json what the vendor answers around the rows; habits of its own are a method of tests/fakes/upstream_world.py",
        f".venv/bin/python -m pytest tests/proxies/test_every_endpoint.py tests/proxies/test_law_of_two_worlds.py -k {name}    # fail until these agree",
    ]


def _create(path: Path, text: str) -> None:
    if path.exists():
        raise SystemExit(f"{path.name} is there already; take another name")
    path.write_text(text, encoding="utf-8")


def _insert(path: Path, after: str, text: str) -> None:
    whole = path.read_text(encoding="utf-8")
    if whole.count(after) != 1:
        raise SystemExit(f"{path.name} has no line {after.strip()!r} to write behind")
    path.write_text(whole.replace(after, after + text), encoding="utf-8")


KINDS = {"grounder": new_grounder, "source": new_source}


def main(words: list[str]) -> None:
    """Begin what the command line names, or say in one line what is wrong with it."""
    kind, name = words if len(words) == 2 else ("", "")
    if kind not in KINDS or not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise SystemExit("say grounder or source, and a NAME of small letters, digits and hyphens")
    print("\n".join(KINDS[kind](name)))


if __name__ == "__main__":
    main(sys.argv[1:])
