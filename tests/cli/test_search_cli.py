"""``workbench search`` and ``page`` against emulated vendors and a model server on loopback."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.loopback import serving_json
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage

KEY = "v3nd0rk3yv3nd0rk3y"
CUTOFF = ("--cutoff", "2024-06-01")
PAGES = [
    WebPage(
        "https://www.reuters.com/a",
        "Fed outlook",
        "2024-05-20T00:00:00",
        "A cut is expected in September 2024.",
    ),
    WebPage("https://polymarket.com/event/x", "Fed market", "2024-05-20T00:00:00", "41 %"),
    WebPage("https://x.org/late", "Fed news", "2024-09-20T00:00:00", "It was cut."),
    WebPage(
        "https://x.org/sly", "Fed, in the end", "2024-05-20T00:00:00", "SLY: so it was lowered after all."
    ),
]
COPY = "<title>CPI</title><p>Consumer prices rose 0.3 percent in April, and more is said so that it is of some length.</p>"


@pytest.fixture(scope="module")
def vendors() -> Iterator[dict[str, str]]:
    web = FakeWeb(PAGES, copies={"https://www.bls.gov/cpi": [("20240530120000", COPY)]})
    with Upstream(web.answer) as upstream:
        names = ("BRAVE", "WAYBACK", "WIKIPEDIA", "GDELT", "SEC", "EXA")
        yield {
            **{f"WORKBENCH_UPSTREAM_{name}": f"{upstream.url}/{name.lower()}" for name in names},
            "BRAVE_API_KEY": KEY,
        }  # fmt: skip


def search(home: Path, env: dict[str, str], *more: str) -> tuple[int, Any, str]:
    done = run_cli(home, "search", "Fed", "rate", *CUTOFF, "--set", "engines=brave", "--json", *more, **env)
    assert KEY not in done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_results_are_a_document_and_reasons_come_with_audit_alone(
    tmp_path: Path, vendors: dict[str, str]
) -> None:
    code, document, err = search(tmp_path, vendors)
    assert code == 0 and [r["url"] for r in document["results"]] == [
        "https://www.reuters.com/a",
        "https://x.org/sly",
    ]
    assert set(document["results"][0]) >= {"id", "url", "title", "published", "text"}
    assert "records" not in document and "polymarket" not in json.dumps(document) and "--model" in err
    code, document, _ = search(tmp_path, vendors, "--audit")
    records = {record["url"]: (record["fate"], record["reason"]) for record in document["records"]}
    assert records["https://polymarket.com/event/x"][0] == "blocking" and "https://x.org/late" not in records
    plain = run_cli(
        tmp_path, "search", "Fed", *CUTOFF, "--set", "engines=brave", "-k", "1", "--audit", **vendors
    )
    assert (
        "S1.1  Fed outlook" in plain.stdout
        and "blocking https://polymarket.com/event/x: a site" in plain.stdout
    )


def test_a_model_reads_the_results_and_is_asked_once_for_the_same(
    tmp_path: Path, vendors: dict[str, str]
) -> None:
    asked: list[Any] = []

    def answer(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        asked.append(body)
        parts = body["messages"][-1]["content"].split("[begin result ")[1:]
        text = "\n".join(
            f"{n}: {'DROP - sly' if 'SLY' in part else 'KEEP - early'}" for n, part in enumerate(parts, 1)
        )
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        return 200, {"id": "1", "object": "chat.completion", "created": 1, "model": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}, {}  # fmt: skip

    with serving_json(answer) as url:
        env = {**vendors, "OPENAI_API_KEY": "sk-not-a-key"}
        for _ in range(2):
            code, document, err = search(
                tmp_path, env, "--model", "openai/x", "--set", f"api_base={url}", "--audit"
            )
            assert code == 0 and [r["url"] for r in document["results"]] == ["https://www.reuters.com/a"], err
            record = next(r for r in document["records"] if r["fate"] == "model")
            assert (record["reason"], record["url"]) == ("sly", "https://x.org/sly")
    assert len(asked) == 1
    with closing(sqlite3.connect(tmp_path / "home" / "workbench.db")) as database:
        stages = {
            stage for (stage,) in database.execute("SELECT stage FROM model_calls WHERE run_id = 'search'")
        }
    assert stages == {"filter"}


def test_a_page_is_its_dated_copy_or_refused_in_one_line(tmp_path: Path, vendors: dict[str, str]) -> None:
    done = run_cli(tmp_path, "page", "https://www.bls.gov/cpi", *CUTOFF, "--json", **vendors)
    document = json.loads(done.stdout)
    assert (document["source"], document["published"]) == ("archive", "2024-05-30T12:00:00Z")
    assert document["text"].startswith("Consumer prices rose") and done.returncode == 0
    plain = run_cli(tmp_path, "page", "https://www.bls.gov/cpi", *CUTOFF, **vendors)
    assert plain.stdout.startswith(
        "CPI\nhttps://www.bls.gov/cpi\narchive of 2024-05-30T12:00:00Z\n\nConsumer"
    )
    for url in ("https://never.org/", "https://polymarket.com/x"):
        refused = run_cli(tmp_path, "page", url, *CUTOFF, "--json", **vendors)
        assert refused.returncode == 2 and "no copy of this page" in json.loads(refused.stdout)["refused"]
        assert refused.stderr.count("\n") == 1


def test_mistakes_are_one_line(tmp_path: Path, vendors: dict[str, str]) -> None:
    for arguments, words in (
        (("search", "Fed", "--cutoff", "soon"), "is not a cutoff"),
        (("search", "Fed", *CUTOFF, "--set", "engines=bing"), "there is no search engine 'bing'"),
        (("search", "site:polymarket.com", *CUTOFF), "has no words"),
        (("search", "Fed", *CUTOFF, "-k", "0"), "a number of at least 1"),
    ):
        done = run_cli(tmp_path, *arguments, **vendors)
        assert (
            done.returncode == 2
            and words in done.stderr
            and "Traceback" not in done.stderr
            and not done.stdout
        )
    # nobody could be asked: a document all the same, and the code of a source that failed
    none = run_cli(tmp_path, "search", "Fed", *CUTOFF, "--set", "engines=exa", "--json", **vendors)
    assert none.returncode == 4 and json.loads(none.stdout)["failed"][0]["engine"] == "exa"
