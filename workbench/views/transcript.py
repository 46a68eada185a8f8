"""The dialogue of a run's models, call by call: ``workbench transcript``, the note's appendix, the page's panel.

A dialogue repeats its earlier turns in every request. What stood in a call before is folded: it is said how many messages they
are and which call shows them, so that every sentence is there once. Texts are as they came; every screen cleans them for itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.audit.data_read import leaves_without_data
from workbench.audit.run_findings import run_findings
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.formatting import counted
from workbench.models.base import ModelReply, reply_to_json
from workbench.models.thoughts import without_thoughts
from workbench.propositions import NodeId
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.store.ledgers import LedgerCall

_PLACE = ("node", "trial", "attempt", "stage", "step", "retry")


@dataclass(slots=True)
class _Turn:
    """A message of a dialogue: the first call that showed it, the replies to what ended with it, and the messages after it."""

    call: int
    replies: dict[str, int] = field(default_factory=dict)
    following: dict[str, "_Turn"] = field(default_factory=dict)


def transcript(
    store: Store, state: RunState, node: NodeId | None = None, *, search: str = "", stage: str = ""
) -> dict[str, Any]:
    """Return every model call of a run, or of one node, as it was sent and answered: ``workbench transcript``.

    ``calls`` has for each where it stands in the run, the model, ``sent`` (the messages that no call before it shows),
    ``folded`` (how many others it sent, and the call that shows the last of them), ``reply`` with the thoughts apart, tokens,
    price (null where unknown) and seconds. Numbers count all calls; with ``search`` those stay in which each of its words occurs, with
    ``stage`` those of one stage. ``found`` is what the calls concluded, ``findings`` what the checks say of the leaves; ``unanswered`` are
    requests that got no reply, with the reason on record.

    Raises `UnknownNode`: No such node. Raises `UsageError`: The run has no such stage. Raises `StoreCorrupt`: A body was altered.
    """
    if node is not None:
        state.tree[node]
    ledger = ModelLedger(store)
    calls, answered = [], set()
    dialogues = _Turn(0)
    bodies: dict[str, dict[str, Any]] = {}
    for number, call in enumerate(ledger.calls(state.run_id, node), 1):
        for digest in call.messages:
            if digest not in bodies:
                bodies[digest] = ledger.message(digest)
        folded, last = _shown_before(dialogues, number, call, bodies)
        sent = [_sent_message(bodies[digest]) for digest in call.messages[folded:]]
        calls.append(_call_document(number, call, sent, folded, last))
        answered.add((*_ledger_key(call.address), call.request_hash))
    stages = list(dict.fromkeys(call["stage"] for call in calls))
    if stage and stage not in stages:
        raise UsageError(
            f"no call of this run is of the stage {stage!r:.40}; its stages are {', '.join(stages) or 'none'}"
        )
    matching = [call for call in calls if stage in ("", call["stage"]) and _matches(call, search)]
    costs = [call["cost_usd"] for call in calls]
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "node": node,
        "search": search,
        "stage": stage,
        "n_calls": len(calls),
        "found": [
            {"id": each.id, "p": each.p, "key_factor": each.belief.key_factor, "statement": each.statement}
            for each in state.tree.propositions()
            if each.belief is not None and node in (None, each.id)
        ],
        "input_tokens": _total(call["input_tokens"] for call in calls),
        "output_tokens": _total(call["output_tokens"] for call in calls),
        "cost_usd": None if None in costs else sum(costs),
        "calls": matching,
        "unanswered": list(_unanswered(store, state, node, answered)),
        "findings": [
            row
            for row in run_findings(state, leaves_without_data(store, state))
            if node in (None, row["node"])
        ],
    }


def call_heading(call: Mapping[str, Any]) -> str:
    """Write the line above a call: its number, where it stands in the run, the model, tokens, price, time."""
    trial = f" trial {call['trial']}" if call["trial"] else ""
    again = f", sent back {call['retry']}x" if call["retry"] else ""
    attempt = f", attempt {call['attempt']}" if call["attempt"] > 1 else ""
    usage = [
        f"{call[name]:,} {words}"
        for name, words in (
            ("input_tokens", "tokens in"),
            ("output_tokens", "out"),
            ("cached_tokens", "cached"),
        )
        if call[name] is not None
    ]
    price = "price unknown" if call["cost_usd"] is None else f"${call['cost_usd']:.4f}"
    facts = [
        call["model"],
        *usage,
        price,
        f"{call['seconds']:.1f} s",
        f"{call['at_utc'][:19]}Z".replace("T", " "),
    ]
    return f"call {call['number']}: {call['node']}{trial}{attempt}, {call['stage']} {call['step'] + 1}{again} ({', '.join(facts)})"


def call_parts(call: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the parts of a call in the order they were said, each with the name of its speaker."""
    parts = []
    if folded := call["folded"]["messages"]:
        count = counted(folded, "message")
        parts.append(
            ("folded", f"{count} sent before: see call {call['folded']['last_in']} and earlier calls")
        )
    for message in call["sent"]:
        text = message["content"]
        text += f"\n[{counted(message['images'], 'picture')}]" * bool(message["images"])
        parts.append((f"sent, {message['role']}", text + _tool_lines(message["tool_calls"])))
    if call["tools"]:
        parts.append(("tools on offer", ", ".join(call["tools"])))
    reply = call["reply"]
    if reply["thoughts"]:
        parts.append(("thoughts", reply["thoughts"]))
    text = f"{reply['text']}{_tool_lines(reply['tool_calls'])}".strip("\n")
    parts.append(("reply", text or f"(empty: {reply['finish']})"))
    if reply["finish"] != "complete" or reply["notes"]:
        parts.append(("ended", "; ".join((reply["finish"], *reply["notes"]))))
    return parts


def transcript_line(document: Mapping[str, Any]) -> str:
    """Sum up all calls in one line."""
    price = "price unknown" if document["cost_usd"] is None else f"${document['cost_usd']:.4f}"
    matches = f"{len(document['calls'])} of " if document["search"] or document["stage"] else ""
    lost = f", {len(document['unanswered'])} without a reply" if document["unanswered"] else ""
    return (
        f"{matches}{counted(document['n_calls'], 'model call')}{lost}, {document['input_tokens']:,} tokens in,"
        f" {document['output_tokens']:,} out, {price}"
    )


def unanswered_line(row: Mapping[str, Any]) -> str:
    """Write a request without a reply as one line."""
    return f"{row['at_utc'][:19]}Z {row['node']}, {row['stage']} {row['step'] + 1} to {row['model']}: {row['reason']}"


def _shown_before(
    dialogues: _Turn, number: int, call: LedgerCall, bodies: Mapping[str, Mapping[str, Any]]
) -> tuple[int, int]:
    """Count a call's first messages that stand in earlier calls, and name the call with the last one; keeps all of them."""
    turn, folded, last = dialogues, 0, 0
    for place, digest in enumerate(call.messages):
        following = turn.following.get(digest)
        if following is None:
            body = bodies[digest]
            replied = turn.replies.get(str(body.get("content"))) if body.get("role") == "assistant" else None
            following = turn.following[digest] = _Turn(replied or number)
        if following.call < number and folded == place:
            folded, last = folded + 1, following.call
        turn = following
    whole = str(call.reply.text)
    for text in (whole, without_thoughts(whole)):
        turn.replies.setdefault(text, number)
    return folded, last


def _call_document(
    number: int, call: LedgerCall, sent: list[dict[str, Any]], folded: int, last: int
) -> dict[str, Any]:
    usage = call.reply.usage
    return {
        "number": number,
        **dict(zip(_PLACE, _ledger_key(call.address), strict=True)),
        "at_utc": call.at_utc,
        "model": call.reply.model,
        "temperature": call.request.get("temperature"),
        "effort": call.request.get("effort"),
        "tools": [str(tool["name"]) for tool in _mappings_of(call.request.get("tools")) if "name" in tool],
        "folded": {"messages": folded, "last_in": last or None},
        "sent": sent,
        "reply": _reply_document(call.reply),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost_usd": call.reply.cost_usd,
        "seconds": call.reply.seconds,
    }


def _sent_message(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": str(body.get("role", "")),
        "content": str(body.get("content") or ""),
        "images": len(_as_list(body.get("images"))),
        "tool_calls": _mappings_of(body.get("tool_calls")),
    }


# A stranger's request is JSON of any shape.
def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings_of(value: object) -> list[Mapping[str, Any]]:
    return [item for item in _as_list(value) if isinstance(item, Mapping)]


def _reply_document(reply: ModelReply) -> dict[str, Any]:
    whole = str(reply.text)
    text = without_thoughts(whole)
    inside = whole.removesuffix(text).strip() if text != whole else ""
    return {
        "text": text,
        "thoughts": "\n\n".join(part for part in (str(reply.thoughts).strip(), inside) if part),
        "tool_calls": reply_to_json(reply)["tool_calls"],
        "finish": str(reply.finish),
        "notes": [str(note) for note in reply.notes],
    }


def _tool_lines(calls: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for call in calls:
        arguments = call.get("arguments")
        named = arguments.items() if isinstance(arguments, Mapping) else ()
        lines.append(f"\n-> {call.get('name')}({', '.join(f'{name}={value!r}' for name, value in named)})")
    return "".join(lines)


def _matches(call: Mapping[str, Any], search: str) -> bool:
    words = search.casefold().split()
    if not words:
        return True
    text = "\n".join((call_heading(call), *(part for _, part in call_parts(call)))).casefold()
    return all(word in text for word in words)


def _unanswered(
    store: Store, state: RunState, node: NodeId | None, answered: set[tuple[object, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield requests that were announced and have no reply on record; of those sent several times the last."""
    announced: dict[tuple[object, ...], dict[str, Any]] = {}
    for stored in store.events(state.run_id, kinds=("call.asked", "call.unbilled")):
        event = stored.event
        if not isinstance(event, ev.CallAsked | ev.CallUnbilled) or node not in (None, event.node):
            continue
        key = (*_ledger_key(event), event.request_hash)
        if isinstance(event, ev.CallAsked):
            place = dict(zip(_PLACE, _ledger_key(event), strict=True))
            reason = "no reply: the process ended, or the connection broke"
            announced[key] = {**place, "at_utc": stored.at_utc, "model": event.model, "reason": reason}
        elif key in announced:
            announced[key]["reason"] = event.reason
    yield from (row for key, row in announced.items() if key not in answered)


def _ledger_key(address: Any) -> tuple[Any, ...]:
    return tuple(getattr(address, name) for name in _PLACE)


def _total(counts: Iterator[int | None]) -> int:
    return sum(count or 0 for count in counts)
