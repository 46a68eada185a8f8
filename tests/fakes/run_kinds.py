"""Runs of every kind that the audit knows, with or without one fault: written as the engine leaves them, without a kernel.

Each is begun, stopped, resumed half an hour later and, unless it is a stopped one, ended: work lies between 0 and 30 s and from
1800 s on. Each leaf with a value made one data call.
"""

import json
from typing import Any

from sandbox.record.verify import content_hash
from tests.fakes.stored_run import CUTOFF, PATH, RunWriter, at
from workbench.agents.findings.check_table import RunKind
from workbench.engine.record.run_files import journal_name, put_tree
from workbench.engine.run_settings import RunSettings
from workbench.propositions import Belief, Polarity, Tree
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle

PINNED = "2018-06-30T04:00:00Z"
BEYOND = ev.FindingRecord(
    check="bounds", words="The reply states p 0.9 with low 0.05 and high 0.2; p lies outside."
)
P = {"P0": 0.55, "P1": 0.6, "P2": 0.4}
#: Calls that no sound run makes: when, and what is odd in a run of a past cutoff and in a live one.
STRANGE: dict[str, tuple[float, dict[str, tuple[str, str]]]] = {
    "later cutoff": (15, {"cutoff": ("2018-07-15", "2026-04-01"), "as_of": (PINNED, PINNED)}),
    "unreadable cutoff": (15, {"cutoff": ("one day", "one day"), "as_of": (PINNED, PINNED)}),
    "call at no instant": (15, {}),
    "live answer": (15, {"as_of": ("live", "live")}),
    "answer of later": (15, {"as_of": (at(3600), at(3600))}),
    "answer of no instant": (15, {"as_of": ("one day", "one day")}),
    "documentation": (15, {"as_of": ("one day", "one day"), "path": ("catalogue/doc", "catalogue/doc")}),
    "live call": (15, {"cutoff": ("live", "live"), "as_of": ("live", "live")}),
    "call before the opening": (-60, {}),
    "call between two stretches": (900, {}),
    "call after the end": (3600, {}),
    "answer as of another instant": (15, {"as_of": ("2018-07-15T00:00:00Z", at(-86400))}),
}


def write_run(store: Store, run_id: str, kind: RunKind, fault: str = "") -> None:
    """Write a run of a kind; ``fault`` is one of those of ``tests/engine/test_audit_kinds.py``."""
    _Writer(store, run_id, kind, fault).write()


def write_call(store: Store, run_id: str, seconds: float) -> None:
    """Write one more data call of a live run's P1."""
    _Writer(store, run_id, RunKind(live=True), "").read("P1", seconds)


class _Writer(RunWriter):
    def __init__(self, store: Store, run_id: str, kind: RunKind, fault: str) -> None:
        super().__init__(store, run_id)
        self.kind, self.fault = kind, fault

    def write(self) -> None:
        kind, statement = self.kind, f"The claim of {self.run_id} comes true by 2018-12-31"
        settings = RunSettings(
            model="openai/gpt-4o" if self.fault == "late model" else "offline/analyst",
            options={"grounder": {"clairvoyant": True}} if kind.clairvoyant else {},
        )
        tree = Tree.root_only(statement)
        if not kind.no_tree:
            reasons = {"P1": "first", "P2": "second"}
            children = {
                node: f"The {word} reason of {self.run_id} holds by 2030" for node, word in reasons.items()
            }
            tree = tree.expand("P0", children, dict.fromkeys(children, Polarity.POSITIVE))
        self.start(statement, cutoff="now" if kind.live else CUTOFF, settings=settings, seconds=0)
        self.append(ev.TreePlanned(tree=put_tree(self.store, tree)), 1)
        if not kind.no_kernel:
            self.seal("none" if self.fault == "unsealed" else "namespaces", 2)
        first, *others = tree.leaves()
        if others:
            tree = self.ground_leaf(tree, first, 10)
        self.append(ev.RunStopped(why="interrupt", detail="stopped by hand"), 30)
        self.append(ev.RunResumed(), 1800)
        if kind.stopped:
            self.append(ev.RunStopped(why="interrupt", detail="stopped by hand"), 1830)
        else:
            tree = self.ground_leaf(tree, others[0] if others else first, 1810)
            self.finish(self.combined(tree), 1840)
        if kind.imported:
            self.append(ev.RunImported(package="sha256:" + "a" * 64), 7200)
        self.strange_calls()

    def ground_leaf(self, tree: Tree, leaf: str, seconds: float) -> Tree:
        kind, fault = self.kind, self.fault
        p, folder = P[leaf], self.store.folder(self.run_id)
        cells = not kind.no_kernel or fault == "unsealed"
        self.append(ev.LeafStarted(node=leaf, trial=1, attempt=1), seconds)
        files = {folder / "sessions" / journal_name(leaf, 1, 1): "{}\n"} if cells else {}
        if fault != "proof gone":
            notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
            files[folder / "proofs" / f"{leaf}.ipynb"] = json.dumps(notebook)
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        last = leaf in ("P0", "P2") or (kind.stopped and not kind.no_tree)
        if not kind.no_data and not (fault == "unread leaf" and last):
            self.read(leaf, seconds + 2)
        belief = Belief(p=p, key_factor="it holds", report=f"The report of {leaf} in {self.run_id}: {p}.")
        pooled = p + 0.1 if fault == "wrong pool" else p
        self.ground(
            leaf,
            belief,
            begun=True,
            verified=None if fault == "not checked" else fault != "proof differs",
            pooled=pooled,
            seconds=seconds + 5,
            evidence=ev.EvidenceRecord(kind="notebook" if cells else "trace"),
            journal_head="b" * 64 if cells and fault != "not anchored" else None,
            findings=(BEYOND,) if fault == "p outside its bounds" else (),
        )
        return tree.with_belief(leaf, Belief(p=pooled, key_factor="it holds", report="a report"))

    def combined(self, tree: Tree) -> float:
        if not self.kind.no_tree:
            weights = {"P1": -0.5 if self.fault == "turned sign" else 0.5, "P2": 0.4}
            words = Belief(p=0.5, key_factor="both", report=f"The two reasons of {self.run_id}.")
            tree = settle(tree.with_rule("P0", LinearRule(0.1, weights), words))
        assert tree.root.p is not None
        p = tree.root.p + (0.2 if self.fault == "wrong root" and not self.kind.no_tree else 0)
        if not self.kind.no_tree:
            self.combine(tree, p, 1835)
        return p

    def read(
        self,
        node: str,
        seconds: float,
        *,
        cutoff: str | None = None,
        as_of: str | None = None,
        path: str = PATH,
    ) -> None:
        """File a data call as the broker does, at an instant."""
        live = self.kind.live
        day = "2018-08-01" if self.fault == "late rows" else "2018-06-29"
        data = [{"date": day, "value": 1.0, "run": self.run_id, "at": seconds}]
        meta: dict[str, Any] = {
            "as_of": as_of or ("live" if live else PINNED),
            "residual": "high" if self.fault == "high residual" else "none",
            "content_hash": content_hash(data),
        }
        if self.fault == "answer without an instant":
            del meta["as_of"]
        self.call(
            node,
            data,
            meta=meta,
            retry=int(seconds),
            at_utc=at(seconds).removesuffix("Z" if self.fault == "call at no instant" else ""),
            path=path,
            asked={"series_id": "SP500"},
            cutoff=cutoff or ("live" if live else CUTOFF),
            request_hash="sha256:" + "1" * 64,
        )

    def strange_calls(self) -> None:
        live, strange = self.kind.live, STRANGE.get(self.fault)
        if strange is not None and not (live and self.fault in ("live answer", "live call")):
            seconds, more = strange
            self.read("P1", seconds, **{name: each[live] for name, each in more.items()})
