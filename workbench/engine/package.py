"""A run as one file: what a reviewer needs to look, recompute and verify without a network, and the way back in."""

import io
import sqlite3
import tempfile
import zipfile
from pathlib import Path

import nbformat

from workbench.engine.report import report_html
from workbench.engine.runner import new_run
from workbench.engine.settings import with_preset
from workbench.engine.state import RunState, load_state, notebook_name, put_tree
from workbench.engine.wording import equation_with_values, percent
from workbench.errors import UsageError
from workbench.propositions import Tree
from workbench.propositions.rule import Normaliser
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import Export, export_tree, import_tree
from workbench.synthesis.exchange.bayes_net import OnMisfit

FORMATS = ("html", "json", "csv", "bif", "problog", "ipynb", "zip")
_DATABASE = "run.db"
#: Largest package that is taken in; a run of a thousand leaves is far below.
MAX_BYTES = 2_000_000_000


def export_run(
    store: Store, run_id: str, to: str, *, misfit: OnMisfit = "refuse", normalise: Normaliser = "scale"
) -> tuple[bytes, tuple[str, ...]]:
    """Return a run in a format, and one line per thing that had to be changed to fit it.

    ``misfit`` says what becomes of a tree that is no Bayes net, for ``bif`` and ``problog``: refused, or projected on the
    nearest one, whose linear weights ``normalise`` makes sum to at most 1.

    Raises ``UsageError`` for an unknown format, ``NotRepresentable`` where the tree does not fit it.
    """
    state = load_state(store, run_id)
    if to == "html":
        return report_html(store, state).encode(), ()
    if to == "ipynb":
        return _notebook(store, state).encode(), ()
    if to == "zip":
        return _zip(store, state), ()
    if to not in FORMATS:
        raise UsageError(f"no export to {to!r}: one of {', '.join(FORMATS)}")
    made: Export = export_tree(state.tree, to, misfit, normalise)
    return made.text.encode(), made.notes


def import_run(store: Store, path: Path, *, cutoff: str | None = None) -> str:
    """Take in a package or a tree and return the id of the run it became.

    A ``.zip`` brings the whole run back under its own id. JSON and CSV bring a tree with its values; it becomes a new run
    whose model is ``import``.

    Raises
    ------
    UsageError
        The file is missing, is no package and no tree, or the run is here already.
    """
    if not path.is_file():
        raise UsageError(f"no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise UsageError(f"{path} has {path.stat().st_size} bytes, at most {MAX_BYTES} are taken")
    if zipfile.is_zipfile(path):
        return _unzip(store, path)
    try:
        # Bytes, not text mode: that would turn every line end into \n, also those inside a report.
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is neither a package (.zip) nor text in UTF-8") from None
    return adopt_tree(store, import_tree(text), cutoff=cutoff or _cutoff_in(text) or "now")


def adopt_tree(store: Store, tree: Tree, *, cutoff: str) -> str:
    """Make a run of a ready tree and return its id; it is done when its root has a probability."""
    from proxies.clock import Cutoff

    run_id = new_run(store, tree.root.statement, Cutoff.parse(cutoff), with_preset("product", model="import"))
    store.append(run_id, ev.TreePlanned(tree=put_tree(store, tree)))
    if tree.root.p is not None:
        store.append(run_id, ev.RunFinished(p=tree.root.p))
    return run_id


def _cutoff_in(text: str) -> str | None:
    import json

    try:
        data = json.loads(text)
    except ValueError:
        return None
    found = data.get("cutoff") if isinstance(data, dict) else None
    return found if isinstance(found, str) else None


def _notebook(store: Store, state: RunState) -> str:
    """Return one notebook: the tree and its rules, then every leaf's proof under its heading."""
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    head = [
        f"# {state.statement}",
        "",
        f"Knowledge cutoff {state.cutoff} · run {state.run_id} · {state.settings.model}",
        "",
    ]
    for node in state.tree.ids():
        indent = "  " * len(state.tree.ancestors(node))
        head.append(f"{indent}- **{node}** {percent(state.tree[node].p)} {state.tree[node].statement}")
        rule = equation_with_values(state.tree, node)
        if rule:
            head.append(f"{indent}  `{node} = {rule}`")
    book.cells.append(nbformat.v4.new_markdown_cell("\n".join(head)))  # type: ignore[no-untyped-call]
    for leaf in state.tree.leaves():
        path = store.folder(state.run_id) / "proofs" / notebook_name(leaf, 1)
        if not path.is_file():
            continue
        title = f"## {leaf}: {state.tree[leaf].statement}"
        book.cells.append(nbformat.v4.new_markdown_cell(title))  # type: ignore[no-untyped-call]
        for cell in nbformat.read(path, as_version=4).cells:  # type: ignore[no-untyped-call]
            cell.id = f"{leaf.replace('.', '-')}-{cell.id}"[:64]
            book.cells.append(cell)
    nbformat.validate(book)
    return str(nbformat.writes(book))  # type: ignore[no-untyped-call]


_TABLES = ("events", "model_calls", "api_calls")


def _zip(store: Store, state: RunState) -> bytes:
    folder = store.folder(state.run_id)
    memory = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as temporary,
        zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as package,
    ):
        database = Path(temporary) / "workbench.db"
        _copy_run(store.home / "workbench.db", Path(temporary), state.run_id)
        package.write(database, _DATABASE)
        package.writestr("report.html", report_html(store, state))
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.name != "report.html":
                package.write(path, f"run/{path.relative_to(folder)}")
    return memory.getvalue()


def _copy_run(source: Path, into: Path, run_id: str) -> None:
    """Copy one run's rows, and the bodies they name, into a new store at ``into``."""
    Store(into).close()
    with sqlite3.connect(into / "workbench.db") as db:
        db.execute("ATTACH ? AS source", (str(source),))
        for table in _TABLES:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
            names = ", ".join(columns)
            db.execute(
                f"INSERT INTO {table} ({names}) SELECT {names} FROM source.{table} WHERE run_id = ?",
                (run_id,),
            )
        db.execute(
            "INSERT OR IGNORE INTO bodies SELECT * FROM source.bodies WHERE hash IN (SELECT request FROM model_calls)"
        )
        db.execute(
            "INSERT OR IGNORE INTO bodies SELECT * FROM source.bodies WHERE hash IN (SELECT reply FROM model_calls)"
        )
        db.execute(
            "INSERT OR IGNORE INTO bodies SELECT * FROM source.bodies WHERE hash IN (SELECT answer FROM api_calls)"
        )
        named: set[str] = set()
        for (data,) in db.execute(
            "SELECT data FROM events UNION ALL SELECT CAST(data AS TEXT) FROM bodies WHERE hash IN (SELECT request FROM model_calls)"
        ):
            named.update(part[: 7 + 64] for part in data.split('"') if part.startswith("sha256:"))
        db.executemany(
            "INSERT OR IGNORE INTO bodies SELECT * FROM source.bodies WHERE hash = ?",
            [(name,) for name in named],
        )
    db.close()


def _unzip(store: Store, path: Path) -> str:
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(path) as package:
        names = package.namelist()
        if _DATABASE not in names:
            raise UsageError(f"{path} is no package of a run: it holds no {_DATABASE}")
        if sum(item.file_size for item in package.infolist()) > MAX_BYTES:
            raise UsageError(f"{path} unpacks to more than {MAX_BYTES} bytes")
        target = Path(temporary) / "workbench.db"
        target.write_bytes(package.read(_DATABASE))
        try:
            other = Store(Path(temporary))
        except sqlite3.DatabaseError:
            raise UsageError(f"{path}: its {_DATABASE} is not a database of runs") from None
        ids = other.run_ids()
        try:
            if len(ids) != 1:
                raise UsageError(f"{path} holds {len(ids)} runs, a package holds one")
            load_state(other, ids[0])
        finally:
            other.close()
        if ids[0] in store.run_ids():
            raise UsageError(f"run {ids[0]} is here already: `workbench show {ids[0]}`")
        _merge(store, target, ids[0])
        folder = store.folder(ids[0])
        for name in names:
            # A package comes from a stranger: nothing of it may land outside the run's folder.
            if name.startswith("run/") and not name.endswith("/"):
                place = (folder / name.removeprefix("run/")).resolve()
                if not place.is_relative_to(folder.resolve()):
                    raise UsageError(f"{path} holds a file that would land outside its run: {name}")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(package.read(name))
    return ids[0]


def _merge(store: Store, source: Path, run_id: str) -> None:
    for row in store_rows(source, "bodies"):
        store.put_body(bytes(row["data"]))
    with store.transaction() as db:
        for table in _TABLES:
            for row in store_rows(source, table):
                values = {key: row[key] for key in row.keys() if key not in ("id", "seq")}  # noqa: SIM118
                names, marks = ", ".join(values), ", ".join("?" * len(values))
                db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))


def store_rows(database: Path, table: str) -> list[sqlite3.Row]:
    """Return all rows of a table of a database file, in the order they were written."""
    db = sqlite3.connect(database)
    try:
        db.row_factory = sqlite3.Row
        order = "seq" if table == "events" else "hash" if table == "bodies" else "id"
        return db.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
    finally:
        db.close()
