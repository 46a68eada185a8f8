"""A year in the life of a small desk, simulated on real series: weekly reviews, releases, a revision, resolutions, two kills, a restored backup."""

import asyncio
import gzip
import importlib.util
import shutil
from contextlib import closing
from datetime import date, timedelta
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from workbench.audit.home_scores import own_runs
from workbench.audit.track_record import track_record
from workbench.engine.assembly import open_engine
from workbench.engine.leaves.grounding import TrialGrounding
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.reviews.claim_review import Doors, ReviewRequest, mark_told, review
from workbench.store import ApiLedger, Store
from workbench.store import events as ev

FIRST = date(2017, 1, 9)
#: Weeks in which the process is killed, in which the home is copied, lost, and a past month of a yield is revised.
KILLS, BACKUP, LOST, REVISION = (7, 31), 20, 24, 40


def series_folder(folder: Path) -> Path:
    """The embedded series, the monthly yields from 1995 on: a shorter past is forecast sooner."""
    spec = importlib.util.find_spec("arch")
    assert spec is not None and spec.origin is not None
    copy = folder / "data"
    shutil.copytree(Path(spec.origin).parent / "data", copy)
    path = copy / "default" / "default.csv.gz"
    head, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(
        gzip.compress(
            "\n".join(
                [head, *(line for line in lines if int(line.split(",")[0].rpartition("/")[2]) >= 1995)]
            ).encode()
            + b"\n"
        )
    )
    return copy


def revise(folder: Path, month: str) -> None:
    path = folder / "default" / "default.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith(month))
    day, *values = lines[place].split(",")
    lines[place] = ",".join([day, *(f"{float(value) + 0.2:.2f}" for value in values)])
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))


def claims(count: int) -> list[str]:
    """Claims on two yields with their days spread over the year, some true and some not."""
    return [
        f"The {('AAA', 'BAA')[number % 2]} yield is above {3.4 + 0.05 * (number % 9) + 0.8 * (number % 2):.2f} on "
        f"{date(2017, 3 + number * 10 // count, 28).isoformat()}"
        for number in range(count)
    ]


class Killed(RuntimeError):
    """The process is gone."""


@pytest.mark.parametrize(
    ("count", "weeks"),
    [
        pytest.param(6, 52, marks=pytest.mark.long),
        pytest.param(40, 52, marks=pytest.mark.soak),
    ],
)
def test_a_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, weeks: int) -> None:
    data, home = series_folder(tmp_path), tmp_path / "home"
    settings = with_preset("product", model="offline/analyst", grounder="statistical", analyzer="single")
    with closing(Store(home)) as store:
        for claim in claims(count):
            asyncio.run(_first_answer(store, claim, settings, data))
    splits: list[dict[str, Any]] = []
    statuses: list[str] = []
    for week in range(1, weeks + 1):
        cutoff = (FIRST + timedelta(weeks=week)).isoformat()
        if week == REVISION:
            revise(data, "6/1/2016")
        if week == BACKUP:
            shutil.copytree(home, tmp_path / "backup")
        if week == LOST:
            shutil.rmtree(home)
            shutil.copytree(tmp_path / "backup", home)
        with closing(Store(home)) as store:
            if week in KILLS:
                _killed(store, cutoff, data, monkeypatch)
            document = _weekly(store, cutoff, data)
            statuses += [row["status"] for row in document["claims"]]
            splits += [row for row in document["claims"] if row["changes"]]
            assert all(row["exit"] == 0 for row in document["claims"]), document
            again = _weekly(store, cutoff, data)
            assert {row["status"] for row in again["claims"]} <= {"same", "resolved"}, "nothing twice"
    assert {"reviewed", "same", "resolved"} <= set(statuses)
    _every_split_sums(splits)
    with closing(Store(home)) as store:
        _nothing_was_asked_twice(store)
        _the_record_is_the_sum_of_its_parts(store)


async def _first_answer(store: Store, claim: str, settings: RunSettings, data: Path) -> None:
    run_id = new_run(store, claim, Cutoff.parse(FIRST.isoformat()), settings)
    store.append(run_id, ev.NoteAdded(tags=("watch",)))
    async with open_engine(store, settings, environ={}, embedded_root=data) as engine:
        await engine.work(run_id)


def _weekly(store: Store, cutoff: str, data: Path) -> dict[str, Any]:
    document = asyncio.run(review(store, ReviewRequest(cutoff=cutoff), Doors(environ={}, embedded_root=data)))
    mark_told(store, document)
    return document


def _killed(store: Store, cutoff: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def die(self: TrialGrounding, node: str, trial: int) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(TrialGrounding, "ground", die)
        try:
            _weekly(store, cutoff, data)
        except Killed:
            return
    # in a week without a release there was nothing to be killed in


def _every_split_sums(rows: list[dict[str, Any]]) -> None:
    assert rows
    revised = 0
    for row in rows:
        changes = row["changes"]
        parts = changes["parts"]
        total = fsum([parts["edits"], parts["rule"], *(leaf["total"] for leaf in parts["leaves"].values())])
        assert total == pytest.approx(changes["after"] - changes["before"], abs=1e-9)
        for leaf in parts["leaves"].values():
            if leaf["before"] != leaf["after"]:
                assert fsum(leaf[name] for name in ("rows", "revisions", "time")) == pytest.approx(
                    leaf["total"], abs=1e-9
                )
                revised += abs(leaf["revisions"]) > 1e-6
    assert revised, "the revision moved something"


def _nothing_was_asked_twice(store: Store) -> None:
    """Each run asked its one series once, and no two runs of a claim asked as of one cutoff."""
    cutoffs: set[tuple[str, str]] = set()
    for run_id in store.run_ids():
        state = load_state(store, run_id)
        assert state.finished and len(ApiLedger(store).rows(run_id)) == 1
        assert (state.statement, state.cutoff) not in cutoffs
        cutoffs.add((state.statement, state.cutoff))


def _the_record_is_the_sum_of_its_parts(store: Store) -> None:
    """The record against sums made here from the log alone."""
    scored: list[tuple[float, float]] = []
    for run_id in store.run_ids():
        state = load_state(store, run_id)
        outcome = state.annotations.outcome
        assert outcome is not None, "every claim of the year came out"
        assert state.tree.root.p is not None
        if state.parsed_cutoff().last_visible_day.isoformat() < outcome.day:
            scored.append((state.tree.root.p, outcome.p))
    record = track_record(store)
    (made,) = [each for each in (record["live"], record["back-test"]) if each]
    assert made["n"] == len(scored) == len(own_runs(store)[0])
    assert made["brier"] == pytest.approx(
        fsum((p - came) ** 2 for p, came in scored) / len(scored), abs=1e-12
    )
    for tenth in made["reliability"]:
        inside = [(p, came) for p, came in scored if min(9, int(10 * p)) == round(10 * tenth["from"])]
        assert tenth["n"] == len(inside)
        assert tenth["true"] == pytest.approx(fsum(came for _, came in inside) / len(inside))
