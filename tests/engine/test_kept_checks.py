"""A page shows what the audit found when it was last made here; what was changed since is audited anew, and no package brings it."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.fakes.hostile_packages import members_of, pack
from tests.fakes.small_run import RUN
from workbench.audit.run_audit import Badge, audit_run
from workbench.packages.export import export_run
from workbench.packages.package import import_run
from workbench.store import PackageRefused, Store
from workbench.views.run_view import load_run


@contextmanager
def walked() -> Iterator[list[str]]:
    """Names of the functions of the checks that walk stored answers, as often as they are called in the block."""
    calls: list[str] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name in ("_row_days", "stored_bodies", "dated_before_cutoff"):
            calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def badges(home: Path) -> dict[str, Badge]:
    return {badge.name: badge for badge in load_run(home, RUN).badges()}


def audited(home: Path) -> dict[str, Any]:
    with closing(Store(home)) as store:
        return audit_run(store, RUN)


def change(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        for statement in ("DROP TRIGGER events_keep", *statements):
            db.execute(statement)


def test_the_second_opening_walks_no_answer_and_says_when_they_were_walked(home: Path) -> None:
    with walked() as first:
        shown = badges(home)
    assert first.count("_row_days") == 2  # the answers of the run
    with walked() as second:
        again = badges(home)
    assert second == [] and again == shown
    assert {badge.checked_utc for badge in again.values()} == {shown["Verified"].checked_utc}
    assert shown["Verified"].checked_utc.endswith("Z")


BODY = "UPDATE bodies SET data = CAST(replace(CAST(data AS TEXT), '2716.31', '9716.31') AS BLOB)"
TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "an event": (
        lambda home: change(home, "UPDATE events SET data = json_set(data, '$.p', 0.99) WHERE kind = 'run.finished'"),
        "Coherence",
    ),
    "a call's cutoff": (
        lambda home: change(home, "UPDATE api_calls SET cutoff = '2019-01-01'"),
        "Leak audit",
    ),
    "a body gone": (
        lambda home: change(home, "DELETE FROM bodies WHERE hash = (SELECT answer FROM api_calls)"),
        "Verified",
    ),
    "a body of another size": (
        lambda home: change(home, "UPDATE bodies SET data = CAST(data || 'x' AS BLOB) WHERE hash = (SELECT answer FROM api_calls)"),
        "Verified",
    ),
    "a notebook gone": (
        lambda home: (home / "runs" / RUN / "proofs" / "P1.ipynb").unlink(),
        "Verified",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_stored_results_hide_nothing_that_was_changed(home: Path, what: str) -> None:
    tamper, name = TAMPERED[what]
    assert badges(home)[name].verdict == "ok"
    tamper(home)
    assert badges(home)[name].verdict == "bad"


def test_a_flipped_byte_of_an_answer_is_for_the_audit_and_from_then_on_for_the_page(home: Path) -> None:
    """The one thing that opening does not look at again: the bytes of stored bodies; whoever reads one hashes it."""
    badges(home)
    change(home, BODY)
    assert badges(home)["Verified"].verdict == "ok"
    assert not audited(home)["passed"]
    with walked() as calls:
        assert badges(home)["Verified"].verdict == "bad"
    assert calls == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"key": null}',
        "[" * 5000,
        '{"key": "KEY", "checks": [{"name": 1}], "checked_utc": "now"}',
    ],
    ids=["empty", "list", "half", "no key", "deep", "odd"],
)
def test_a_damaged_file_is_made_anew(home: Path, content: str) -> None:
    badges(home)
    path = home / "runs" / RUN / "checks.json"
    path.write_text(content.replace("KEY", json.loads(path.read_text())["key"]))
    assert set(badges(home)) == {"Verified", "Leak audit", "Coherence"}
    assert json.loads(path.read_text())["checks"]


def test_no_package_carries_results_and_one_that_does_is_refused(home: Path, tmp_path: Path) -> None:
    badges(home)
    with closing(Store(home)) as store:
        package = members_of(export_run(store, RUN, "zip")[0])
    assert not [name for name in package if "checks" in name]
    planted = (home / "runs" / RUN / "checks.json").read_bytes()
    (tmp_path / "x.zip").write_bytes(pack({**package, "run/checks.json": planted}))
    with closing(Store(tmp_path / "other")) as other:
        with pytest.raises(PackageRefused, match="no file of a run"):
            import_run(other, tmp_path / "x.zip", anyway=True)
        assert other.run_ids() == []


def test_a_home_that_takes_no_writes_is_audited_at_each_opening(home: Path) -> None:
    folder = home / "runs" / RUN
    shutil.rmtree(folder / "sessions")  # else root, which may write anywhere, would pass
    (folder / "checks.json").mkdir()
    for _ in range(2):
        with walked() as calls:
            assert set(badges(home)) == {"Verified", "Leak audit", "Coherence"}
        assert "_row_days" in calls
    assert os.listdir(folder / "checks.json") == []
