"""Taking a run elsewhere and back, signed, and whose signatures are known by name."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from workbench.formatting import counted
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Raw, Remark, blocks_of, columns
from workbench.operations.fields import RunName
from workbench.requests import Says

_WHAT = {
    "html": "the note (HTML)",
    "pdf": "the note (PDF)",
    "docx": "the note (Word)",
    "md": "the note (Markdown)",
    "zip": "the whole package",
    "json": "the tree (JSON)",
    "csv": "the tree (CSV)",
    "bif": "the Bayes net (BIF)",
    "problog": "the program (ProbLog)",
    "ipynb": "tree and proofs (notebook)",
}


class Export(Operation):
    """Write the note of a run (html, pdf, docx, md), the whole package a reviewer needs (zip), or another program's format."""

    places = ("run",)
    short = ("to", "output", "sign", "note", "one_page")
    unlisted = ("with_transcript",)

    run: RunName
    to: str | None = None
    """html, pdf, docx or md (the note); zip (the package); json, csv, bif, problog or ipynb. Without it the suffix of -o says."""
    output: Annotated[Path | None, Says(text="File to write; stdout without it.", short="o")] = None
    project: bool = False
    """For bif and problog: take the nearest Bayes net where the tree is none."""
    normalise: str = "scale"
    """How `project` makes linear weights sum to at most 1: scale, softmax or min-max."""
    sign: bool = False
    """For zip: sign the package with your key (`keys new` makes one)."""
    note: Path | None = None
    """For zip: write the note (.html, .pdf, .docx, .md) to this file, beside the package."""
    one_page: bool = False
    """For a note: the answer, the series and the strongest drivers."""
    with_transcript: Annotated[
        bool, Says(text="For a note: every model call in an appendix (`transcript`).", word="transcript")
    ] = False

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the files that were written with their sizes in bytes; without ``output`` the export itself, in base64."""
        from workbench.engine.record.run_files import manifest_id
        from workbench.output_files import write_output
        from workbench.packages.export import export_run, format_of, note_beside
        from workbench.synthesis.rules.normalise import check_normaliser

        to = format_of(self.output, self.to)
        run_id = home.store.resolve_run(self.run)
        data, notes = export_run(
            home.store, run_id, to,
            misfit="project" if self.project else "refuse", normalise=check_normaliser(self.normalise), sign=self.sign,
            environ=home.environ, with_transcript=self.with_transcript, one_page=self.one_page,
        )  # fmt: skip
        files = []
        if self.note is not None:
            # before anything is written: without a browser there is no PDF
            beside = note_beside(home.store, run_id, to, self.note, home.environ)
            files.append((self.note, format_of(self.note, None), beside))
        for line in notes:
            home.say(line)
        if self.output is not None:
            files.append((self.output, to, data))
        for path, _, content in files:
            # By an atomic rename: a reader, or a full disk, never leaves half a package under the name.
            write_output(path, content)
        return {
            "run_id": run_id,
            "format": to,
            "manifest_id": manifest_id(home.store, run_id),
            "notes": list(notes),
            "files": [
                {"path": str(path), "format": form, "bytes": len(content)} for path, form, content in files
            ],
            "content": None if self.output is not None else b64encode(data).decode(),
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what was written where, or the export itself."""
        manifest = f"manifest {(document['manifest_id'] or 'none')[:19]}"
        for file in document["files"]:
            what = f"{_WHAT[file['format']]} of run {document['run_id']}, {file['bytes'] / 1000:,.0f} kB"
            beside = (
                "; it stands beside the package and not in it, and no signature or check of the package covers it"
                if file["path"] == str(self.note)
                else ""
            )
            yield Remark(f"wrote {file['path']}: {what}, {manifest}{beside}")
        if document["content"] is not None:
            yield Raw(b64decode(document["content"]))


class Import(Operation):
    """Import an exported run or a tree. It becomes a run of this home, marked as imported.

    A package that export cannot have written is refused (exit 2); one whose evidence contradicts itself is too (exit 6,
    what differs is listed), unless --anyway. Nothing of a package is run.
    """

    places = ("path",)

    path: Annotated[Path, Says(text="A package (.zip), or a tree in JSON or CSV.", form="FILE")]
    cutoff: Annotated[str | None, Says(text="Cutoff of an imported tree.", form="DATE")] = None
    anyway: bool = False
    """Keep a package whose evidence was altered, marked so."""
    review: bool = False
    """Take only the comments and sign-offs of a package into its run, which is in this home."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the run; of a review the comments, estimates and sign-offs that were new."""
        if self.review:
            from workbench.packages.returned_review import take_review

            return take_review(home.store, self.path).to_json()
        from workbench.operations.run_document import RunDocument
        from workbench.packages.package import import_run

        run_id = import_run(home.store, self.path, cutoff=self.cutoff, anyway=self.anyway)
        return RunDocument.of(home.store, home.state(run_id))

    def show(self, document: Any) -> Iterator[Block]:
        """Return the tree, and what it rests on; of a review what came back."""
        if not self.review:
            yield from document.lines()
            return
        comments, estimates, sign_offs = (document[each] for each in ("comments", "estimates", "sign_offs"))
        if comments:
            yield columns(comments, comment_on="node", author="author", comment="text")
        if estimates:
            yield columns(estimates, estimate_of="node", author="author", p="p %", why="why")
        if sign_offs:
            yield columns(sign_offs, sign_off="verdict", author="author", attested="attested .19")
        yield Remark(
            f"run {document['run_id']}: {counted(len(comments), 'comment')}, {counted(len(estimates), 'estimate')} and {len(sign_offs)} sign-offs came back"
        )


class NewKey(Operation):
    """Make your signing key and print its public half, for those who receive your packages."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the public key, its fingerprint, and where the key itself is."""
        from workbench.signing_keys import fingerprint, key_path, new_key

        public = new_key()
        return {"key": public, "fingerprint": fingerprint(public), "path": str(key_path())}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the public key alone on its line."""
        yield document["key"]
        yield f"fingerprint {document['fingerprint']}; the key itself is in {document['path']}, for you alone"


class ShowKeys(Operation):
    """Print your public key and the keys you trust, with their fingerprints."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return your public key, null if there is none, and those that you trust."""
        from workbench.signing_keys import fingerprint, own_public_key, trusted_names

        own = own_public_key()
        return {
            "own": None if own is None else {"key": own, "fingerprint": fingerprint(own)},
            "trusted": [
                {"name": name, "key": key, "fingerprint": fingerprint(key)}
                for key, name in trusted_names().items()
            ],
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the keys."""
        if document["own"] is None:
            yield "you have no key: `workbench keys new` makes one"
        yield from blocks_of({name: keys for name, keys in document.items() if keys})


class TrustKey(Operation):
    """Give a colleague's public key a name; compare its fingerprint with them first. Trusted packages stay sealed."""

    places = ("name", "key")

    name: str
    """What to call them on your screens."""
    key: str
    """Their public key in quotes, or a file that holds it."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the key with its name."""
        from proxies.input_files import read_text
        from workbench.signing_keys import check_public_key, fingerprint, trust

        # A key in quotes is not looked up as a file; errors="replace" leaves it to the check to say that a file holds no key.
        # os.path: `Path.is_file` raises for a name that is too long for the system.
        is_file = not self.key.startswith("ssh-") and os.path.isfile(self.key)
        public = check_public_key(read_text(Path(self.key), most=4096) if is_file else self.key)
        trust(self.name, public)
        return {"name": self.name, "key": public, "fingerprint": fingerprint(public)}
