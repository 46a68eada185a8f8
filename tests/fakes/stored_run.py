"""Runs written into a store event by event, as the engine leaves them: no kernel, no model, no request."""

import shutil
import tempfile
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.ledger import Address, Answer, LedgerRow
from workbench.engine.run_settings import RunSettings
from workbench.propositions import Belief, Tree
from workbench.store import ApiLedger, Store
from workbench.store import events as ev

CUTOFF, PATH = "2018-06-30", "embedded/series/observations"
BEGUN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> str:
    """So many seconds after a run of known instants was begun."""
    return (BEGUN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


class RunWriter:
    """Appends to one run; each event may say how many seconds after ``BEGUN`` it happened, else it happens now."""

    def __init__(self, store: Store, run_id: str) -> None:
        self.store, self.run_id = store, run_id

    def append(self, event: Any, seconds: float | None = None) -> None:
        self.store.append(self.run_id, event, at_utc=None if seconds is None else at(seconds))

    def start(
        self,
        statement: str,
        *,
        cutoff: str = CUTOFF,
        settings: RunSettings | None = None,
        seconds: float | None = None,
        fan: Mapping[str, Any] | None = None,
    ) -> None:
        if cutoff == "now" and seconds is not None:
            instant = at(seconds)
        else:
            instant = Cutoff.parse(cutoff).instant.isoformat().replace("+00:00", "Z")
        stored = (settings or RunSettings()).to_json()
        self.append(
            ev.RunStarted(
                statement=statement,
                cutoff=cutoff,
                cutoff_instant=instant,
                settings=stored,
                fan=None if fan is None else self.store.put_body(orjson.dumps(fan)),
            ),
            seconds,
        )

    def seal(self, level: str = "namespaces", seconds: float | None = None) -> None:
        self.append(ev.RunSealed(isolation=level), seconds)

    def plan(self, tree: Tree, seconds: float | None = None) -> None:
        self.append(ev.TreePlanned(tree=self.store.put_body(orjson.dumps(tree.to_json()))), seconds)

    def ground(
        self,
        node: str,
        belief: Belief | None,
        *,
        attempt: int = 1,
        begun: bool = False,
        verified: bool | None = None,
        pooled: float | None = None,
        seconds: float | None = None,
        **more: Any,
    ) -> None:
        """Conclude one trial of a leaf and pool it; ``begun``, its start is on the log already."""
        assert belief is not None
        common = {"key_factor": belief.key_factor, "report": self.store.put_body(belief.report)}
        if not begun:
            self.append(ev.LeafStarted(node=node, trial=1, attempt=attempt), seconds)
        facts = {"steps": 1, "failed_cells": 0, "evidence": ev.EvidenceRecord(kind="notebook"), **more}
        self.append(
            ev.LeafGrounded(node=node, trial=1, attempt=attempt, p=belief.p, **common, **facts), seconds
        )
        if verified is not None:
            self.append(ev.LeafVerified(node=node, trial=1, verified=verified), seconds)
        p = belief.p if pooled is None else pooled
        self.append(ev.LeafPooled(node=node, p=p, trials=(belief.p,), **common), seconds)

    def combine(self, tree: Tree, p: float | None = None, seconds: float | None = None) -> None:
        """Put the root's rule and number on the log, or another number than follows from it."""
        root = tree.root
        assert root.belief is not None and root.rule is not None
        report = self.store.put_body(root.belief.report)
        number = root.belief.p if p is None else p
        self.append(
            ev.NodeSynthesized(
                node="P0",
                rule=root.rule.to_json(),
                p=number,
                key_factor=root.belief.key_factor,
                report=report,
            ),
            seconds,
        )

    def finish(self, p: float | None, seconds: float | None = None) -> None:
        self.append(ev.RunFinished(p=p or 0.0), seconds)

    def call(self, node: str, data: Any = None, **more: Any) -> LedgerRow:
        """File a data call."""
        row = data_row(self.run_id, node, data, **more)
        ApiLedger(self.store).record(row)
        return row


def data_row(
    run_id: str,
    node: str,
    data: Any = None,
    *,
    meta: Mapping[str, Any] | None = None,
    stage: str = "cell",
    step: int = 0,
    retry: int = 0,
    refused: str | None = None,
    **more: Any,
) -> LedgerRow:
    """Return a data call of a leaf's first attempt; refused, it has no answer."""
    facts: dict[str, Any] = {
        "at_utc": "2026-01-01T00:00:00Z",
        "path": PATH,
        "asked": {},
        "sent": [],
        "cutoff": CUTOFF,
        "request_hash": "sha256:" + "2" * 64,
        **more,
    }
    return LedgerRow(
        address=Address(run=run_id, node=node, trial=1, attempt=1, stage=stage, step=step, retry=retry),
        answer=None if refused else Answer(data=data, meta=dict(meta or {})),
        refused=refused,
        **facts,
    )


def write_tree_run(
    store: Store,
    run_id: str,
    tree: Tree,
    *,
    settings: RunSettings | None = None,
    steps: int = 1,
    fan: Mapping[str, Any] | None = None,
) -> RunWriter:
    """Begin, seal and plan a run of a tree, and ground the leaves that have a value there."""
    run = RunWriter(store, run_id)
    run.start(tree.root.statement, settings=settings, fan=fan)
    run.seal()
    run.plan(tree)
    for node in tree.leaves():
        if tree[node].belief is not None:
            run.ground(node, tree[node].belief, steps=steps)
    return run


#: Data folders that were written in this process, by what was written.
_WRITTEN: dict[Hashable, tempfile.TemporaryDirectory[str]] = {}


def copied(home: Path, what: Hashable, write: Callable[[Path], object]) -> None:
    """Fill a data folder by copying what ``write`` made of another one before; one that holds something is written into."""
    if home.exists() and any(home.iterdir()):
        write(home)
        return
    if what not in _WRITTEN:
        _WRITTEN[what] = tempfile.TemporaryDirectory(prefix="runs-", ignore_cleanup_errors=True)
        write(Path(_WRITTEN[what].name) / "home")
    shutil.copytree(Path(_WRITTEN[what].name) / "home", home, dirs_exist_ok=True)
