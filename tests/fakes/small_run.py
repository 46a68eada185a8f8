"""A small finished run as the engine leaves it: two leaves with journals, notebooks, ledgers; made without a kernel."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from proxies.asof.clock import Cutoff
from proxies.ledger import Address, Answer, LedgerRow
from sandbox.cell_library import CellLibrary
from sandbox.record.journal import Journal, read_journal, result_to_json
from sandbox.record.session_notebook import render_notebook, write_notebook
from sandbox.record.verify import content_hash
from sandbox.types import CellResult
from workbench.engine.manifest import run_manifest
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import journal_name, notebook_name, put_tree, write_atomically
from workbench.engine.run_settings import RunSettings
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef, Usage
from workbench.propositions import Belief, Polarity, Tree
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle

RUN = "20180630-120000-aced"
STATEMENT = "The small claim comes true by 2018-12-31"
CUTOFF = "2018-06-30"
PATH = "embedded/series/observations"
ASKED = {"series_id": "SP500"}
DATA = [{"date": "2018-06-28", "value": 2716.31}, {"date": "2018-06-29", "value": 2718.37}]
SOURCE = f"rows = CALL_API({PATH!r}, {ASKED!r})\nprint(len(rows))"
P = {"P1": 0.6, "P2": 0.4}


def make_small_run(
    home: Path,
    run_id: str = RUN,
    *,
    source: str = SOURCE,
    level: str = "namespaces",
    anchored: bool = True,
    cutoff: str = CUTOFF,
    library: CellLibrary | None = None,
    statement: str = STATEMENT,
    p: Mapping[str, float] = P,
) -> str:
    """Write the run into a data folder and return its id.

    ``source`` is the code of P1's cell, which is recorded to have printed ``2``; ``level`` is what the log says of the seal;
    not ``anchored``: the log has no heads of journals. ``cutoff`` is what the log says; the data stay those of June 2018. ``library`` is
    what the cells may import; ``p`` what the leaves conclude, 0.1 + 0.5 P1 + 0.4 P2 the claim's own.
    """
    store = Store(home)
    try:
        _write(store, run_id, source, level, anchored, cutoff, library, statement, p)
    finally:
        store.close()
    return run_id


def _write(
    store: Store,
    run_id: str,
    source: str,
    level: str,
    anchored: bool,
    cutoff: str,
    library: CellLibrary | None,
    statement: str,
    beliefs: Mapping[str, float],
) -> None:
    up = Polarity.POSITIVE
    tree = Tree.root_only(statement).expand(
        "P0",
        {"P1": "The first reason holds by 2030", "P2": "The second reason holds by 2030"},
        {"P1": up, "P2": up},
    )
    settings = dataclasses.replace(RunSettings(), isolation=level).to_json()
    store.append(
        run_id,
        ev.RunStarted(
            statement=statement,
            cutoff=cutoff,
            cutoff_instant=Cutoff.parse(cutoff).instant.isoformat().replace("+00:00", "Z"),
            settings=settings,
        ),
    )
    store.append(run_id, ev.TreePlanned(tree=put_tree(store, tree)))
    store.append(run_id, ev.RunSealed(isolation=level))
    for node, p in beliefs.items():
        _ground(store, run_id, node, p, source if node == "P1" else SOURCE, level, anchored, library)
        tree = tree.with_belief(node, Belief(p=p, key_factor="it holds", report=f"The cells say {p}."))
    rule = LinearRule(0.1, {"P1": 0.5, "P2": 0.4})
    tree = settle(tree.with_rule("P0", rule, Belief(p=0.5, key_factor="both", report="The two reasons.")))
    root = tree.root.belief
    assert root is not None
    report = store.put_body(root.report)
    store.append(
        run_id,
        ev.NodeSynthesized(
            node="P0", rule=rule.to_json(), p=root.p, key_factor=root.key_factor, report=report
        ),
    )
    store.append(run_id, ev.RunFinished(p=root.p))
    state = load_state(store, run_id)
    write_atomically(store.folder(run_id) / "tree.json", state.tree.to_json())
    write_atomically(store.folder(run_id) / "manifest.json", run_manifest(store, state))


def _ground(
    store: Store,
    run_id: str,
    node: str,
    p: float,
    source: str,
    level: str,
    anchored: bool,
    library: CellLibrary | None,
) -> None:
    folder = store.folder(run_id)
    digest = content_hash(DATA)
    store.append(run_id, ev.LeafStarted(node=node, trial=1, attempt=1))
    journal = Journal(folder / "sessions" / journal_name(node, 1, 1))
    metadata = {"run": run_id, "node": node, "trial": 1, "attempt": 1, "cutoff": CUTOFF}
    journal.append("open", sync=False, name=f"{node}.1.1", title=node, metadata=metadata)
    if library is not None:
        library.file_in(journal.path.parent)
        journal.append("library", sync=False, sha256=library.digest)
    journal.append("kernel", sync=False, why="opened", isolation=level, memory="watched")
    journal.append("markdown", sync=False, id="cell-001", source=f"# {node}")
    journal.append("code", sync=False, id="cell-002", source=source, fixes=None)
    outputs = ({"output_type": "stream", "name": "stdout", "text": "2\n"},)
    result = CellResult(
        cell_id="cell-002", status="ok", outputs=outputs, duration_s=0.01, api_calls=1, api_hashes=(digest,)
    )
    journal.append("result", sync=False, id="cell-002", result=result_to_json(result))
    journal.append("close", sync=False)
    journal.close()
    write_notebook(
        folder / "proofs" / notebook_name(node, 1), render_notebook(read_journal(journal.path), title=node)
    )
    place = Address(run=run_id, node=node, trial=1, attempt=1, stage="cell", step=0, retry=0)
    meta = {"content_hash": digest, "as_of": "2018-06-29", "rows_dropped": 0, "residual": "none"}
    ApiLedger(store).record(
        LedgerRow(
            address=place,
            at_utc="2026-01-01T00:00:00Z",
            path=PATH,
            asked=ASKED,
            sent=[],
            cutoff=CUTOFF,
            answer=Answer(data=DATA, meta=meta),
            refused=None,
            request_hash="sha256:" + "1" * 64,
        )
    )
    text = f'The cells say {p}.\n\n```json\n{{"p_true": {p}, "key_factor": "it holds"}}\n```'
    request = ModelRequest(
        messages=(Message(role="user", content=f"Conclude {node}"),),
        stage="conclude",
        nodes=(NodeRef(id=node, statement="reason"),),
        cutoff=CUTOFF,
    )
    reply = ModelReply(text=text, model="offline/analyst", usage=Usage(), cost_usd=0.0)
    conclude = Address(run=run_id, node=node, trial=1, attempt=1, stage="conclude", step=1, retry=0)
    ModelLedger(store).record(conclude, request, "2" * 64, reply)
    common = {"p": p, "key_factor": "it holds", "report": store.put_body(f"The cells say {p}.")}
    store.append(
        run_id,
        ev.LeafGrounded(
            node=node,
            trial=1,
            attempt=1,
            steps=1,
            failed_cells=0,
            evidence=ev.EvidenceRecord(kind="notebook"),
            journal_head=journal.head if anchored else None,
            **common,
        ),
    )
    store.append(run_id, ev.LeafVerified(node=node, trial=1, verified=True))
    store.append(run_id, ev.LeafPooled(node=node, trials=(p,), **common))
