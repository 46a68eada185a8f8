"""Runs of every kind that the audit knows, with or without one fault: written as the engine leaves them, without a kernel.

Each is begun, stopped, resumed half an hour later and, unless it is a stopped one, ended: work lies between 0 and 30 s and from
1800 s on. Each leaf with a value made one data call.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from proxies.ledger import Address, Answer, LedgerRow
from sandbox.record.verify import content_hash
from workbench.agents.findings.check_table import RunKind
from workbench.engine.record.run_files import journal_name, put_tree
from workbench.engine.run_settings import RunSettings
from workbench.propositions import Belief, Polarity, Tree
from workbench.store import ApiLedger, Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle

BEGUN = datetime(2026, 3, 1, 12, tzinfo=UTC)
CUTOFF, PINNED, PATH = "2018-06-30", "2018-06-30T04:00:00Z", "embedded/series/observations"
BEYOND = ev.FindingRecord(
    check="bounds", words="The reply states p 0.9 with low 0.05 and high 0.2; p lies outside."
)
P = {"P0": 0.55, "P1": 0.6, "P2": 0.4}


def at(seconds: float) -> str:
    return (BEGUN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def write_run(store: Store, run_id: str, kind: RunKind, fault: str = "") -> None:
    """Write a run of a kind; ``fault`` is one of those of ``tests/engine/test_audit_kinds.py``."""
    _Writer(store, run_id, kind, fault).write()


def write_call(store: Store, run_id: str, seconds: float) -> None:
    """Write one more data call of a live run's P1."""
    _Writer(store, run_id, RunKind(live=True), "").call("P1", seconds)


class _Writer:
    def __init__(self, store: Store, run_id: str, kind: RunKind, fault: str) -> None:
        self.store, self.run_id, self.kind, self.fault = store, run_id, kind, fault

    def write(self) -> None:
        kind, statement = self.kind, f"The claim of {self.run_id} comes true by 2018-12-31"
        settings = RunSettings(
            model="openai/gpt-4o" if self.fault == "late model" else "offline/analyst",
            options={"grounder": {"clairvoyant": True}} if kind.clairvoyant else {},
        )
        tree = Tree.root_only(statement)
        if not kind.no_tree:
            up = Polarity.POSITIVE
            children = {
                "P1": f"The first reason of {self.run_id} holds by 2030",
                "P2": f"The second reason of {self.run_id} holds by 2030",
            }
            tree = tree.expand("P0", children, {"P1": up, "P2": up})
        self.append(
            0,
            ev.RunStarted(
                statement=statement,
                cutoff="now" if kind.live else CUTOFF,
                cutoff_instant=at(0) if kind.live else PINNED,
                settings=settings.to_json(),
            ),
        )
        self.append(1, ev.TreePlanned(tree=put_tree(self.store, tree)))
        if not kind.no_kernel:
            self.append(2, ev.RunSealed(isolation="none" if self.fault == "unsealed" else "namespaces"))
        first, *others = tree.leaves()
        if others:
            tree = self.ground(tree, first, 10)
        self.append(30, ev.RunStopped(why="interrupt", detail="stopped by hand"))
        self.append(1800, ev.RunResumed())
        if kind.stopped:
            self.append(1830, ev.RunStopped(why="interrupt", detail="stopped by hand"))
        else:
            tree = self.ground(tree, others[0] if others else first, 1810)
            self.append(1840, ev.RunFinished(p=self.combine(tree)))
        if kind.imported:
            self.append(7200, ev.RunImported(package="sha256:" + "a" * 64))
        self.strange_calls()

    def append(self, seconds: float, event: Any) -> None:
        self.store.append(self.run_id, event, at_utc=at(seconds))

    def ground(self, tree: Tree, leaf: str, seconds: float) -> Tree:
        kind, fault = self.kind, self.fault
        p, folder = P[leaf], self.store.folder(self.run_id)
        cells = not kind.no_kernel or fault == "unsealed"
        self.append(seconds, ev.LeafStarted(node=leaf, trial=1, attempt=1))
        if cells:
            journal = folder / "sessions" / journal_name(leaf, 1, 1)
            journal.parent.mkdir(parents=True, exist_ok=True)
            journal.write_text("{}\n")
        proof = folder / "proofs" / f"{leaf}.ipynb"
        proof.parent.mkdir(parents=True, exist_ok=True)
        if fault != "proof gone":
            proof.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        last = leaf in ("P0", "P2") or (kind.stopped and not kind.no_tree)
        if not kind.no_data and not (fault == "unread leaf" and last):
            self.call(leaf, seconds + 2)
        report = self.store.put_body(f"The report of {leaf} in {self.run_id}: {p}.")
        common = {"p": p, "key_factor": "it holds", "report": report}
        self.append(
            seconds + 5,
            ev.LeafGrounded(
                node=leaf,
                trial=1,
                attempt=1,
                steps=1,
                failed_cells=0,
                evidence=ev.EvidenceRecord(kind="notebook" if cells else "trace"),
                journal_head="b" * 64 if cells and fault != "not anchored" else None,
                findings=(BEYOND,) if fault == "p outside its bounds" else (),
                **common,
            ),
        )
        if fault != "not checked":
            self.append(seconds + 6, ev.LeafVerified(node=leaf, trial=1, verified=fault != "proof differs"))
        pooled = {**common, "p": p + 0.1} if fault == "wrong pool" else common
        self.append(seconds + 7, ev.LeafPooled(node=leaf, trials=(p,), **pooled))
        return tree.with_belief(leaf, Belief(p=pooled["p"], key_factor="it holds", report="a report"))

    def combine(self, tree: Tree) -> float:
        if self.kind.no_tree:
            assert tree.root.p is not None
            return tree.root.p
        weights = {"P1": -0.5 if self.fault == "turned sign" else 0.5, "P2": 0.4}
        rule = LinearRule(0.1, weights)
        tree = settle(tree.with_rule("P0", rule, Belief(p=0.5, key_factor="both", report="both")))
        assert tree.root.p is not None
        p = tree.root.p + (0.2 if self.fault == "wrong root" else 0)
        report = self.store.put_body(f"The two reasons of {self.run_id}.")
        self.append(
            1835, ev.NodeSynthesized(node="P0", rule=rule.to_json(), p=p, key_factor="both", report=report)
        )
        return p

    def call(
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
        ApiLedger(self.store).record(
            LedgerRow(
                address=Address(
                    run=self.run_id, node=node, trial=1, attempt=1, stage="cell", step=0, retry=int(seconds)
                ),
                at_utc=at(seconds).removesuffix("Z" if self.fault == "call at no instant" else ""),
                path=path,
                asked={"series_id": "SP500"},
                sent=[],
                cutoff=cutoff or ("live" if live else CUTOFF),
                answer=Answer(data=data, meta=meta),
                refused=None,
                request_hash="sha256:" + "1" * 64,
            )
        )

    def strange_calls(self) -> None:
        match self.fault:
            case "later cutoff":
                self.call("P1", 15, cutoff="2026-04-01" if self.kind.live else "2018-07-15", as_of=PINNED)
            case "unreadable cutoff":
                self.call("P1", 15, cutoff="one day", as_of=PINNED)
            case "call at no instant":
                self.call("P1", 15)
            case "live answer" if not self.kind.live:
                self.call("P1", 15, as_of="live")
            case "answer of later":
                self.call("P1", 15, as_of=at(3600))
            case "answer of no instant":
                self.call("P1", 15, as_of="one day")
            case "documentation":
                self.call("P1", 15, as_of="one day", path="catalogue/doc")
            case "live call" if not self.kind.live:
                self.call("P1", 15, cutoff="live", as_of="live")
            case "call before the opening":
                self.call("P1", -60)
            case "call between two stretches":
                self.call("P1", 900)
            case "call after the end":
                self.call("P1", 3600)
            case "answer as of another instant":
                self.call("P1", 15, as_of=at(-86400) if self.kind.live else "2018-07-15T00:00:00Z")
            case _:
                pass
