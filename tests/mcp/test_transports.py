"""The command as a process: over its own pipe, and over HTTP behind a door that only a token opens."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.command_line import cli_environment, run_cli
from tests.fakes.small_run import RUN, make_small_run
from tests.mcp.clients import answer
from workbench.errors import UsageError
from workbench.mcp.transports import token_from

pytestmark = pytest.mark.long

SERIES = {"path": "embedded/series/observations", "params": {"series_id": "SP500", "start": "2018-06-25"}}
TOKEN = "a-token-of-the-persons-own-choice"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def test_over_stdio_a_client_reads_data_and_runs_under_the_cutoff(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "workbench.cli.main", "mcp", "--cutoff", "2018-07-01"],
        env=cli_environment(tmp_path),
        cwd=str(tmp_path),
    )
    async with Client(command) as client:
        assert len((await client.list_tools()).tools) == 13
        good, text = await answer(client, "call_api", **SERIES)
        assert good and json.loads(text)["data"][-1]["date"] == "2018-06-29"
        assert RUN in (await answer(client, "list_runs"))[1]


def test_over_stdio_a_line_that_is_no_message_is_answered_and_the_next_one_served(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    hello = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    }
    wrong = ["{", "no json", '{"jsonrpc": "2.0", "id": 3', "\u00e9\x00", "[]", '{"a": 1}', "3"]
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli.main", "mcp", "--cutoff", "2018-07-01"],
        env=cli_environment(tmp_path),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    answers = []
    for line in (*wrong, json.dumps(hello)):
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
    process.communicate(timeout=60)
    assert [item["error"]["code"] for item in answers[:-1]] == [*[-32700] * 4, *[-32600] * 3]
    assert all(item["id"] is None for item in answers[:-1])
    assert answers[-1]["id"] == 7 and "result" in answers[-1]
    assert process.returncode == 0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("http")
    make_small_run(home / "home")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "workbench.cli.main",
            "mcp",
            "--http",
            "--port",
            "0",
            "--cutoff",
            "2018-07-01",
        ],
        env=cli_environment(home, WORKBENCH_MCP_TOKEN=TOKEN),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    said = json.loads(process.stdout.readline())
    assert said["token"] == TOKEN
    yield said["url"]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "Traceback" not in errors and TOKEN not in errors


async def test_over_http_a_client_with_the_token_gets_the_same(address: str) -> None:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        assert len((await client.list_tools()).tools) == 13
        good, text = await answer(client, "call_api", **SERIES)
        assert good and json.loads(text)["data"][-1]["date"] == "2018-06-29"
        good, text = await answer(client, "propose_edit", run=RUN, set={"P1": 0.0}, scenario="bear")
        assert good and json.loads(text)["after"] == pytest.approx(0.26)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"authorization": f"Bearer {TOKEN}", "Origin": "http://127.0.0.1:{port}"}, 200),
        ({}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "rebound.example:{port}"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_the_door_opens_for_the_token_and_this_machines_own_pages_only(
    address: str, headers: dict[str, str], status: int
) -> None:
    port = re.search(r":(\d+)/", address)[1]  # type: ignore[index]
    sent = {name: text.replace("{port}", port) for name, text in headers.items()}
    with httpx.Client(trust_env=False) as client:
        response = client.post(address, json=HELLO, headers={**ACCEPT, **sent})
    assert response.status_code == status
    assert status == 200 or (RUN not in response.text and TOKEN not in response.text)
    assert status != 401 or response.headers["www-authenticate"] == "Bearer"


def test_a_token_in_the_address_opens_nothing(address: str) -> None:
    with httpx.Client(trust_env=False) as client:
        assert client.post(f"{address}?token={TOKEN}", json=HELLO, headers=ACCEPT).status_code == 401


def test_a_header_that_comes_twice_is_refused(address: str) -> None:
    twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer other"), *ACCEPT.items()]
    with httpx.Client(trust_env=False) as client:
        assert client.post(address, json=HELLO, headers=twice).status_code == 401


def test_a_token_that_could_be_guessed_is_refused() -> None:
    assert len(token_from({})) > 40 and token_from({}) != token_from({})
    for weak in ("", "secret", "x" * 23, "with a space in the middle"):
        with pytest.raises(UsageError, match="WORKBENCH_MCP_TOKEN"):
            token_from({"WORKBENCH_MCP_TOKEN": weak})


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--cutoff", "someday"], 2, "not a cutoff"),
        (["--run", "nothing"], 2, "no run"),
        (["--cutoff", "2018-06-01", "--run", RUN], 2, "later than 2018-06-01"),
        (["--port", "9000"], 2, "--port needs --http"),
        (["--http", "--port", "70000"], 2, "cannot be used"),
    ],
)
def test_a_start_that_cannot_be_is_one_line(
    tmp_path: Path, options: list[str], code: int, words: str
) -> None:
    make_small_run(tmp_path / "home")
    done = run_cli(tmp_path, "mcp", *options)
    assert done.returncode == code and words in done.stderr and done.stderr.count("\n") <= 2
    assert done.stdout == ""
