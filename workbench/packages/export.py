"""A run in a format of its own: what a reader opens, or the package that a reviewer recomputes and verifies without a network."""

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

from proxies.secret_registry import SECRETS
from sandbox.record.passive import passive_markdown
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import manifest_id, notebook_name
from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError
from workbench.formatting import percent
from workbench.packages.archive import DATABASE, SIGNATURE, is_member
from workbench.packages.signature import sign_package
from workbench.propositions.rule import Normaliser
from workbench.reports.note_content import note_of
from workbench.reports.note_markdown import note_markdown
from workbench.reports.note_page import note_html
from workbench.reports.note_pdf import print_pdf
from workbench.reports.note_tree import Note
from workbench.signing_keys import signing_key
from workbench.sources.own_store import unshared_in
from workbench.store import Store
from workbench.store.transfer import copy_run_into
from workbench.synthesis.exchange.bayes_net import OnMisfit
from workbench.synthesis.exchange.tree_formats import export_tree
from workbench.synthesis.whatif.evaluation import reachable_ranges
from workbench.views.trail import cell_anchor, evidence_trail, markdown_numbers, markdown_places
from workbench.views.wording import equation_with_values, rule_remarks

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMATS = ("html", "pdf", "docx", "md", "json", "csv", "bif", "problog", "ipynb", "zip")
#: Suffixes that name a format otherwise than by itself.
_SUFFIXES = {"htm": "html", "markdown": "md", "pl": "problog"}
#: What is text may have a key taken out of it; a package may not, for its hashes.
_TEXT_FORMATS = tuple(form for form in FORMATS if form not in ("pdf", "docx", "zip"))
NOTE_FORMATS = ("html", "pdf", "docx", "md")


def format_of(path: Path | None, to: str | None) -> str:
    """Return the format of an export: the one named, else that of the file's suffix.

    Raises ``UsageError`` for an unknown format, or where neither names one.
    """
    if to is not None:
        if to not in FORMATS:
            raise UsageError(f"no export to {to!r:.40}: one of {', '.join(FORMATS)}")
        return to
    suffix = path.suffix.removeprefix(".").lower() if path is not None else ""
    form = _SUFFIXES.get(suffix, suffix)
    if form not in FORMATS:
        known = f"no export to {suffix!r:.40}: " if suffix else ""
        raise UsageError(f"{known}name the file .{', .'.join(FORMATS)}, or give ", Option("to"))
    return form


def export_run(
    store: Store,
    run_id: str,
    to: str,
    *,
    misfit: OnMisfit = "refuse",
    normalise: Normaliser = "scale",
    sign: bool = False,
    environ: Mapping[str, str] | None = None,
    with_transcript: bool = False,
    one_page: bool = False,
) -> tuple[bytes, tuple[str, ...]]:
    """Return a run in a format, and one line per thing that had to be changed to fit it.

    ``misfit`` says what becomes of a tree that is no Bayes net, for ``bif`` and ``problog``: refused, or projected on the
    nearest one, whose linear weights ``normalise`` makes sum to at most 1. ``sign`` puts this person's signature into a
    package; never without being asked, since it says who they are. ``environ`` is where ``pdf`` looks for a browser.
    ``with_transcript`` puts every model call into an appendix of the note, ``one_page`` keeps what fits a page of it.

    Raises ``UsageError`` for an unknown format, without a key to sign with, or a browser to print with, ``NotRepresentable``
    where the tree does not fit it.
    """
    if sign and to != "zip":
        raise UsageError("only a package can be signed: export one with ", Option("to", "zip"))
    if with_transcript and to not in NOTE_FORMATS:
        raise UsageError(f"only a note can hold a transcript (.{', .'.join(NOTE_FORMATS)}), not in {to}")
    if one_page and (to not in NOTE_FORMATS or with_transcript):
        raise UsageError(
            f"only a note can be cut to one page (.{', .'.join(NOTE_FORMATS)}) without its transcript"
        )
    state = load_state(store, run_id)
    # What cells printed stands in the requests after them.
    if (to in ("zip", "ipynb") or with_transcript) and (names := unshared_in(store, run_id)):
        raise UsageError(
            f"the run read own data that is not shared with packages ({', '.join(names)}): add it again with ",
            Option("share", "packages"),
            ", or export the note without its transcript",
        )
    notes: tuple[str, ...] = ()
    if to == "zip":
        return _zip(store, state, signing_key() if sign else None), notes
    if to in NOTE_FORMATS:
        note = note_of(store, state, with_transcript=with_transcript, one_page=one_page)
        data = _note(note, to, environ or {})
    elif to == "ipynb":
        data = _notebook(store, state).encode()
    else:
        format_of(None, to)
        export = export_tree(state.tree, to, misfit, normalise, manifest=manifest_id(store, run_id))
        absent = state.not_installed()
        data, notes = export.text.encode(), (*export.notes, *((absent,) if absent else ()))
    return (SECRETS.clean(data.decode()).encode() if to in _TEXT_FORMATS else data), notes


def note_beside(store: Store, run_id: str, to: str, path: Path, environ: Mapping[str, str]) -> bytes:
    """Return the note that goes beside an export ``to`` a package, which holds none, in the format of its file's suffix.

    Raises ``UsageError`` beside anything else, and for a suffix of no note.
    """
    if to != "zip":
        raise UsageError(f"a note can be added to a package (.zip) only, not to an export to {to}")
    form = format_of(path, None)
    if form not in NOTE_FORMATS:
        raise UsageError(f"a note is .{', .'.join(NOTE_FORMATS)}, and {path.name:.80} is none")
    return export_run(store, run_id, form, environ=environ)[0]


def _note(note: Note, to: str, environ: Mapping[str, str]) -> bytes:
    if to == "docx":
        _refuse_secrets(note_markdown(note).encode("utf-8", "replace"), "the note")
        from workbench.reports.note_word import note_docx  # python-docx loads for it alone

        return note_docx(note)
    if to == "md":
        return note_markdown(note).encode("utf-8", "replace")
    page = SECRETS.clean(note_html(note))
    return print_pdf(page, environ) if to == "pdf" else page.encode()


def _notebook(store: Store, state: RunState) -> str:
    book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    head = [
        f"# {state.statement}",
        "",
        f"Cutoff {state.cutoff} · run {state.run_id} · {state.settings.model}"
        f" · manifest {manifest_id(store, state.run_id) or 'none'}",
        "",
    ]
    spans = reachable_ranges(state.tree)
    for node in state.tree.ids():
        indent = "  " * len(state.tree.ancestors(node))
        head.append(f"{indent}- **{node}** {percent(state.tree[node].p)} {state.tree[node].statement}")
        rule = equation_with_values(state.tree, node)
        if rule:
            head.append(f"{indent}  `{node} = {rule}`")
            head.extend(f"{indent}  {remark}" for remark in rule_remarks(state.tree[node].rule, spans[node]))
    book.cells.append(nbformat.v4.new_markdown_cell(passive_markdown("\n".join(head))))  # type: ignore[no-untyped-call]
    mark = f"Figures and numbers of run {state.run_id}, manifest {(manifest_id(store, state.run_id) or 'none')[:19]}."
    for leaf in state.tree.leaves():
        path = store.folder(state.run_id) / "proofs" / notebook_name(leaf, 1)
        if not path.is_file():
            continue
        title = passive_markdown(f"## {leaf}: {state.tree[leaf].statement}")
        trail = evidence_trail(store, state, leaf) if state.trial(leaf, 1).belief is not None else None
        numbers = "" if trail is None else markdown_numbers(trail)
        book.cells.append(nbformat.v4.new_markdown_cell(f"{title}\n\n{mark}\n\n{numbers}".strip()))  # type: ignore[no-untyped-call]
        places = {} if trail is None else markdown_places(trail)
        for cell in nbformat.read(path, as_version=4).cells:  # type: ignore[no-untyped-call]
            if (place := places.get(cell_anchor(cell.id))) is not None:
                book.cells.append(nbformat.v4.new_markdown_cell(place))  # type: ignore[no-untyped-call]
            # Ids must differ within a notebook, and cells of two proofs may share theirs. nbformat takes 1 to 64
            # letters, digits, - and _, so the dots of a proposition's id are replaced.
            cell.id = f"{leaf.replace('.', '-')}-{cell.id}"[:64]
            book.cells.append(cell)
    nbformat.validate(book)
    return str(nbformat.writes(book))  # type: ignore[no-untyped-call]


def _refuse_secrets(data: bytes, what: str) -> None:
    """Raise ``UsageError`` for what cannot be shared: to take a key out of it would break the hashes over it."""
    if SECRETS.held_in(data):
        raise UsageError(
            f"{what} holds an API key that is in use here, so the run is not shared: revoke that key, unset it and export again"
        )


def _zip(store: Store, state: RunState, key: "Ed25519PrivateKey | None") -> bytes:
    folder = store.folder(state.run_id)
    memory = io.BytesIO()
    hashes: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory() as temporary,
        zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as package,
    ):

        def add(name: str, path: Path) -> None:
            data = path.read_bytes()
            _refuse_secrets(data, name)
            hashes[name] = hashlib.sha256(data).hexdigest()
            # a member keeps the time of its file; hash and member are of the same bytes, whoever writes meanwhile
            member = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
            package.writestr(member, data, zipfile.ZIP_DEFLATED)

        add(DATABASE, copy_run_into(store, state.run_id, Path(temporary)))
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not path.is_symlink() and is_member(name):
                add(f"run/{name}", path)
        if key is not None:
            # Over the rows that are in the package: the home's log may have grown since they were copied.
            with closing(Store(Path(temporary), durable=False)) as packed:
                package.writestr(SIGNATURE, sign_package(packed, state.run_id, hashes, key))
    return memory.getvalue()
