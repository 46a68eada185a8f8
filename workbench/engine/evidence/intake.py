"""Reads a stranger's run: its database row by row, then everything that its events, ledgers and files claim.

The stranger's database file is opened read-only and only if its schema is ours to the letter, so no trigger, view or virtual
table of theirs is ever used. Its rows go into a store of our own making in a temporary folder; all else is checked there,
by the code that will read the run later. Two outcomes are told apart: what our export cannot have written is refused
(`PackageRefused`), evidence that contradicts itself is listed (`Finding`).
"""

import hashlib
import math
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
import orjson
from pydantic import TypeAdapter, ValidationError

from sandbox.errors import JournalBroken
from sandbox.journal import read_journal, read_lines
from workbench.engine.evidence.archive import JOURNAL_NAME, NOTEBOOK_NAME, PackageRefused
from workbench.engine.evidence.verification import compare_trial
from workbench.engine.run.settings import RunSettings
from workbench.engine.run.state import MAX_NUMBER, RunState, load_state
from workbench.engine.view import view
from workbench.errors import WorkbenchError
from workbench.models.base import reply_from_json
from workbench.propositions.ids import is_id
from workbench.store import Store, StoreCorrupt, StoreTooNew
from workbench.store import events as ev
from workbench.store.database import COLUMNS, check_run_id, insert_row, own_schema, schema_objects
from workbench.store.migrations import upcast
from workbench.synthesis import tree_from_json

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_EVENTS = 1_000_000
_MAX_CALLS = 5_000_000
_MAX_VALUE = 512_000_000
_MAX_INT = 2**53
#: Nesting of any JSON in a package; a recursive reader (``json``, nbformat) gives up at about a thousand.
_MAX_DEPTH = 200
_INTS = {"trial", "attempt", "step", "retry", "v", "input_tokens", "output_tokens", "cached_tokens"}
_FLOATS = {"cost_usd", "seconds"}
_OPTIONAL = {
    "events": {"node", "trial"},
    "model_calls": {"input_tokens", "output_tokens", "cached_tokens", "cost_usd"},
    "api_calls": {"answer", "meta", "refused"},
}
_settings: TypeAdapter[RunSettings] = TypeAdapter(RunSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One contradiction in a package's evidence."""

    node: str | None
    trial: int | None
    check: str
    cell: str | None
    what: str

    def to_json(self) -> dict[str, Any]:
        """Return it as a row like those of ``verify --json``."""
        return {name: getattr(self, name) for name in ("node", "trial", "check", "cell", "what")}

    def line(self) -> str:
        """Return it on one line; what a stranger wrote in it cannot steer a terminal."""
        text = f"{self.node or '-'} {self.check} {self.cell or ''}: {self.what}"
        return "".join(char if char.isprintable() else "?" for char in text)[:300]


def copy_database(source: Path, store: Store) -> tuple[str, list[Finding]]:
    """Copy the one run of a stranger's database into an empty store of our own; return its id and the altered bodies.

    Raises
    ------
    PackageRefused
        It is no database of one run.
    """
    with open(source, "rb") as file:
        if file.read(16) != b"SQLite format 3\0":
            raise PackageRefused("its run.db is not a database of runs")
    address = f"file:{quote(str(source))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
            db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                db.execute(f"PRAGMA {pragma}")
            if schema_objects(db) != own_schema():
                raise PackageRefused("its run.db does not have the tables of a run and nothing else")
            if db.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
                raise PackageRefused("its run.db is damaged")
            return _copy_rows(db, store)
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        raise PackageRefused(f"its run.db cannot be read ({error!s:.100})") from error


def _copy_rows(source: sqlite3.Connection, store: Store) -> tuple[str, list[Finding]]:
    ids = [row[0] for row in source.execute("SELECT DISTINCT run_id FROM events LIMIT 3")]
    if len(ids) != 1:
        raise PackageRefused(f"it holds {'no run' if not ids else 'several runs'}, a package holds one")
    try:
        run_id = check_run_id(ids[0])
    except WorkbenchError as error:
        raise PackageRefused(str(error)) from None
    needed: set[str] = set()
    named: set[str] = set()
    with store.transaction() as db:
        for table, most in (("events", _MAX_EVENTS), ("model_calls", _MAX_CALLS), ("api_calls", _MAX_CALLS)):
            if source.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > most:
                raise PackageRefused(f"its {table} have more than {most} rows")
            names = COLUMNS[table]
            order = "seq" if table == "events" else "id"
            rows = source.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")
            checked = (_checked(table, dict(zip(names, row, strict=True)), run_id) for row in rows)
            if table == "events":
                places = [row[0] for row in source.execute("SELECT seq FROM events ORDER BY seq")]
                insert_events(db, zip(places, checked, strict=True))
            else:
                for values in checked:
                    needed.update(
                        str(values[name]) for name in ("request", "reply", "answer") if values.get(name)
                    )
                    insert_row(db, table, [values[name] for name in names])
        for (data,) in db.execute("SELECT data FROM events"):
            named.update(_HASH.findall(data))
        findings = _copy_bodies(source, db, needed, named)
    return run_id, findings


def insert_events(db: sqlite3.Connection, rows: Iterator[tuple[int, dict[str, Any]]]) -> None:
    """Insert events in order under numbers of this database, and point the records that name a number at the new ones.

    A home numbers the events of all its runs in one series, so a scenario's ``base_seq`` is another number in each home.
    """
    names = COLUMNS["events"]
    new: dict[object, int] = {}
    for seq, values in rows:
        data = values["data"]
        if values["kind"] in ("scenario.recorded", "tree.edited"):
            content = _json(data, "an event")
            holder = content.get("record") if values["kind"] == "scenario.recorded" else content
            if isinstance(holder, dict) and holder.get("base_seq") is not None:
                if type(holder["base_seq"]) is not int or holder["base_seq"] not in new:
                    raise PackageRefused("an event rests on another that is not in the package")
                holder["base_seq"] = new[holder["base_seq"]]
                data = orjson.dumps(content).decode()
        new[seq] = insert_row(db, "events", [data if name == "data" else values[name] for name in names])


def _checked(table: str, values: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Return a row whose values have the types and sizes of our own, or raise ``PackageRefused``."""
    for name, value in values.items():
        if value is None and name in _OPTIONAL[table]:
            continue
        if name in _INTS:
            good = type(value) is int and 0 <= value <= _MAX_INT
        elif name in _FLOATS:
            good = isinstance(value, float) and math.isfinite(value) and 0 <= value <= 1e9
        else:
            good = isinstance(value, str)
        if not good:
            raise PackageRefused(f"a row of its {table} has {str(value)[:30]!r} as {name}")
    if values["run_id"] != run_id:
        raise PackageRefused(f"its {table} hold a row of another run: {values['run_id'][:40]!r}")
    _instant(values["at_utc"], table)
    if values["node"] is not None and not is_id(values["node"]):
        raise PackageRefused(f"its {table} name {values['node'][:40]!r}, which is no proposition id")
    if (values["trial"] or 0) > MAX_NUMBER:
        raise PackageRefused(f"its {table} name trial {values['trial']}, at most {MAX_NUMBER} are taken")
    for name in ("kind", "stage", "path", "model", "cutoff", "request_hash"):
        if not (values.get(name) or "").isprintable() or len(values.get(name) or "") > 300:
            raise PackageRefused(f"a row of its {table} has no fit text as {name}")
    if table == "events":
        _event(values)
    elif table == "api_calls":
        _api_call(values)
    for name in ("request", "reply", "answer"):
        if values.get(name) is not None and not _HASH.fullmatch(values[name]):
            raise PackageRefused(f"a row of its {table} has {values[name][:40]!r} as {name}, no hash")
    return values


def _event(values: dict[str, Any]) -> None:
    data = _json(values["data"], "an event")
    if {"kind", "node", "trial"} & data.keys():
        raise PackageRefused("an event says its place twice")
    place = {name: values[name] for name in ("kind", "node", "trial")}
    try:
        event = ev.parse_event(upcast(data | place, values["v"], seq=int(values.get("seq", 0))))
    except StoreTooNew as error:
        raise PackageRefused(f"its {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PackageRefused(
            f"an event {values['kind'][:40]!r} is not of its kind: {'.'.join(map(str, first['loc']))[:80]} {first['msg']:.80}"
        ) from None
    attempt = getattr(event, "attempt", None)
    if (attempt or 1) > MAX_NUMBER:
        raise PackageRefused(f"an event names attempt {attempt}, at most {MAX_NUMBER} are taken")
    # what `audit` and `scenarios` print as it stands
    shown: list[Any] = []
    if isinstance(event, ev.RunImported):
        shown = list(event.differing)
    elif isinstance(event, ev.ScenarioRecorded):
        shown = [event.record.get(name) for name in ("scenario", "author", "rationale")]
    if not all(text.replace("\n", " ").isprintable() for text in shown if isinstance(text, str)):
        raise PackageRefused(f"an event {values['kind']} holds characters that steer a terminal")
    if isinstance(event, ev.RunStarted):
        settings = event.settings
        agent = settings.get("agent")
        known = {item.name for item in fields(RunSettings)}
        try:
            _settings.validate_json(orjson.dumps(settings), strict=True)
            if settings.keys() - known or not isinstance(agent, dict):
                raise PackageRefused("the settings of the run hold what is no setting")
            read = RunSettings.from_json(settings)
        except (ValidationError, TypeError, WorkbenchError) as error:
            raise PackageRefused(
                f"the settings of the run are not ours ({' '.join(str(error).split())[:100]})"
            ) from None
        if max(read.depth, read.trials, read.concurrency, read.max_proof_retries) > MAX_NUMBER:
            raise PackageRefused(f"a setting of the run is above {MAX_NUMBER}")
        for instant in (event.cutoff_instant,):
            _instant(instant, "cutoff")


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
    if not isinstance(meta.get("content_hash", ""), str) or type(meta.get("rows_dropped", 0)) is not int:
        raise PackageRefused("the notes on an answer are not of their kind")


def _copy_bodies(
    source: sqlite3.Connection, db: sqlite3.Connection, needed: set[str], named: set[str]
) -> list[Finding]:
    """Copy the bodies that the run names and that are what their hash says; return a finding for every altered one.

    ``needed`` are those that a row of a ledger names as its request, reply or answer; ``named`` those that an event mentions.
    """
    findings: list[Finding] = []
    pending, done, whole = [*needed, *named], set(), True
    # a request names the messages it is made of, so what it names is looked up too
    while pending:
        digest = pending.pop()
        if digest in done:
            continue
        done.add(digest)
        row = source.execute("SELECT data FROM bodies WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            whole = whole and digest not in needed
            continue  # a hash of data that an event or a text mentions is no body; who needs one that is gone says so
        if not isinstance(row[0], bytes):
            raise PackageRefused("a body of its run.db is no bytes")
        if "sha256:" + hashlib.sha256(row[0]).hexdigest() != digest:
            findings.append(_altered(f"the body filed under {digest[:19]}... was altered"))
            continue
        db.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, row[0]))
        if len(row[0]) < 50_000_000:
            pending.extend(_HASH.findall(row[0].decode("utf-8", "replace")))
    (count,) = source.execute("SELECT count(*) FROM bodies").fetchone()
    (kept,) = db.execute("SELECT count(*) FROM bodies").fetchone()
    # with a request gone, so is what names the messages it was made of
    if whole and not findings and count != kept:
        raise PackageRefused("its run.db holds bodies that nothing of the run names")
    return findings


def _altered(what: str, check: str = "ledger", node: str | None = None, trial: int | None = None) -> Finding:
    return Finding(node=node, trial=trial, check=check, cell=None, what=what)


def examine(store: Store, run_id: str) -> tuple[RunState, list[Finding]]:
    """Read a run as every command will read it later, and compare its evidence with itself; no code of it is run.

    Raises
    ------
    PackageRefused
        Something in it is not of its kind.
    StoreCorrupt
        A body without which the run cannot be shown is gone or was altered.
    """
    try:
        state = load_state(store, run_id)
        _check_texts(state)
        findings = [*_ledgers(store, run_id), *_files(store, state)]
        for (node, trial), held in sorted(state.trials.items()):
            if held.belief is not None:
                outcome = compare_trial(store, state, node, trial)
                findings += [
                    Finding(node=node, trial=trial, check=item.check, cell=item.cell, what=item.what)
                    for item in outcome.differing
                ]
        _draw(store, state, findings)
    except (PackageRefused, StoreCorrupt):
        raise
    except Exception as error:
        # Whatever a forged row or file breaks has to break here, where nothing was taken in yet, and not in `runs`.
        text = " ".join(str(error).split())
        raise PackageRefused(
            f"its records do not make a run ({type(error).__name__}: {text:.120})"
        ) from error
    return state, findings


def _check_texts(state: RunState) -> None:
    lines = [
        state.statement,
        state.cutoff,
        state.settings.model,
        *(node.statement for node in state.tree.propositions()),
    ]
    for line in lines:
        if not line.isprintable():
            raise PackageRefused(f"a statement holds characters that steer a terminal: {line[:40]!r}")
    if state.tree.root.statement != state.statement:
        raise PackageRefused("its tree is another claim's")
    leaves = set(state.tree.ids())
    for node, trial in state.trials:
        if node not in leaves or trial > MAX_NUMBER:
            raise PackageRefused(f"its events ground {node[:40]!r}, which is not in its tree")


def _ledgers(store: Store, run_id: str) -> list[Finding]:
    findings = []
    for table, columns in (("model_calls", ("request", "reply")), ("api_calls", ("answer",))):
        for row in store.query(f"SELECT * FROM {table} WHERE run_id = ? ORDER BY id", (run_id,)):
            for name in columns:
                if row[name] is None:
                    continue
                try:
                    content = _json(store.body(row[name]), f"a {name}", kind=object)
                except StoreCorrupt as error:
                    findings.append(_altered(str(error), node=row["node"], trial=row["trial"] or None))
                    continue
                if name == "reply":
                    reply_from_json(content)
                elif name == "request":
                    for message in content["messages"]:
                        findings += _missing(store, message, row)
    return findings


def _missing(store: Store, digest: str, row: sqlite3.Row) -> list[Finding]:
    try:
        store.body(digest)
    except StoreCorrupt as error:
        return [_altered(str(error), node=row["node"], trial=row["trial"] or None)]
    return []


def _files(store: Store, state: RunState) -> list[Finding]:
    """Check every file of the run's folder: each belongs to a trial of the log, and is what its name says."""
    findings: list[Finding] = []
    folder = store.folder(state.run_id)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        kind = path.parent.name if path.parent != folder else path.name
        if kind == "tree.json":
            tree_from_json(_json(path.read_bytes(), "tree.json"))
        elif kind == "manifest.json":
            packages = _json(path.read_bytes(), "manifest.json").get("packages", {})
            if not isinstance(packages, dict):
                raise PackageRefused("the packages in manifest.json are none")
        elif kind == "proofs":
            _trial_of(NOTEBOOK_NAME, path, state)
            _json(path.read_bytes(), path.name)
            nbformat.validate(nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call]
        else:
            findings += _journal(path, state)
    return findings


def _journal(path: Path, state: RunState) -> list[Finding]:
    node, trial, attempt = _trial_of(JOURNAL_NAME, path, state)
    if attempt > state.trials[node, trial].attempt:
        raise PackageRefused(f"{path.name} is of an attempt that the log does not know")
    try:
        cells, lines = read_journal(path), read_lines(path)
    except JournalBroken as error:
        # a concluded proof's own journal is reported by the comparison
        concluded = (
            state.trials[node, trial].belief is not None and attempt == state.trials[node, trial].attempt
        )
        return [] if concluded else [_altered(str(error), "chain", node, trial)]
    del cells
    for line in lines:
        _depth(line, path.name)
    name = f"{node}.{trial}.{attempt}"
    if not lines or lines[0]["kind"] != "open" or lines[0].get("name") != name:
        return [_altered(f"{path.name}: it is another session's journal", "chain", node, trial)]
    metadata = lines[0].get("metadata")
    if not isinstance(metadata, dict) or metadata.get("run") != state.run_id:
        return [_altered(f"{path.name}: it is another run's journal", "chain", node, trial)]
    return []


def _trial_of(pattern: re.Pattern[str], path: Path, state: RunState) -> tuple[str, int, int]:
    match = pattern.fullmatch(path.name)
    if match is None:
        raise PackageRefused(f"{path.name!r:.80} is no file of a run")
    numbers = [int(part) if part else 1 for part in match.groups()[1:]]
    node, trial = match.group(1), numbers[0]
    if (node, trial) not in state.trials:
        raise PackageRefused(f"{path.name} is of a trial that the log does not know")
    return node, trial, numbers[-1]


def _draw(store: Store, state: RunState, findings: Sequence[Finding]) -> None:
    """Make every screen of the run once, for what only they read."""
    from workbench.engine.evidence.audit import audit_run
    from workbench.engine.evidence.report import report_html

    orjson.dumps(view(store, state.run_id).document())
    audit_run(store, state.run_id)
    if not findings:  # with an answer missing from the ledger there is no table of data
        report_html(store, state)


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


def _instant(text: str, what: str) -> None:
    try:
        good = datetime.fromisoformat(text.replace("Z", "+00:00")).tzinfo is not None and len(text) <= 40
    except ValueError:
        good = False
    if not good:
        raise PackageRefused(f"{text[:40]!r} of its {what} is no instant")
