"""Append people's remarks to a run: comments, notes and tags, a sign-off.

Each call appends one event or refuses. Called by the command line, the Python API and the page. Names of people are typed, not
proved; who needs proof signs the package (``export --to zip --sign``).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from proxies.hashing import canonical_json, sha256_of
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError, command
from workbench.propositions import NodeId
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.terminal import printable

#: What a reviewer does before signing, in this order; the keys are stored.
CHECKLIST: Mapping[str, str] = {
    "verified": "the proofs were run again here and show the same",
    "leaks": "the audit was read: dates, risk of later knowledge in the data, hindsight",
    "evidence": "the evidence of the drivers that move the claim most was read",
    "rules": "the weights and formulas make sense, also if a driver proves surely true or false",
    "comments": "every comment was answered, or accepted as it stands",
}

#: Characters of a comment or note.
LONGEST_TEXT = 20_000
#: Of a name or a tag.
LONGEST_LINE = 200


def add_comment(store: Store, run_id: str, node: NodeId, text: str, *, author: str = "") -> None:
    """Pin a comment to a proposition; raises ``UsageError`` for an empty text, ``UnknownNode`` for no proposition."""
    with store.transaction():
        load_state(store, run_id).tree[node]  # raises for a node that is not there
        event = ev.CommentAdded(
            node=node, text=checked_text(text, "a comment"), author=checked_line(author, "an author")
        )
        store.append(run_id, event)


def add_note(
    store: Store,
    run_id: str,
    text: str = "",
    *,
    node: NodeId | None = None,
    tags: Collection[str] = (),
    untagged: Collection[str] = (),
    author: str = "",
) -> None:
    """Keep a note on a run or on one of its propositions, and set tags or take them off.

    Raises ``UsageError`` if there is neither text nor tag, for a tag that is none or is not set, ``UnknownNode`` for no
    proposition.
    """
    with store.transaction():
        state = load_state(store, run_id)
        if node is not None:
            state.tree[node]
        absent = [tag for tag in untagged if _tag(tag) not in state.annotations.tags]
        if absent:
            standing = ", ".join(state.annotations.tags) or "none"
            raise UsageError(f"run {run_id} has no tag {absent[0]!r:.60}; it has: {standing}")
        if not (text.strip() or tags or untagged):
            raise UsageError("nothing to note: write a text, or ", Option("tag", "NAME"))
        event = ev.NoteAdded(
            node=node,
            text=checked_text(text, "a note") if text.strip() else "",
            tags=tuple(dict.fromkeys(map(_tag, tags))),
            untagged=tuple(map(_tag, untagged)),
            author=checked_line(author, "an author"),
        )
        store.append(run_id, event)


def sign_off(
    store: Store, run_id: str, *, author: str, verdict: str = "accept", done: Collection[str] = ()
) -> str:
    """Sign a run off and return the hash of the attested content.

    It covers the run's id, the head of its log, its tree, its comments, the checklist, the verdict and the name.

    Raises `UsageError`: No name, an unknown verdict or key, a run without a probability, or an acceptance with open points.
    """
    if verdict not in ("accept", "return"):
        raise UsageError(f"a verdict is accept or return, not {verdict!r:.40}")
    name = checked_line(author, "an author")
    if not name:
        raise UsageError("a sign-off needs a name: ", Option("author", "NAME"))
    unknown = [key for key in done if key not in (*CHECKLIST, "all")]
    if unknown:
        raise UsageError(f"{unknown[0]!r:.40} is not on the checklist: {', '.join(CHECKLIST)}, or all")
    checklist = {key: "all" in done or key in done for key in CHECKLIST}
    open_points = [key for key, is_done in checklist.items() if not is_done]
    if verdict == "accept" and open_points:
        raise UsageError(
            f"to accept, complete the checklist: {', '.join(open_points)} is missing (",
            Option("done", open_points[0]),
            "); or ",
            Option("verdict", "return"),
        )
    with store.transaction():
        state = load_state(store, run_id)
        require_finished(state)
        content = {
            "author": name,
            "verdict": verdict,
            "checklist": checklist,
            "head": store.log_head(run_id),
            "tree": _hash(state.tree.to_json()),
            # without the number of the event, which another home gives anew
            "comments": _hash([[c.node, c.author, c.at_utc, c.text] for c in state.annotations.comments]),
        }
        attested = _attested(run_id, content)
        store.append(run_id, ev.ReviewSigned.model_validate({**content, "attested": attested}))
    return attested


def sign_off_rows(store: Store, state: RunState) -> list[dict[str, Any]]:
    """Return every sign-off of a run, with whether it still holds: ``workbench show``, the note, the page.

    ``fault`` says what contradicts it, null if nothing does; ``later`` what was added after it, one word each, which it
    does not cover; ``package`` is null, or the hash of the package in which it came back from another home; ``mended``
    counts the records that it covers as they were written, and that screens show without what steers a terminal.
    """
    annotations = state.annotations
    if not annotations.sign_offs and not annotations.returned:
        return []
    stream = store.events(state.run_id)
    rows = []
    for stored in annotations.sign_offs:
        signed = stored.event
        assert isinstance(signed, ev.ReviewSigned)
        later = [item for item in stream if item.seq > stored.seq]
        fault = _fault(state, signed, later, head=store.log_head(state.run_id, before=stored.seq))
        row = _sign_off_row(signed, stored.at_utc, fault, later)
        rows.append({**row, "mended": store.mended(state.run_id, before=stored.seq)})
    for stored in annotations.returned:
        event = stored.event
        assert isinstance(event, ev.ReviewReturned)
        later = [item for item in stream[event.shared :] if item.seq != stored.seq]
        for signed_there in event.sign_offs:
            fault = _fault(state, signed_there, later)
            row = _sign_off_row(signed_there, signed_there.at_utc, fault, later)
            rows.append({**row, "package": event.package})
    return rows


#: The fields of a sign-off that its hash covers.
_SIGNED = ("author", "verdict", "checklist", "head", "tree", "comments")
_SignOff = ev.ReviewSigned | ev.ReturnedSignOff


def _fault(
    state: RunState, signed: _SignOff, later: Sequence[StoredEvent], head: str | None = None
) -> str | None:
    """What contradicts a sign-off; ``head`` is that of the log before it, where it was made here."""
    if _attested(state.run_id, signed.model_dump(include=set(_SIGNED), mode="json")) != signed.attested:
        return "its hash does not fit what it says"
    if head not in (None, signed.head):
        return "the log before it is not the log that was signed"
    tree_moved = any(isinstance(item.event, ev.TreeEdited | ev.TreePlanned) for item in later)
    if not tree_moved and _hash(state.tree.to_json()) != signed.tree:
        return "the tree is not the tree that was signed"
    return None


def _sign_off_row(
    signed: _SignOff, at_utc: str, fault: str | None, later: Sequence[StoredEvent]
) -> dict[str, Any]:
    # An import in another home and the sign-off of a colleague take nothing away from this one.
    kinds = [
        item.event.kind for item in later if not isinstance(item.event, ev.ReviewSigned | ev.RunImported)
    ]
    return {
        **signed.model_dump(include={"author", "verdict"}),
        "at_utc": at_utc,
        "checklist": dict(signed.checklist),
        "attested": signed.attested,
        "fault": fault,
        "later": list(dict.fromkeys(kinds)),
        "package": None,
        "mended": 0,
    }


def _attested(run_id: str, signed: Mapping[str, Any]) -> str:
    return _hash(["analyst-workbench sign-off", 1, run_id, dict(signed)])


def _hash(value: Any) -> str:
    return sha256_of(canonical_json(value))


def require_finished(state: RunState) -> None:
    """Raise ``UsageError`` unless the run is finished and has a probability."""
    if state.tree.root.p is None or not state.finished:
        raise UsageError(
            f"run {state.run_id} has no probability yet: ", command("resume", state.run_id), " first"
        )


def checked_text(text: str, what: str) -> str:
    """Clean a text of several lines for the record; raises ``UsageError`` for an empty or overlong one."""
    plain = printable(text.replace("\t", " "), keep="\n").strip()
    if not plain:
        raise UsageError(f"{what} needs a text")
    return _at_most(LONGEST_TEXT, plain, what)


def checked_line(text: str, what: str) -> str:
    """Clean a name or tag to one line; raises ``UsageError`` for one that is too long."""
    return _at_most(LONGEST_LINE, printable(" ".join(text.split()), keep=""), what)


def _at_most(most: int, text: str, what: str) -> str:
    if len(text) > most:
        raise UsageError(f"{what} has at most {most} characters, this has {len(text)}")
    return text


def _tag(text: str) -> str:
    tag = checked_line(text, "a tag").casefold()
    if not tag or "," in tag:
        raise UsageError(f"a tag is a word or a few, without commas, not {text!r:.40}")
    return tag
