"""A night on a scripted server and a web on loopback, in processes that the server ends with SIGKILL at chosen requests."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.command_line import run_cli, run_ok
from tests.fakes.model_policy import Asked, Policy
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.sittings import context
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage

#: Most requests on their way at once: contexts, and runs.
SIDE_BY_SIDE = 4
CLOSE = (datetime.now(UTC).date() + timedelta(days=60)).isoformat()
PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}
PAGES = [WebPage("https://www.reuters.com/a", "Outlook", "2024-05-20", "Rain is expected.")]


@dataclass(slots=True, kw_only=True)
class KillingPolicy(Policy):
    """Answers as a `Policy`, but ends the process that asks, by SIGKILL, at the requests of these numbers."""

    at: list[int] = field(default_factory=list)
    pid: int | None = None
    keys: list[str] = field(default_factory=list)
    kills: int = 0

    def answer(self, asked: Asked) -> dict[str, Any]:
        """The assistant's message, after the kill where one is due."""
        self.keys.append(asked.key())
        if self.pid is not None and self.at and len(self.keys) >= self.at[0]:
            self.at.pop(0)
            self.kills += 1
            os.kill(self.pid, signal.SIGKILL)
            self.pid = None
        # Not of the base class by `super()`: a dataclass with slots is another class than the one `super()` knows.
        return Policy.answer(self, asked)


@dataclass(frozen=True, slots=True)
class Scene:
    """A home with a set ``q`` of three questions, the server, the web, and the environment that leads to both."""

    home: Path
    server: OpenAIServer
    policy: KillingPolicy
    web: FakeWeb
    environ: dict[str, str]

    def words(self, *more: str, gather: bool = True) -> tuple[str, ...]:
        """A night's command line, two trials and a tree after contexts from the web; without them one trial and no tree."""
        model = ("--model", "openai/x", "--set", f"api_base={self.server.url}", "--set", "price=openai/x=1,2")
        rules: tuple[str, ...] = ("--contexts", "none", "--trials", "1", "--promote", "0")
        if gather:
            rules = ("--contexts", "gather", "--engines", "brave", "--trials", "2", "--promote", "1")
        return ("tournament", "run", "q", *model, *rules, "--set", "tree_grounder=zero-shot", *more)

    def run(self, *words: str) -> Any:
        """A command in this process."""
        return run_cli(self.home, *words, **self.environ)

    def sitting(self, *words: str) -> int:
        """The same in a process of its own, which the server may kill; its exit code."""
        process = context().Process(target=sitting_in_process, args=(self.home, words, self.environ))
        process.start()
        self.policy.pid = process.pid
        process.join()
        self.policy.pid = None
        assert process.exitcode is not None
        return process.exitcode


def sitting_in_process(home: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
    os._exit(run_cli(home, *words, **environ).returncode)


@contextmanager
def scene(home: Path, *, at: list[int] | None = None) -> Iterator[Scene]:
    """A scene for the block."""
    home.mkdir(exist_ok=True)
    rows = [f"rain,Will it rain?,{CLOSE},0.1,,", f"sun,Will it shine?,{CLOSE},0.65,,", f"who,Who wins?,{CLOSE},,Ann|Bo,options"]  # fmt: skip
    (home / "q.csv").write_text("id,title,closes_on,crowd,options,kind\n" + "\n".join(rows) + "\n")
    run_ok(home, "questions", "import", "q.csv")
    policy, web = KillingPolicy(plan=PLAN, at=at or []), FakeWeb(PAGES)
    with Upstream(web.answer) as upstream, OpenAIServer(policy) as server:
        environ = {
            "WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave",
            "BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y",
            "OPENAI_API_KEY": "sk-none",
        }
        yield Scene(home, server, policy, web, environ)
