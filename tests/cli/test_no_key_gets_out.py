"""One key in the environment, put in the way of every door by which a text leaves: none lets it, or a piece of it, through."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from proxies.secret_registry import SECRETS
from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from tests.mcp.clients import answer, connected
from workbench.cli import common
from workbench.errors import UsageError
from workbench.models.base import Message, ModelRequest
from workbench.models.errors import ModelError
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.packages.export import export_run
from workbench.store import Store
from workbench.store import events as ev

KEY = "sk-CANARY+7f3a/9b2c/d4e5+f607182930aabbccdd"
ECHOED = " | ".join(
    [KEY, quote(KEY, safe=""), KEY.replace("/", "\\/"), base64.b64encode(KEY.encode()).decode(), KEY.upper(), KEY[:28], KEY[12:]]
)  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def is_clean(text: str | bytes) -> bool:
    return not SECRETS.held_in(text if isinstance(text, bytes) else text.encode())


def test_the_canary_is_seen_by_this_test() -> None:
    assert not is_clean(ECHOED) and not is_clean(KEY[3:15]) and is_clean("an honest text")


def test_what_a_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    common.echo(f"result {ECHOED}")
    common.say(f"message {ECHOED}")
    common.emit_json({"error": ECHOED})
    printed = capsys.readouterr()
    assert is_clean(printed.out + printed.err) and printed.out.count("[key]") >= 2


def test_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: object) -> None:
        raise RuntimeError(f"asked with {ECHOED}")

    monkeypatch.setattr(Store, "run_ids", crash)
    said = run_cli(tmp_path, "runs", OPENAI_API_KEY=KEY).stderr
    assert "RuntimeError" in said and "[key]" in said and is_clean(said)


def test_an_event_and_what_is_exported(tmp_path: Path) -> None:
    make_small_run(tmp_path)
    with closing(Store(tmp_path)) as store:
        store.append(RUN, ev.CommentAdded(node="P1", text=f"the server said {ECHOED}", author="Ann"))
        stored = store.query("SELECT data FROM events")
        assert all(is_clean(row["data"]) for row in stored) and any("[key]" in row["data"] for row in stored)
        for form in ("md", "html", "json", "ipynb", "zip"):
            assert is_clean(export_run(store, RUN, form)[0]), form


def test_a_run_that_held_a_key_already_is_not_shared_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    make_small_run(tmp_path)
    with closing(Store(tmp_path)) as store:
        store.append(RUN, ev.CommentAdded(node="P1", text=f"the server said {KEY}", author="Ann"))
        assert export_run(store, RUN, "zip")[0]
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert is_clean(export_run(store, RUN, "md")[0]) and is_clean(export_run(store, RUN, "html")[0])
        with pytest.raises(UsageError, match="holds an API key that is in use here"):
            export_run(store, RUN, "zip")


async def test_an_answer_over_mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_small_run(tmp_path)
    async with connected(tmp_path, "2018-07-01") as client:
        _, text = await answer(client, "read_tree", run=KEY)
        assert is_clean(str(text))
        _, text = await answer(client, "call_api", path=f"x/{KEY}", params={})
        assert is_clean(str(text))


@contextmanager
def model_server(status: int, body: dict[str, Any]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def request() -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content="Will it rain?"),), stage="step", cutoff="now")


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_a_model_servers_error(status: int) -> None:
    with model_server(status, {"error": {"message": f"bad key {ECHOED}", "type": "x"}}) as url:
        model = LiteLLMModel("openai/m", api_base=url, retries=RetrySettings(attempts=1))
        with pytest.raises(ModelError) as caught:
            await model.complete(request())
        assert is_clean(str(caught.value)) and "[key]" in str(caught.value)


async def test_a_model_servers_reply() -> None:
    message = {"role": "assistant", "content": f"I was asked with {ECHOED}"}
    reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m",
             "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}  # fmt: skip
    with model_server(200, reply) as url:
        got = await LiteLLMModel("openai/m", api_base=url, retries=RetrySettings(attempts=1)).complete(
            request()
        )
    assert got.text.startswith("I was asked with [key]") and is_clean(got.text)


def test_doctor_says_whose_key_it_is_and_not_the_key(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FRED_API_KEY=canary-fred-key-0123456789\n")
    result = run_cli(tmp_path, "doctor", "--json", OPENAI_API_KEY=KEY)
    keys = json.loads(result.stdout)["keys"]
    assert keys["OPENAI_API_KEY"]["origin"] == "the environment" and len(keys["OPENAI_API_KEY"]["hash"]) == 4
    assert keys["FRED_API_KEY"]["origin"].endswith(".env")
    assert is_clean(result.stdout) and "canary-fred-key" not in result.stdout
