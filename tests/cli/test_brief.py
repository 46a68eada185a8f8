"""What the agents of a run are told of the claim and of the data that work, from the command line to the wire."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.model_policy import Policy, text_of
from tests.fakes.openai_server import OpenAIServer

pytestmark = pytest.mark.long

STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Policy()) as server:
        yield server


def planned(home: Path, server: OpenAIServer, *more: str, **environment: str) -> list[str]:
    """The messages of the first request of a run that stops after its tree."""
    server.asked.clear()
    done = run_cli(
        home, "analyze", STATEMENT, "--cutoff", "2018-06-30", "--model", "openai/x", "--api-base", server.url,
        "--plan-only", "--json", *more, **environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [text_of(message) for message in server.asked[0].messages]


def test_the_analyzer_sees_the_sources_whose_keys_are_set_and_the_context(
    tmp_path: Path, server: OpenAIServer
) -> None:
    (tmp_path / "criteria.txt").write_text("By the official close.\n", encoding="utf-8")
    system, first = planned(
        tmp_path, server, "--background", "Rates were rising.", "--criteria", "@criteria.txt",
        "--set", "horizon=end of 2018", "--crowd", "0.62", FRED_API_KEY="k" * 32,
    )  # fmt: skip
    assert "- `fred/`" in system and "fmp/ (needs FMP_API_KEY)" not in system.partition("Not usable")[0]
    assert "FMP_API_KEY" in system and "FRED_API_KEY" not in system and "kkkk" not in system + first
    for text in ("Rates were rising.", "By the official close.", "end of 2018", "0.62"):
        assert text in first
    system, first = planned(tmp_path, server)
    assert (
        "- `fred/`" not in system
        and "fred/" in system.partition("Not usable")[2]
        and "- `wikipedia/`" in system
    )
    assert "Background" not in first
    (system, _) = planned(tmp_path, server, WORKBENCH_NETWORK="off")
    assert "- `embedded/`" in system and "wikipedia/" in system.partition("Not usable")[2]


@pytest.mark.parametrize(
    ("arguments", "environment", "line"),
    [
        (("--background", "@nothing.txt"), {}, "--background: nothing.txt cannot be read"),
        (("--criteria", "a" * 7000), {}, "criteria has 7000 characters"),
        (("--crowd", "1.5"), {}, "crowd must be from 0 to 1"),
        ((), {"WORKBENCH_NETWORK": "maybe"}, "WORKBENCH_NETWORK is on or off"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_line_and_no_run_is_opened(
    tmp_path: Path, server: OpenAIServer, arguments: tuple[str, ...], environment: dict[str, str], line: str
) -> None:
    done = run_cli(
        tmp_path, "analyze", STATEMENT, "--cutoff", "2018-06-30", "--model", "openai/x", "--api-base", server.url,
        *arguments, **environment,
    )  # fmt: skip
    assert done.returncode == 2 and line in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not server.asked


def test_a_resumed_run_shows_what_worked_when_it_was_opened(tmp_path: Path, server: OpenAIServer) -> None:
    """With another map the requests would differ from the recorded ones, and every reply would be bought again."""
    planned(tmp_path, server, FRED_API_KEY="k" * 32)
    settings = stored_settings(tmp_path)
    assert settings["keyed"] == ["fred"]
    assert "k" * 32 not in json.dumps(settings)


def stored_settings(home: Path) -> dict[str, Any]:
    (manifest,) = (home / "home" / "runs").glob("*/manifest.json")
    settings: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))["settings"]
    return settings
