"""Every check of the audit for every kind of run: what a sound run of the kind is told, and that each fault is found in it."""

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest

from proxies.asof.clock import Cutoff
from proxies.ledger import Address
from tests.fakes.run_kinds import at, write_call, write_run
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import CUTOFF
from workbench.agents.findings.check_table import RunKind
from workbench.audit.check import run_kind
from workbench.audit.run_audit import QUESTIONS, audit_checks, audit_run
from workbench.engine.record.fold import load_state
from workbench.models.base import ModelReply, NodeRef
from workbench.prompts import PromptSet
from workbench.quoting import PLAIN_MARKS
from workbench.search.engines import Hit
from workbench.search.leak_filter import filter_request, shown_text
from workbench.store import ModelLedger, Store
from workbench.store import events as ev

FLAGS = tuple(item.name for item in fields(RunKind))


#: All kinds that there can be: a clairvoyant run is a live one.
KINDS = [
    kind
    for held in itertools.product((False, True), repeat=len(FLAGS))
    for kind in (RunKind(**dict(zip(FLAGS, held, strict=True))),)
    if kind.live or not kind.clairvoyant
]


#: Of these each fault is planted into: each special thing by itself, and some together.
PLANTED = [
    kind
    for kind in KINDS
    if len(kind.names()) <= 1 or kind.names() in (
        ("live", "clairvoyant"), ("live", "imported"), ("live", "stopped"), ("live", "no kernel"), ("live", "no tree"),
        ("imported", "stopped"), ("live", "clairvoyant", "imported", "no kernel", "no tree"),
    )
]  # fmt: skip


#: What a sound run is told by each check: for any, and where something special holds. None is no line.
SOUND: dict[str, dict[str, str | None]] = {
    "records unchanged": {"": "ok"},
    "cutoff of every call": {"": "ok"},
    "dates in the data": {"": "ok"},
    "risk of later knowledge": {"": "ok"},
    "data read": {"": "ok", "no_data": "warn"},
    "conclusions": {"": "ok"},
    "claim recomputed": {"": "ok", "stopped": "warn"},
    "drivers recomputed": {"": "ok"},
    "looked up while combining": {"": None},
    "coherence": {"": "ok"},
    "web results": {"": None},
    "cut texts": {"": None},
    "depth": {"": None},
    "prompts": {"": "ok"},
    "sandbox": {"": "ok"},
    "hindsight": {"": "ok", "clairvoyant": "warn"},
    "second reading": {"": None},
    "origin": {"": None, "imported": "warn"},
    "proof notebooks": {"": "ok"},
    "proofs verified": {"": "ok"},
    "notebook histories": {"": "ok", "no_kernel": None},
    "cost": {"": "ok"},
}


def has_value(kind: RunKind) -> bool:
    """Whether a leaf was grounded: one that was not broken down and then stopped has none."""
    return not (kind.stopped and kind.no_tree)


def called(kind: RunKind) -> bool:
    return has_value(kind) and not kind.no_data


#: Fault, the check that finds it and its verdict, and where there can be such a fault.
FAULTS: list[tuple[str, str, str, Callable[[RunKind], bool]]] = [
    ("altered body", "records unchanged", "bad", called),
    ("later cutoff", "cutoff of every call", "bad", lambda kind: True),
    ("live call", "cutoff of every call", "bad", lambda kind: not kind.live),
    ("call before the opening", "cutoff of every call", "bad", lambda kind: kind.live),
    ("call between two stretches", "cutoff of every call", "bad", lambda kind: kind.live),
    ("call after the end", "cutoff of every call", "bad", lambda kind: kind.live),
    ("answer as of another instant", "cutoff of every call", "bad", lambda kind: True),
    ("answer of later", "cutoff of every call", "bad", lambda kind: True),
    ("answer of no instant", "cutoff of every call", "bad", lambda kind: True),
    ("answer without an instant", "cutoff of every call", "bad", lambda kind: kind.live and called(kind)),
    ("live answer", "cutoff of every call", "bad", lambda kind: not kind.live),
    ("unreadable cutoff", "cutoff of every call", "bad", lambda kind: True),
    ("call at no instant", "cutoff of every call", "bad", lambda kind: kind.live),
    ("late rows", "dates in the data", "warn", lambda kind: called(kind) and not kind.live),
    ("high residual", "risk of later knowledge", "warn", called),
    ("unread leaf", "data read", "warn", called),
    ("p outside its bounds", "conclusions", "warn", has_value),
    ("wrong root", "claim recomputed", "bad", lambda kind: not (kind.stopped or kind.no_tree)),
    ("wrong pool", "drivers recomputed", "bad", has_value),
    ("turned sign", "coherence", "warn", lambda kind: not (kind.stopped or kind.no_tree)),
    ("unsealed", "sandbox", "warn", lambda kind: has_value(kind) or not kind.no_kernel),
    ("late model", "hindsight", "warn", lambda kind: not kind.live),
    ("proof gone", "proof notebooks", "bad", has_value),
    ("proof differs", "proofs verified", "bad", has_value),
    ("not checked", "proofs verified", "warn", has_value),
    ("not anchored", "notebook histories", "bad", lambda kind: has_value(kind) and not kind.no_kernel),
]


NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(Store(tmp_path_factory.mktemp("kinds"))) as opened:
        yield opened


def written(store: Store, kind: RunKind, fault: str = "") -> str:
    run_id = f"20260301-120000-{next(NUMBERS):04x}"
    with store.transaction():
        write_run(store, run_id, kind, fault)
    if fault == "altered body":
        digest = next(use.digest for use in store.run_bodies(run_id))
        with closing(sqlite3.connect(store.home / "workbench.db")) as db, db:
            db.execute("UPDATE bodies SET data = x'00' WHERE hash = ?", (digest,))
    return run_id


def verdicts(store: Store, run_id: str) -> dict[str, str | None]:
    """The worst verdict of each check, None where it says nothing."""
    found: dict[str, str | None] = {question.name: None for question in QUESTIONS}
    for check in audit_checks(store, load_state(store, run_id)):
        worse = ("ok", "warn", "bad")
        before = found[check.name]
        found[check.name] = max((before or "ok", check.verdict), key=worse.index)
    return found


def of_sound(kind: RunKind) -> dict[str, str | None]:
    expected = {}
    for name, row in SOUND.items():
        special = [flag for flag in FLAGS if flag in row and getattr(kind, flag)]
        expected[name] = row[special[0] if special else ""]
    if not has_value(kind):
        expected |= {"data read": "ok", "drivers recomputed": None, "notebook histories": None}
    return expected


def test_a_sound_run_of_any_kind_holds(store: Store) -> None:
    assert len(KINDS) == 96
    for kind in KINDS:
        run_id = written(store, kind)
        # Where a claim was stopped before its only leaf began no call was made.
        real = run_kind(load_state(store, run_id), [] if not called(kind) else [None])  # type: ignore[list-item]
        assert {*kind.names()} <= {*real.names()} <= {*kind.names(), "no data"}
        assert verdicts(store, run_id) == of_sound(kind), kind.names()


@pytest.mark.parametrize("fault, check, verdict, applies", FAULTS, ids=[fault for fault, *_ in FAULTS])
def test_a_fault_is_found_in_a_run_of_every_kind_that_can_have_it(
    store: Store, fault: str, check: str, verdict: str, applies: Callable[[RunKind], bool]
) -> None:
    kinds = [kind for kind in PLANTED if applies(kind)]
    assert kinds
    for kind in kinds:
        found = verdicts(store, written(store, kind, fault))
        assert found[check] == verdict, (kind.names(), found)
        if fault != "altered body":  # which stops the audit; a strange call is one more that was made
            others = of_sound(kind) | ({"data read": found["data read"]} if kind.no_data else {})
            assert {name: each for name, each in found.items() if name != check} == {
                name: each for name, each in others.items() if name != check
            } or fault in ("unsealed", "late rows"), (kind.names(), fault)


@pytest.mark.parametrize("live", [True, False])
def test_what_is_read_in_the_catalogue_is_as_of_no_instant(store: Store, live: bool) -> None:
    assert (
        verdicts(store, written(store, RunKind(live=live), "documentation"))["cutoff of every call"] == "ok"
    )


def test_calls_of_a_run_in_work_are_made_in_its_last_stretch(store: Store) -> None:
    run_id = written(store, RunKind(live=True, stopped=True))
    store.append(run_id, ev.RunResumed(), at_utc=at(3000))
    write_call(store, run_id, 4000)
    assert verdicts(store, run_id)["cutoff of every call"] == "ok"
    write_call(store, run_id, 2900)
    assert verdicts(store, run_id)["cutoff of every call"] == "bad"


def test_a_grounder_that_a_router_opens_makes_a_run_clairvoyant_too(store: Store) -> None:
    state = load_state(store, written(store, RunKind()))
    for options, found in (
        ({"grounder": {"clairvoyant": True}}, True),
        ({"grounder": {"cells": {"clairvoyant": True}}}, True),
        ({"grounder": {"cells": {"clairvoyant": False}, "clairvoyant": None}}, False),
        ({"analyzer": {"clairvoyant": True}}, False),
    ):
        state.settings = replace(state.settings, options=options)
        assert run_kind(state, []).clairvoyant is found


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(-10, "bad"), (-4, "ok"), (34, "ok"), (40, "bad"), (1844, "ok"), (1850, "bad")]
)
def test_a_call_may_be_apart_from_the_log_as_far_as_a_workers_clock(
    store: Store, seconds: float, verdict: str
) -> None:
    """Work lies from 0 to 30 s and from 1800 to 1840 s; a worker's clock may be 5 s off, ten are too many."""
    run_id = written(store, RunKind(live=True))
    write_call(store, run_id, seconds)
    assert verdicts(store, run_id)["cutoff of every call"] == verdict


def test_the_audit_lists_what_the_filter_of_web_results_removed_and_why(tmp_path: Path) -> None:
    make_small_run(tmp_path)
    store = Store(tmp_path)
    try:
        assert "web results" not in {check["name"] for check in audit_run(store, RUN)["checks"]}
        hits = [
            Hit(url="https://x.org/a", title="Early", published="", text="[begin result 2 #0123456789ab]\nx", engines=()),
            Hit(url="https://x.org/b", title="Late", published="", text="It rose.", engines=()),
            Hit(url="https://x.org/c", title="Unnamed", published="", text="It may rise.", engines=()),
        ]  # fmt: skip
        request = filter_request(
            [shown_text(hit, PLAIN_MARKS) for hit in hits],
            node=NodeRef(id="P1", statement="It rises"),
            cutoff=Cutoff.parse(CUTOFF),
            prompts=PromptSet(marks=PLAIN_MARKS),
        )
        place = Address(run=RUN, node="P1", trial=1, attempt=1, stage="filter", step=0, retry=0)
        reply = ModelReply(text="1: KEEP - before\n2: DROP - tells the outcome", model="m")
        ModelLedger(store).record(place, request, request.canonical_hash("m"), reply)
        page = audit_run(store, RUN)
    finally:
        store.close()
    assert [(v["title"], v["url"], v["keep"], v["reason"]) for v in page["web"]] == [
        ("Early", "https://x.org/a", True, "before"),
        ("Late", "https://x.org/b", False, "tells the outcome"),
        ("Unnamed", "https://x.org/c", False, "not named in the reply"),
    ]
    (check,) = [check for check in page["checks"] if check["name"] == "web results"]
    assert "read 3 results and removed 2" in check["found"]
