"""The Python API and the command line give the same documents."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.command_line import run_cli
from tests.fakes.screens import RUN, make_run
from tests.fakes.small_run import RUN as SMALL_RUN
from tests.fakes.small_run import make_small_run
from workbench.engine.blocking import run_blocking
from workbench.errors import UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_run(tmp_path / "home")
    make_small_run(tmp_path / "home")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return tmp_path


VERBS: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
    "runs": (("runs",), lambda: wb.runs()),
    "show": (("show", RUN), lambda: wb.open_run(RUN).show()),
    "sensitivity": (("sensitivity", RUN), lambda: wb.open_run(RUN).sensitivity()),
    "sensitivity report": (
        ("sensitivity", RUN, "--report", "--seed", "3"),
        lambda: wb.open_run(RUN).sensitivity_report(seed=3),
    ),
    "scenarios": (("scenarios", RUN), lambda: wb.open_run(RUN).scenarios()),
    "what-if": (
        ("whatif", RUN, "--set", "P3=0.1"),
        lambda: wb.open_run(RUN).what_if({"P3": 0.1}).to_json(),
    ),
    "noise": (
        ("noise", RUN, "--level", "0.2", "--seed", "4", "--draws", "20"),
        lambda: wb.open_run(RUN).noise(level=0.2, seed=4, draws=20),
    ),
    "audit": (("audit", SMALL_RUN), lambda: wb.open_run(SMALL_RUN).audit()),
    "coherence": (("coherence", RUN, SMALL_RUN), lambda: wb.coherence(RUN, SMALL_RUN)),
    "decide": (("decide", RUN, "--threshold", "0.6"), lambda: wb.decide(RUN, threshold=0.6)),
    "apis": (("apis", "embedded"), lambda: wb.apis("embedded")),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_returns_what_the_command_prints(home: Path, verb: str) -> None:
    words, function = VERBS[verb]
    done = run_cli(home, *words, "--json")
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(function()))


def test_a_call_returns_the_data_that_the_command_prints(home: Path) -> None:
    words = ("embedded/series/observations", "series_id=SP500", "--cutoff", "2018-01-10")
    printed = json.loads(run_cli(home, "call", *words, "--json").stdout)
    returned = wb.call(words[0], {"series_id": "SP500"}, cutoff="2018-01-10")
    assert returned["data"] and returned["data"] == printed["data"]
    # the two differ in when they were answered, not in what
    assert returned["meta"].keys() == printed["meta"].keys()
    for name in ("as_of", "content_hash", "policy"):
        assert returned["meta"][name] == printed["meta"][name]


def test_verify_and_doctor_return_what_the_commands_print(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    for words, function in (
        (("verify", SMALL_RUN), lambda: wb.open_run(SMALL_RUN).verify()),
        (("doctor",), wb.doctor),
    ):
        printed = json.loads(run_cli(home, *words, "--json").stdout)
        returned = json.loads(json.dumps(function()))
        if words == ("doctor",):  # names of keys that this machine's environment has
            assert printed.pop("keys_set") is not None and returned.pop("keys_set") is not None
        assert returned == printed


def test_scenarios_made_in_python_are_seen_by_the_command_line(home: Path) -> None:
    analysis = wb.open_run(RUN)
    view = analysis.what_if({"P3": 0.1}, scenario="bear", author="Ann", rationale="a slump")
    table = analysis.scenarios("bear")
    assert table["scenarios"][0]["root"] == pytest.approx(view.after)
    printed = json.loads(run_cli(home, "scenarios", RUN, "bear", "--json").stdout)
    assert printed == table and printed["scenarios"][0]["author"] == "Ann"
    again = analysis.what_if({"P1": 0.9}, scenario="bear")  # on top of what it holds
    assert {"P1", "P3"} <= {change.id for change in again.changed}
    assert analysis.scenarios(undo="bear")["scenarios"][0]["edits"] == 1
    assert analysis.scenarios(close="bear")["scenarios"] == []


def test_an_export_goes_by_the_suffix_and_comes_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = wb.open_run(RUN)
    printed = run_cli(home, "export", RUN, "--to", "csv")
    assert analysis.export(home / "run.csv").read_bytes() == printed.stdout.encode()
    with pytest.raises(UsageError, match=r"no export to 'docx': name the file \.html, .*, or give to="):
        analysis.export(home / "run.docx")
    with pytest.raises(UsageError, match="a normaliser is one of"):
        analysis.export(home / "run.bif", project=True, normalise="loudly")
    assert not (home / "run.docx").exists() and not (home / "run.bif").exists()
    small = wb.open_run(SMALL_RUN)
    package = small.export(home / "run.zip")
    monkeypatch.setenv("WORKBENCH_HOME", str(home / "other"))
    assert wb.import_run(package).p == small.p
    assert [row["imported"] is not None for row in wb.runs()] == [True]


def test_a_frame_has_a_row_per_node(home: Path) -> None:
    analysis = wb.open_run(RUN)
    frame = analysis.to_frame()
    assert list(frame.index) == [node["id"] for node in analysis.show()["nodes"]]
    assert frame.loc["P0", "p"] == analysis.p


def test_deciding_between_nothing_is_one_line(home: Path) -> None:
    with pytest.raises(UsageError, match="nothing to decide between"):
        wb.decide()


def test_tab_shows_every_public_name() -> None:
    assert set(wb.__all__) <= set(dir(wb))
    assert all(getattr(wb, name) is not None for name in wb.__all__)
    verbs = {"sensitivity", "scenarios", "audit", "verify", "export", "to_frame", "show", "noise", "refit"}
    assert verbs <= set(dir(wb.Analysis))


# --- waiting for asynchronous work ---------------------------------------------------------------------------------


async def test_a_plain_call_inside_a_running_loop_says_what_to_write(home: Path) -> None:
    with pytest.raises(UsageError, match=r"write await wb\.analyze\(\.\.\.\)") as refusal:
        wb.analyze_sync("It rains", cutoff="2018-06-30")
    assert "\n" not in str(refusal.value)


def test_a_plain_script_analyzes_without_await(home: Path) -> None:
    analysis = wb.analyze_sync(
        "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
        cutoff="2018-06-30",
        plan_only=True,
        quiet=True,
    )
    assert analysis.p is None and len(analysis.show()["nodes"]) > 6
    assert wb.open_run("last").run_id == analysis.run_id


def test_an_interrupt_cancels_the_work_and_waits_for_its_end() -> None:
    ended = threading.Event()

    async def work() -> None:
        import _thread

        asyncio.get_running_loop().call_later(0.05, _thread.interrupt_main)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_blocking(work())
    assert ended.is_set()
