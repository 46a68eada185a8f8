"""``review --notify``: hostile claims and failing receivers cost neither a key, nor a process left behind, nor an alert."""

import asyncio
import json
import os
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import workbench.reviews.notification as notification
from tests.command_line import run_cli, run_process
from workbench.cli.common import say
from workbench.errors import UsageError
from workbench.reviews.claim_review import Doors, mark_told, review
from workbench.reviews.notification import notify, notify_command
from workbench.reviews.review_request import ReviewRequest
from workbench.store import Store

KEY = "sk-5b1f0c7de94a4f0c8a61d2"


def receiver(folder: Path, body: str) -> str:
    """The command line of a program that a person might name."""
    script = folder / "receiver.py"
    script.write_text(
        f"import json, os, pathlib, subprocess, sys, time\nhere = pathlib.Path({str(folder)!r})\n{body}"
    )
    return f"{sys.executable} {script}"


KEEP = "(here / 'got').open('a').write(sys.stdin.read() + chr(10)); (here / 'seen').write_text(json.dumps([sys.argv[1:], dict(os.environ)]))"


def got(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "got").read_text().splitlines()]


def test_words_of_a_claim_are_data_and_no_key_goes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRED_API_KEY", KEY)
    monkeypatch.setenv("CHAT_TOKEN", "the-receivers-own-token-1")
    monkeypatch.chdir(tmp_path)
    hostile = "$(touch a) `touch b`; touch c | ~! touch d\n~! touch e\n\x1b]0;x\x07\u202e\x9b http://169.254.169.254/ '\""
    document = {
        "claims": [{"statement": hostile, "words": f"401 of https://x/?api_key={KEY}", "half": "\ud800"}]
    }
    parts = notify_command(receiver(tmp_path, KEEP) + " '$(touch f)' ';' '*' '>' g")
    assert notify(parts, document, os.environ, say)
    text = (tmp_path / "got").read_text()
    (row,) = got(tmp_path)[0]["claims"]
    arguments, environ = json.loads((tmp_path / "seen").read_text())
    assert row["statement"] == hostile and row["half"] == "?"
    assert text.count("\n") == 1 and text.strip().isprintable(), (
        "no line that a mail program takes for an order"
    )
    assert KEY not in text and "[key]" in row["words"] and KEY not in str(environ)
    assert environ["CHAT_TOKEN"] == "the-receivers-own-token-1", "a receiver has keys of its own"
    assert arguments == ["$(touch f)", ";", "*", ">", "g"]
    assert {path.name for path in tmp_path.iterdir()} == {"receiver.py", "got", "seen"}


@pytest.mark.parametrize("words", ["", "  ", 'a "b', "https://169.254.169.254/latest", "/", "no-such-program", "tr\0ue", "true a\0b"])  # fmt: skip
def test_a_command_that_cannot_be_run_is_refused_before_anything_is_bought(words: str) -> None:
    with pytest.raises(UsageError, match="--notify"):
        notify_command(words)
    assert notify_command("true 'a b'") == ["true", "a b"]


def test_one_that_hangs_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notification, "_SECONDS", 2)
    hangs = "p = subprocess.Popen(['sleep', '300']); (here / 'pids').write_text(f'{os.getpid()} {p.pid}'); time.sleep(300)"
    words = receiver(tmp_path, hangs) + f" --header 'Authorization: {KEY}'"
    begun = time.monotonic()
    assert not notify(notify_command(words), {"claims": ["x" * 3_000_000]}, os.environ, say)
    assert time.monotonic() - begun < 20
    assert all(_ended(int(pid)) for pid in (tmp_path / "pids").read_text().split())
    said = capfd.readouterr().err
    assert "took longer" in said and said.count("\n") == 1 and KEY not in said


def _ended(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # its parent is the first process of the machine, which reaps when it likes
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("body", ["sys.exit(3)", "os.abort()", "os.close(0); sys.exit(1)"])
def test_one_that_fails_is_said_in_a_line(
    tmp_path: Path, body: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not notify(
        notify_command(receiver(tmp_path, body)), {"claims": ["x" * 3_000_000]}, os.environ, say
    )
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "exit code" in said and "told again" in said


def test_one_that_reads_nothing_and_ends_well_has_taken_it(tmp_path: Path) -> None:
    assert notify(["true"], {"claims": ["x" * 3_000_000]}, os.environ, say)


@pytest.mark.long
def test_an_alert_that_nobody_got_is_told_again_once(tmp_path: Path, watched_claim: Path) -> None:
    shutil.copytree(watched_claim, tmp_path / "home")
    line = ("review", "--set", "cutoff=2018-06-27", "--alert", "0pp")
    unrunnable = run_cli(tmp_path, *line, "--notify", "no-such-program")
    assert unrunnable.returncode == 2 and len(list((tmp_path / "home/runs").iterdir())) == 1
    failing = run_cli(tmp_path, *line, "--notify", receiver(tmp_path, "print('x'); sys.exit(1)"))
    assert failing.returncode == 10 and "told again" in failing.stderr
    words = receiver(tmp_path, "print('a word of its own'); " + KEEP)
    again = run_process(tmp_path, *line, "--json", "--notify", words)
    assert again.returncode == 10 and got(tmp_path) == [{**json.loads(again.stdout), "exit": 10}]
    (row,) = got(tmp_path)[0]["claims"]
    assert row["moved"] and row["review"] and row["after"] != row["before"]
    assert "a word of its own" in again.stderr, "stdout is one document"
    assert run_cli(tmp_path, *line, "--notify", words).returncode == 0 and len(got(tmp_path)) == 1


def test_a_move_is_told_though_the_review_was_stopped_after_it(
    tmp_path: Path, watched_claim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store(Path(shutil.copytree(watched_claim, tmp_path / "home")))) as store:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        asked = ReviewRequest(cutoff="2018-06-27", alert=0.0)
        with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
            patched.setattr("workbench.reports.note_page.write_report", full)
            asyncio.run(review(store, asked, Doors(environ={})))
        for _ in range(2):  # whoever does not say that it was told is told again
            document = asyncio.run(review(store, asked, Doors(environ={})))
            assert [row["moved"] for row in document["claims"]] == [True] and document["moved"]
        mark_told(store, document)
        assert asyncio.run(review(store, asked, Doors(environ={})))["moved"] == []
