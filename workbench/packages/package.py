"""The way in of a run or a tree from a file: checked whole in a folder of its own, then moved in one step."""

import fcntl
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.atomic import private_folder
from proxies.hashing import sha256_of_file
from proxies.input_files import InputRefused, parse_json, read_text
from workbench.audit.run_audit import audit_checks
from workbench.engine.manifest import run_manifest
from workbench.engine.new_run import new_run
from workbench.engine.proof_check import ProofFault
from workbench.engine.record.fold import load_state
from workbench.engine.record.imported_run import Imported, signature_fault
from workbench.engine.record.run_files import put_tree, write_atomically
from workbench.engine.record.state import IMPORTED_TREE, RunState
from workbench.engine.run_settings import with_preset
from workbench.errors import Command, UsageError, WorkbenchError, command
from workbench.formatting import counted
from workbench.packages.archive import DATABASE, MAX_BYTES, unpack
from workbench.packages.intake import copy_run, examine
from workbench.packages.signature import read_signature
from workbench.propositions import Tree
from workbench.reports.note_page import write_report
from workbench.store import Store, StoreCorrupt
from workbench.store import events as ev
from workbench.store.database import utc_now
from workbench.store.removal import MOVING, settle
from workbench.store.transfer import take_run
from workbench.synthesis.exchange.tree_formats import import_tree

_TEMPORARY = ".import-"


class PackageAltered(WorkbenchError):
    """A package whose evidence contradicts itself; nothing of it was taken in. ``findings`` says where."""

    exit_code = 6

    def __init__(self, path: Path, findings: Sequence[ProofFault], unreadable: str | None = None) -> None:
        self.findings = list(findings)
        way: tuple[str | Command, ...]
        if unreadable is None:
            count = counted(len(findings), "difference")
            way = (command("import", str(path), anyway=True), " keeps it, marked")
        else:
            count, way = unreadable, ("it cannot be shown without that, so it cannot be kept",)
        super().__init__(f"{path} was altered since its run wrote it ({count}): nothing was taken in; ", *way)

    @property
    def document(self) -> dict[str, Any]:
        """What a program reads of it."""
        return {"imported": False, "differing": [asdict(finding) for finding in self.findings]}

    def lines(self) -> list[str]:
        """Return what differs, one line each."""
        return [f"differs   {finding.line()}" for finding in self.findings]


def import_run(
    store: Store,
    path: Path,
    *,
    cutoff: str | None = None,
    anyway: bool = False,
) -> str:
    """Take in a package or a tree and return the id of the run it became.

    A ``.zip`` brings the whole run back under its own id (see `import_package`). JSON and CSV bring a tree with its values;
    it becomes a new run whose model is ``import``. Either is marked as imported.

    Raises `UsageError`: The file is missing, is no package and no tree, or the run is here already.
    """
    _check_file(path)
    if zipfile.is_zipfile(path):
        return import_package(store, path, anyway=anyway)
    try:
        # Bytes, not text mode: that would turn every line end into \n, also those inside a report.
        # utf-8-sig drops the byte order mark with which spreadsheets begin a CSV file.
        text = read_text(path)
    except InputRefused as error:
        raise UsageError(f"{error}: a tree is a JSON or CSV file, a run a package (.zip)") from None
    tree = import_tree(text)
    return adopt_tree(store, tree, cutoff=cutoff or _cutoff_in(text) or "now", package=sha256_of_file(path))


def _check_file(path: Path) -> None:
    if not os.path.isfile(path):  # `Path.is_file` raises for a name that is too long
        raise UsageError(f"no file {str(path)[:200]}")
    if path.stat().st_size > MAX_BYTES:
        raise UsageError(f"{path} has {path.stat().st_size} bytes, at most {MAX_BYTES} are taken")


def adopt_tree(store: Store, tree: Tree, *, cutoff: str, package: str) -> str:
    """Make a run of a ready tree and return its id; it is done when its root has a probability.

    ``package`` is the hash of the file it came in.
    """
    run_id = new_run(
        store, tree.root.statement, Cutoff.parse(cutoff), with_preset("product", model=IMPORTED_TREE)
    )
    store.append(run_id, ev.TreePlanned(tree=put_tree(store, tree)))
    store.append(run_id, ev.RunImported(package=package))
    if tree.root.p is not None:
        store.append(run_id, ev.RunFinished(p=tree.root.p))
    # Such a run has no engine that would write it, and its exports name it by the hash of this file.
    state = load_state(store, run_id)
    write_atomically(store.folder(run_id) / "manifest.json", run_manifest(store, state))
    audit_checks(store, state)
    return run_id


def _cutoff_in(text: str) -> str | None:
    try:
        data = parse_json(text, "the tree")
    except InputRefused:
        return None
    cutoff = data.get("cutoff") if isinstance(data, dict) else None
    return cutoff if isinstance(cutoff, str) else None


def import_package(store: Store, path: Path, *, anyway: bool = False) -> str:
    """Take in a package and return the id of the run it brought; the run is marked as imported.

    The package is unpacked into a folder of the home that is no run's, checked whole there by a store of its own, and moved
    in one step: the rows in one transaction, the files by one rename. Whatever fails, the home is as it was.

    `anyway`: Keep a run whose evidence contradicts itself; what differs is recorded with the mark. A body that is not what its hash says
    is left out even so: bodies are shared by all runs of a home.

    Raises `PackageRefused`: Our export cannot have written it (exit 2). Raises `PackageAltered`: It is a run, and its evidence contradicts
    itself (exit 6). Raises `UsageError`: The run is here already.
    """

    def refuse_what_is_here(run_id: str) -> None:
        if run_id in store.run_ids():
            raise UsageError(
                f"run {run_id} is already in this home: ",
                command("show", run_id),
                "; ",
                command("import", str(path), review=True),
                " imports only its comments and sign-offs",
            )
        settle(store)
        if store.folder(run_id).exists():
            raise UsageError(
                f"{store.folder(run_id)} is in the way and belongs to no run here: move that folder away and import again"
            )

    with examined_package(store.home, path, refuse_what_is_here) as package:
        if package.findings and not anyway:
            raise PackageAltered(path, package.findings)
        own, run_id = package.store, package.state.run_id
        # The last event before the move: a signature is later checked over the log before it (`signature_fault`).
        own.append(
            run_id,
            ev.RunImported(
                package=package.digest,
                anyway=bool(package.findings),
                differing=tuple(finding.line() for finding in package.findings),
                signature=package.signature,
            ),
        )
        state = load_state(own, run_id)
        if state.finished and not package.findings:
            write_report(own, state)  # the note audits the run, and the checks are kept for its page
        else:
            audit_checks(own, state)
        _move_in(own, store, run_id)
    return run_id


@contextmanager
def open_package(path: Path) -> Iterator["ExaminedPackage"]:
    """Yield a package that is looked at and not taken in; it is checked as at an import, outside of every home.

    Its store and files are gone with the block.

    Raises `UsageError, PackageRefused, PackageAltered`: As `import_package`.
    """
    with examined_package(None, path) as package:
        if package.findings:
            raise PackageAltered(path, package.findings)
        state = package.state
        state.imported = Imported(
            at_utc=utc_now(),
            package=package.digest,
            anyway=False,
            differing=state.imported.differing if state.imported else (),
            signature=package.signature,
            seq=package.store.events(state.run_id)[-1].seq,
            taken_in=False,
        )
        yield package


@dataclass(frozen=True, slots=True)
class ExaminedPackage:
    """A package in a store of its own, read and checked; ``signature`` is one that fits, ``digest`` the hash of the file."""

    store: Store
    state: RunState
    findings: list[ProofFault]
    signature: ev.PackageSignature | None
    digest: str


@contextmanager
def examined_package(
    home: Path | None, path: Path, check: Callable[[str], None] | None = None
) -> Iterator[ExaminedPackage]:
    """Unpack a package into a temporary folder and examine all of it; the folder ends with the block.

    The folder lies in the ``home`` into which the package may be moved, for a rename is one step only within one file system.
    ``check`` gets the id of the run before the work of examining it, and raises if the caller cannot use it.

    Raises `PackageRefused`: Our export cannot have written it. Raises `PackageAltered`: It cannot be shown at all.
    """
    _check_file(path)
    digest = sha256_of_file(path)
    with _import_folder(home) as temporary:
        hashes, member = unpack(path, temporary, "files")
        signature = read_signature(member, hashes) if member is not None else None
        own = Store(temporary / "home", durable=False)
        try:
            run_id, findings = copy_run(temporary / DATABASE, own)
            if check is not None:
                check(run_id)
            folder = own.folder(run_id)
            private_folder(folder.parent)
            files = temporary / "files"
            private_folder(files)
            files.rename(folder)
            try:
                state, more = examine(own, run_id)
            except StoreCorrupt as error:
                raise PackageAltered(path, findings, str(error)) from None
            findings += more
            if signature is not None and (fault := signature_fault(own, run_id, signature)) is not None:
                findings.append(ProofFault.of_node(None, "signature", fault))
                signature = None  # it says nothing about who sent this
            yield ExaminedPackage(own, state, findings, signature, digest)
        finally:
            own.close()


def _move_in(own: Store, store: Store, run_id: str) -> None:
    source, target = own.folder(run_id), store.folder(run_id)
    with ExitStack() as undo:
        if not target.parent.exists():
            target.parent.mkdir(mode=0o700)
            undo.callback(target.parent.rmdir)
        with store.transaction():
            if run_id in store.run_ids():  # another process took it in meanwhile
                raise UsageError(f"run {run_id} is already in this home: ", command("show", run_id))
            # Rows, then files, then the commit at the end of the block. If the commit fails the rename is undone; a
            # commit could not be undone if the rename failed after it.
            take_run(store, own)
            (
                source / MOVING
            ).touch()  # a kill between the rename and the commit: `settle` then knows whose it is
            source.rename(target)
            undo.callback(target.rename, source)  # until the rows are committed
        undo.pop_all()
    (target / MOVING).unlink(missing_ok=True)


@contextmanager
def _import_folder(home: Path | None) -> Iterator[Path]:
    """A temporary folder of one import. What killed imports left in the home goes first, if nobody else imports into it.

    Who imports holds a shared lock on the home, which goes with its process. A clock does not tell who is alive: it may be set forward
    while an import is under way.
    """
    with ExitStack() as stack:
        if home is not None:
            descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            if _locked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
                _sweep(home)
            _locked(descriptor, fcntl.LOCK_SH)  # before there is a folder of ours to sweep
        yield Path(stack.enter_context(tempfile.TemporaryDirectory(dir=home, prefix=_TEMPORARY)))


def _locked(descriptor: int, how: int) -> bool:
    """Whether a lock could be had; some file systems of a network have none on folders, and nothing is swept there."""
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        return False
    return True


def _sweep(home: Path) -> None:
    for left in home.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)
