"""The net: calls of commands, Python and MCP over a desk made anew, each with its exit code and the values of its document.

python -m tests.net.net        writes ``recorded.jsonl`` anew; a change in it is named in its commit

"""

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest import mock

import workbench as wb
from tests.command_line import cli_environment, run_cli
from tests.fakes.openai_server import OpenAIServer
from tests.mcp.clients import answer, connected
from tests.net.desk import Desk, make, policy
from tests.net.values import values
from workbench.errors import WorkbenchError

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.jsonl"
#: What tells in a document's place that a command has none.
NO_DOCUMENT = "no document"


def lines() -> list[str]:
    """The calls as they are written."""
    text = (HERE / "calls.txt").read_text().splitlines()
    return [line for line in text if line and not line.startswith("#")]


def made_calls(folder: Path) -> Iterator[dict[str, Any]]:
    """Make the desk in an empty folder and every call on it: the call, its exit code, the values of its document."""
    with OpenAIServer(policy()) as server:
        desk = Desk(folder, server)
        make(desk)
        for line in lines():
            yield {"call": line, **_answered(desk, line)}


def _answered(desk: Desk, line: str) -> dict[str, Any]:
    face, _, rest = line.partition(" ")
    filled = rest
    for name, run in desk.runs.items():
        filled = filled.replace(f"{{{name}}}", run)
    if face == "python":
        exit_code, document = _of_python(desk, filled)
    elif face == "mcp":
        exit_code, document = asyncio.run(_of_mcp(desk, *filled.split(" ", 1)))
    else:
        words = [
            part
            for word in shlex.split(f"{face} {filled}")
            for part in (desk.model_by_set if word == "{model}" else (word,))
        ]
        exit_code, document = _of_command(desk, words)
    names = {run: name for name, run in desk.runs.items()}
    return {"exit": exit_code, "document": values(document, names)}


def _of_command(desk: Desk, words: list[str]) -> tuple[int, Any]:
    done = run_cli(desk.folder, *words, "--json", **desk.environ)
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode == 2 and "takes no --json" in done.stderr:
        done = run_cli(desk.folder, *words, **desk.environ)
        return done.returncode, NO_DOCUMENT
    try:
        return done.returncode, json.loads(done.stdout) if done.stdout else NO_DOCUMENT
    except ValueError:
        return done.returncode, NO_DOCUMENT


def _of_python(desk: Desk, expression: str) -> tuple[int, Any]:
    with (
        mock.patch.dict(os.environ, cli_environment(desk.folder, **desk.environ), clear=True),
        chdir(desk.folder),
    ):
        try:
            result = eval(expression, {"wb": wb})
        except WorkbenchError as error:
            return error.exit_code, type(error).__name__
    return 0, json.loads(json.dumps(result, default=str))


async def _of_mcp(desk: Desk, tool: str, arguments: str) -> tuple[int, Any]:
    async with connected(desk.folder / "home", "2018-06-30") as client:
        good, text = await answer(client, tool, **json.loads(arguments))
    try:
        return int(not good), json.loads(text)
    except ValueError:
        return int(not good), NO_DOCUMENT


def main() -> None:
    """Write the recorded answers anew."""
    with tempfile.TemporaryDirectory() as folder:
        rows = list(made_calls(Path(folder)))
    RECORDED.write_text(
        "".join(f"{json.dumps(row, ensure_ascii=False, separators=(',', ':'))}\n" for row in rows)
    )


if __name__ == "__main__":
    main()
