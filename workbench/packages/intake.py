"""Reads a stranger's run: what the rows of its database mean, then everything that its events, ledgers and files claim.

The store's own door (`workbench.store.transfer`) opens the file and copies its rows into a store of our own making in a
temporary folder; all else is checked there, by the code that will read the run later. Two outcomes are told apart: what our export cannot have written is refused
(`PackageRefused`), evidence that contradicts itself is listed (`ProofFault`).
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
import orjson
from pydantic import ValidationError

from sandbox.cell_library import CellLibrary
from sandbox.errors import JournalBroken
from sandbox.record.journal import read_journal, read_lines
from sandbox.record.passive import active_place
from sandbox.record.session_notebook import KERNELSPEC
from workbench.audit.run_audit import audit_run
from workbench.engine.access.look_up_records import look_up_nodes
from workbench.engine.proof_check import ProofFault, compare_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import notebook_name
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import MAX_NUMBER, RunSettings
from workbench.errors import WorkbenchError
from workbench.models.base import reply_from_json
from workbench.packages.archive import JOURNAL_NAME, LIBRARY_NAME, NOTEBOOK_NAME
from workbench.propositions.ids import is_id
from workbench.reports.note_page import report_html
from workbench.store import EventUnreadable, OtherVersion, PackageRefused, Store, StoreCorrupt
from workbench.store import events as ev
from workbench.store.database_schema import require_today
from workbench.store.transfer import copy_foreign_run
from workbench.synthesis import tree_from_json
from workbench.terminal import printable
from workbench.views.run_view import view
from workbench.views.transcript import call_heading, call_parts, transcript

#: Nesting of any JSON in a package; a recursive reader (``json``, nbformat) gives up at about a thousand.
_MAX_DEPTH = 200


def copy_run(source: Path, store: Store) -> tuple[str, list[ProofFault]]:
    """Copy the one run of a stranger's database into an empty store of our own; return its id and the altered bodies.

    Raises `PackageRefused`: It is no database of one run.
    """
    run_id, altered = copy_foreign_run(source, store, _check_row)
    return run_id, [_altered(what) for what in altered]


def _check_row(table: str, values: dict[str, Any]) -> None:
    """Raise ``PackageRefused`` for a row that says what no row of ours says; its types were checked by the store."""
    _check_instant(values["at_utc"], table)
    if values["node"] is not None and not is_id(values["node"]):
        raise PackageRefused(f"its {table} name {values['node'][:40]!r}, which is no driver's id")
    if (values["trial"] or 0) > MAX_NUMBER:
        raise PackageRefused(f"its {table} name trial {values['trial']}, at most {MAX_NUMBER} are taken")
    # Not the path of a data call: it is as a cell wrote it, for its re-run asks by it, and every screen prints it by `printable`.
    for name in ("kind", "stage", "model", "cutoff", "request_hash"):
        if not (values.get(name) or "").isprintable() or len(values.get(name) or "") > 300:
            raise PackageRefused(f"a row of its {table} has no fit text as {name}")
    if table == "events":
        _event(values)
    elif table == "api_calls":
        _api_call(values)


def _event(values: dict[str, Any]) -> None:
    data = _json(values["data"], "an event")
    # Our writer's text to the letter: with a key in it twice, or a number of more digits than are read, programs that look
    # into the package would not agree on what it says.
    if orjson.dumps(data) != values["data"].encode():
        raise PackageRefused("an event is not written as export writes it")
    # The log keeps these in columns of their own, and the columns win when an event is read: a second value inside the
    # text would be looked at by nobody.
    if {"kind", "node", "trial"} & data.keys():
        raise PackageRefused("an event says its place twice")
    place = {name: values[name] for name in ("kind", "node", "trial")}
    try:
        require_today(values["v"], ev.VERSION, "an event of its log")
        event = ev.parse_event(data | place)
    except OtherVersion as error:
        raise PackageRefused(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PackageRefused(
            f"an event {values['kind'][:40]!r} is not of its kind: {'.'.join(map(str, first['loc']))[:80]} {first['msg']:.80}"
        ) from None
    except ValueError as error:  # of no kind of ours
        raise PackageRefused(str(error)) from None
    attempt = getattr(event, "attempt", None)
    if (attempt or 1) > MAX_NUMBER:
        raise PackageRefused(f"an event names attempt {attempt}, at most {MAX_NUMBER} are taken")
    if isinstance(event, ev.RunStarted):
        try:
            RunSettings.from_json(event.settings)
        except WorkbenchError as error:
            raise PackageRefused(f"the settings of the run are not ours ({error!s:.100})") from None
        _check_instant(event.cutoff_instant, "cutoff")


def _api_call(values: dict[str, Any]) -> None:
    if type(_json(values["asked"], "a data call", kind=dict)) is not dict:
        raise PackageRefused("a data call has no parameters")
    _json(values["sent"], "a data call", kind=list)
    if values["answer"] is None:
        if values["meta"] is not None:
            raise PackageRefused("a data call has notes on an answer and no answer")
        return
    if values["meta"] is None:
        raise PackageRefused("a data call has an answer without its notes")
    meta = _json(values["meta"], "a data call")
    if not isinstance(meta.get("content_hash", ""), str):
        raise PackageRefused("the notes on an answer are not of their kind")


def _altered(
    what: str, check: str = "ledger", node: str | None = None, trial: int | None = None
) -> ProofFault:
    return ProofFault(node, trial, check, None, what)


def examine(store: Store, run_id: str) -> tuple[RunState, list[ProofFault]]:
    """Read a run as every command will read it later, and compare its evidence with itself; no code of it is run.

    Raises `PackageRefused`: Something in it is not of its kind. Raises `StoreCorrupt`: A body without which the run cannot be shown is
    gone or was altered.
    """
    try:
        state = load_state(store, run_id)
        if state.missing:
            # A run of this home opens read-only then. A stranger's cannot be checked without its rule, so it stays outside.
            problems = printable("; ".join(state.missing), keep="")
            raise PackageRefused(f"{problems:.200}; install it and import again")
        _check_texts(state)
        findings = [*_ledgers(store, run_id), *_files(store, state), *compare_run(store, state).faults]
        _draw(store, state, findings)
    except PackageRefused:
        raise
    except EventUnreadable as error:  # its rows are ours, their order is not
        raise PackageRefused(f"its records do not make a run ({error})") from error
    # Passed on as it is: the caller tells a package that was altered from one that never was a run.
    except StoreCorrupt:
        raise
    except Exception as error:
        # Whatever a forged row or file breaks has to break here, where nothing was taken in yet, and not in `runs`.
        text = " ".join(str(error).split())
        raise PackageRefused(
            f"its records do not make a run ({type(error).__name__}: {text:.120})"
        ) from error
    return state, findings


def _check_texts(state: RunState) -> None:
    for line in (state.cutoff, state.settings.model):
        if not line.isprintable():
            raise PackageRefused(f"{line[:40]!r} is no cutoff and no model's name")
    if state.tree.root.statement != state.statement:
        raise PackageRefused("its tree is another claim's")
    leaves = set(state.tree.ids())
    for node, trial in state.trials:
        if node not in leaves or trial > MAX_NUMBER:
            raise PackageRefused(f"its events collect evidence for {node[:40]!r}, which is not in its tree")


def _ledgers(store: Store, run_id: str) -> list[ProofFault]:
    findings = []
    for use in store.run_bodies(run_id):
        try:
            content = _json(store.body(use.digest), f"a {use.role}", kind=object)
            if use.role == "reply":
                reply_from_json(content)
            for message in content["messages"] if use.role == "request" else ():
                _json(store.body(message), "a message")
        except StoreCorrupt as error:
            findings.append(_altered(str(error), node=use.node, trial=use.trial or None))
    return findings


def _files(store: Store, state: RunState) -> list[ProofFault]:
    findings: list[ProofFault] = []
    folder = store.folder(state.run_id)
    looked_up = {notebook_name(node, 1) for node in look_up_nodes(store, state)}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        kind = path.parent.name if path.parent != folder else path.name
        if kind == "tree.json":
            tree_from_json(_json(path.read_bytes(), "tree.json"))
        elif kind == "manifest.json":
            packages = _json(path.read_bytes(), "manifest.json").get("packages", {})
            if not isinstance(packages, dict):
                raise PackageRefused("the packages in manifest.json are none")
        elif kind == "proofs":
            if path.name not in looked_up:  # an inner node has no trial
                _trial_of(NOTEBOOK_NAME, path, state)
            _json(path.read_bytes(), path.name)
            book: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
            nbformat.validate(book)
            # JupyterLab starts the kernel that a file names, and loads what its widgets name.
            kernel = book.metadata.get("kernelspec", {}).get("name")
            runs = kernel is not None or any(cell.cell_type == "code" for cell in book.cells)
            if (runs and kernel != KERNELSPEC["name"]) or "widgets" in book.metadata:
                raise PackageRefused(
                    f"{path.name} names another kernel than the sealed one, or holds widgets"
                )
        elif (library := LIBRARY_NAME.fullmatch(path.name)) is not None:
            try:
                CellLibrary.read(path.parent, library[1])
            except JournalBroken as error:
                findings.append(_altered(str(error), "chain"))
        else:
            findings += _journal(path, state)
    return findings


def _journal(path: Path, state: RunState) -> list[ProofFault]:
    node, trial, attempt = _trial_of(JOURNAL_NAME, path, state)
    if attempt > state.trials[node, trial].attempt:
        raise PackageRefused(f"{path.name} is of an attempt that the log does not know")
    try:
        cells, lines = read_journal(path), read_lines(path)
    except JournalBroken as error:
        # a concluded proof's own journal is reported by the comparison
        concluded = (
            state.trials[node, trial].belief is not None and attempt == state.trials[node, trial].concluded
        )
        return [] if concluded else [_altered(str(error), "chain", node, trial)]
    covers = "in the notebook would run, fetch or cover something in a viewer"
    active = [
        ProofFault(node, trial, "shown", cell.id, f"{place} {covers}")
        for cell in cells
        if (place := active_place(cell)) is not None
    ]
    for line in lines:
        _depth(line, path.name)
    name = f"{node}.{trial}.{attempt}"
    # A chain of hashes holds under any file name: only the first line says whose journal it is. Without this, one
    # leaf's journal could stand in for another's.
    if not lines or lines[0]["kind"] != "open" or lines[0].get("name") != name:
        return [_altered(f"{path.name}: it is another session's journal", "chain", node, trial)]
    metadata = lines[0].get("metadata")
    if not isinstance(metadata, dict) or metadata.get("run") != state.run_id:
        return [_altered(f"{path.name}: it is another run's journal", "chain", node, trial)]
    return active


def _trial_of(pattern: re.Pattern[str], path: Path, state: RunState) -> tuple[str, int, int]:
    match = pattern.fullmatch(path.name)
    if match is None:
        raise PackageRefused(f"{path.name!r:.80} is no file of a run")
    numbers = [int(part) if part else 1 for part in match.groups()[1:]]
    node, trial = match.group(1), numbers[0]
    if (node, trial) not in state.trials:
        raise PackageRefused(f"{path.name} is of a trial that the log does not know")
    return node, trial, numbers[-1]


def _draw(store: Store, state: RunState, findings: Sequence[ProofFault]) -> None:
    """Make every screen of the run once, for what only they read."""
    orjson.dumps(view(store, state.run_id).document())
    audit_run(store, state.run_id)
    if not findings:  # with an answer missing from the ledger there is no table of data
        report_html(store, state)
        for call in transcript(store, state)["calls"]:
            call_heading(call)
            call_parts(call)


def _json(data: str | bytes, what: str, *, kind: Callable[..., Any] | type = dict) -> Any:
    try:
        content = orjson.loads(data)
    except ValueError:
        raise PackageRefused(f"{what} is no JSON, or too deep") from None
    if isinstance(kind, type) and not isinstance(content, kind):
        raise PackageRefused(f"{what} is not of its kind")
    _depth(content, what)
    return content


def _depth(content: Any, what: str) -> None:
    # Level by level and not by recursion, which would fail on just the values that this is to refuse.
    level, pending = 0, [content]
    while pending:
        level += 1
        if level > _MAX_DEPTH:
            raise PackageRefused(f"{what} is nested deeper than {_MAX_DEPTH} levels")
        below: list[Any] = []
        for item in pending:
            values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            below.extend(value for value in values if isinstance(value, dict | list))
        pending = below


def _check_instant(text: str, what: str) -> None:
    try:
        good = datetime.fromisoformat(text.replace("Z", "+00:00")).tzinfo is not None and len(text) <= 40
    except ValueError:
        good = False
    if not good:
        raise PackageRefused(f"{text[:40]!r} of its {what} is no instant")
