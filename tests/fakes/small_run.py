"""A small finished run as the engine leaves it: two leaves with journals, notebooks, ledgers; made without a kernel."""

import dataclasses
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from proxies.ledger import Address
from sandbox.cell_library import CellLibrary
from sandbox.record.journal import Journal, read_journal, result_to_json
from sandbox.record.session_notebook import render_notebook, write_notebook
from sandbox.record.verify import content_hash
from sandbox.types import CellResult
from tests.fakes.stored_run import CUTOFF, PATH, RunWriter, copied
from workbench.engine.manifest import run_manifest
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import journal_name, notebook_name, put_tree, write_atomically
from workbench.engine.run_settings import RunSettings
from workbench.models.base import Message, ModelReply, ModelRequest, NodeRef, Usage
from workbench.propositions import Belief, Polarity, Tree
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle

RUN = "20180630-120000-aced"
STATEMENT = "The small claim comes true by 2018-12-31"
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
    what = (run_id, source, level, anchored, cutoff, library, statement, tuple(p.items()))

    def write(folder: Path) -> None:
        write_small_run(folder, *what)

    copied(home, ("small", what), write)
    return run_id


def write_small_run(
    home: Path,
    run_id: str = RUN,
    source: str = SOURCE,
    level: str = "namespaces",
    anchored: bool = True,
    cutoff: str = CUTOFF,
    library: CellLibrary | None = None,
    statement: str = STATEMENT,
    p: Iterable[tuple[str, float]] = tuple(P.items()),
) -> None:
    """Write the run through the doors of store and journal, never by a copy."""
    up = Polarity.POSITIVE
    children = {"P1": "The first reason holds by 2030", "P2": "The second reason holds by 2030"}
    tree = Tree.root_only(statement).expand("P0", children, dict.fromkeys(children, up))
    with closing(Store(home)) as store:
        run = RunWriter(store, run_id)
        run.start(statement, cutoff=cutoff, settings=dataclasses.replace(RunSettings(), isolation=level))
        run.append(ev.TreePlanned(tree=put_tree(store, tree)))
        run.seal(level)
        for node, value in p:
            belief = Belief(p=value, key_factor="it holds", report=f"The cells say {value}.")
            run.append(ev.LeafStarted(node=node, trial=1, attempt=1))
            head = _records(run, node, value, source if node == "P1" else SOURCE, level, library)
            run.ground(node, belief, begun=True, verified=True, journal_head=head if anchored else None)
            tree = tree.with_belief(node, belief)
        rule = LinearRule(0.1, {"P1": 0.5, "P2": 0.4})
        tree = settle(tree.with_rule("P0", rule, Belief(p=0.5, key_factor="both", report="The two reasons.")))
        run.combine(tree)
        run.finish(tree.root.p)
        state = load_state(store, run_id)
        write_atomically(store.folder(run_id) / "tree.json", state.tree.to_json())
        write_atomically(store.folder(run_id) / "manifest.json", run_manifest(store, state))


def _records(
    run: RunWriter, node: str, p: float, source: str, level: str, library: CellLibrary | None
) -> str:
    """Write a leaf's journal, notebook and ledgers; return the head of the journal."""
    store, run_id = run.store, run.run_id
    folder, digest = store.folder(run_id), content_hash(DATA)
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
    meta = {"content_hash": digest, "as_of": "2018-06-29", "rows_dropped": 0, "residual": "none"}
    run.call(node, DATA, meta=meta, asked=ASKED, request_hash="sha256:" + "1" * 64)
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
    return journal.head
