"""A Dask cluster is spoken to on somebody's word alone: whoever holds its certificate can run code in the process that asks."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

import workbench as wb
from tests.command_line import cli_environment, run_cli
from tests.engine.test_worker_parts import FACTS
from workbench.api.python_terms import python_terms
from workbench.cli.main import app
from workbench.engine import detached
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace, worker_place
from workbench.errors import UsageError
from workbench.workers.certificates import new_certificates
from workbench.workers.worker_pool import Requirements, open_pool

WHERE = "dask://127.0.0.1:1"
#: Runs a command of the workbench and says whether Dask was loaded.
_WATCHED = """
import atexit, sys
atexit.register(lambda: print("distributed" in sys.modules, file=sys.stderr))
from workbench.cli.entry import main
main()
"""
CLAIM = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")


def commands(group: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    own: dict[str, click.Command] = getattr(group, "commands", {})  # typer's groups are not click's own
    if own:
        for name, each in own.items():
            yield from commands(each, *path, name)
    else:
        yield path, group


def test_every_command_with_workers_has_the_word() -> None:
    found = {}
    for path, each in commands(typer.main.get_command(app)):
        options = {option for parameter in each.params for option in parameter.opts}
        if "--workers" in options:
            found[path] = "--trust-cluster" in options
    assert len(found) >= 6 and all(found.values()), found


@pytest.mark.parametrize("text", ["4", "256"])
def test_processes_of_this_machine_need_no_word(text: str) -> None:
    assert worker_place(text, trust_cluster=False) == WorkerPlace(text)


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "257",
        "-1",
        "1.5",
        "",
        "\u0664",
        "tcp://h:1",
        "h:1",
        "dask://h",
        "dask://h:",
        "dask://:1",
        "dask://h:\u0664",
    ],
)
def test_what_is_neither_a_number_of_processes_nor_a_cluster_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write dask://HOST:PORT, or how many"):
        worker_place(text, trust_cluster=True)


@pytest.mark.parametrize("word", ["false", "no", 1])
def test_the_word_is_true_and_nothing_that_counts_as_it(word: Any) -> None:
    with pytest.raises(UsageError, match="--trust-cluster"):
        WorkerPlace(WHERE, trust_cluster=word)


def test_a_cluster_is_a_place_for_workers_with_the_word_alone() -> None:
    with pytest.raises(UsageError, match="--trust-cluster") as refused:
        worker_place(WHERE, trust_cluster=False)
    assert "\n" not in str(refused.value)
    refused.value.terms = python_terms
    assert "trust_cluster=True" in str(refused.value)
    with pytest.raises(UsageError, match="--trust-cluster"):
        WorkerPlace(WHERE)  # nothing that opens workers takes another value
    assert worker_place(WHERE, trust_cluster=True) == WorkerPlace(WHERE, trust_cluster=True)
    assert worker_place(None, trust_cluster=True) is None


@pytest.mark.long
def test_without_the_word_dask_is_not_even_loaded_and_no_run_is_opened(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, "analyze", *CLAIM, "--workers", WHERE],
        env=cli_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    line, loaded = done.stderr.strip().splitlines()
    assert done.returncode == 2 and "--trust-cluster" in line and loaded == "False"
    assert json.loads(run_cli(tmp_path, "runs", "--json").stdout) == []


def test_with_the_word_alone_a_client_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    made = []

    def client(address: str, **more: object) -> None:
        made.append(address)
        raise OSError("no cluster here")

    monkeypatch.setattr(distributed, "Client", client)
    new_certificates(tmp_path / ".config" / "analyst-workbench" / "dask")
    done = run_cli(tmp_path, "analyze", *CLAIM, "--workers", WHERE)
    assert done.returncode == 2 and not made, done.stderr

    async def trusted() -> None:
        needs = Requirements(settings=RunSettings(), facts=FACTS, level=None, keyed=())
        place, folder = WorkerPlace(WHERE, trust_cluster=True), tmp_path / ".config/analyst-workbench/dask"
        async with open_pool(place, needs, certificates=folder, say=print):
            raise AssertionError("there is no cluster")

    with pytest.raises(UsageError, match="no scheduler speaks TLS"):
        asyncio.run(trusted())
    assert made == ["tls://127.0.0.1:1"]


@pytest.mark.parametrize(
    "words",
    [
        ("resume", "last"),
        ("tournament", "run", "none"),
        ("tournament", "promote", "none", "e1"),
        ("forecast", "--due"),
        ("experiment", "run", "study.yaml"),
    ],
)
def test_every_command_refuses_first(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run_cli(tmp_path, *words, "--workers", WHERE)
    assert done.returncode == 2 and "--trust-cluster" in done.stderr and "\n" not in done.stderr.strip()
    with_word = run_cli(tmp_path, *words, "--workers", WHERE, "--trust-cluster")
    assert "--trust-cluster" not in with_word.stderr and "Traceback" not in with_word.stderr


def test_no_settings_file_says_the_word(tmp_path: Path) -> None:
    for place in (tmp_path / ".config" / "analyst-workbench", tmp_path):
        place.mkdir(parents=True, exist_ok=True)
        file = place / "workbench.toml"
        for name in ("trust_cluster", "trust-cluster"):
            file.write_text(f"[analyze]\n{name} = true\n")
            done = run_cli(tmp_path, "analyze", *CLAIM, "--workers", WHERE)
            assert done.returncode == 2 and "CLIENT" not in done.stderr
            assert "trust" in done.stderr.splitlines()[-1]
        file.unlink()


def test_a_detached_process_gets_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.store import Store

    spawned: list[list[str]] = []

    def spawn(words: list[str], log: Path, environ: dict[str, str]) -> int:
        spawned.append(words)
        raise InterruptedError

    monkeypatch.setattr(detached, "_spawn", spawn)
    for place in (WorkerPlace(WHERE, trust_cluster=True), WorkerPlace("2"), None):
        with pytest.raises(InterruptedError):
            detached.resume_detached(Store(tmp_path), "20180630-120000-aced", workers=place)
    assert [words[3:] for words in spawned] == [
        ["resume", "20180630-120000-aced", "--workers", WHERE, "--trust-cluster"],
        ["resume", "20180630-120000-aced", "--workers", "2"],
        ["resume", "20180630-120000-aced"],
    ]


def test_python_wants_the_word_too() -> None:
    with pytest.raises(UsageError, match="trust_cluster=True"):
        wb.analyze_sync("The S&P 500 rises", cutoff="2018-06-30", workers=WHERE)
    with pytest.raises(UsageError, match="trust_cluster=True"):
        wb.analyze_sync("The S&P 500 rises", cutoff="2018-06-30", workers=WHERE, trust_cluster=False)
