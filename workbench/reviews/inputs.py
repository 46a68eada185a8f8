"""Compare the data behind the leaves of a run with those of a new cutoff: its calls asked again, compared by content. No model is asked."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.errors import ProxyError, Refused
from proxies.hashing import canonical_json
from proxies.ledger import CATALOGUE, Address, LedgerRow, MemoryLedger
from workbench.agents.evidence.answer_content import RowChanges, answer_content, row_changes
from workbench.agents.evidence.carried_values import AskedAgain, CarriedLeaf
from workbench.engine.record.state import RunState
from workbench.formatting import counted
from workbench.propositions import NodeId
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.recorded_rows import RecordedCall, recorded_outcome
from workbench.store import ApiLedger, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafInputs:
    """The data of a leaf at a new cutoff."""

    node: NodeId
    #: Its data calls as they are asked now.
    calls: tuple[AskedAgain, ...] = ()
    #: Those with another answer; None where rows cannot be told apart by their day.
    changes: tuple[tuple[str, RowChanges | None], ...] = ()
    #: When the next row is expected, by the distance of the last ones.
    releases: Mapping[str, str]
    #: The last day that its run saw, where its own day is over and its rows decide it.
    settled_from: str = ""
    #: Its own day is over.
    over: bool = False
    #: Why it could not be looked at; "" where it could.
    trouble: str = ""

    @property
    def regrounded(self) -> bool:
        """Whether its evidence is to be collected anew."""
        return bool(self.changes) and not self.settled_from and not self.over

    def reason(self, cutoff: str) -> str:
        """Say why it is collected anew, or why it carries over."""
        if self.trouble:
            return f"could not be checked: {self.trouble}"
        if self.settled_from:
            return f"closed; the rows as of {cutoff} decide the outcome"
        if self.over:
            return "closed; the deciding value is not published yet, so the evidence is kept"
        if not self.calls:
            return "no data that could change, so the evidence is kept"
        if not self.changes:
            return f"{counted(len(self.calls), 'data call')} repeated as of {cutoff}: no change, so the evidence is kept"
        return "; ".join(_change_words(path, rows) for path, rows in self.changes)

    def carried(self, state: RunState, cutoff: str) -> CarriedLeaf:
        """Return the leaf as a review takes it over."""
        return CarriedLeaf(
            run=state.run_id,
            reason=self.reason(cutoff),
            trials={
                str(number): trial.belief
                for (node, number), trial in state.trials.items()
                if node == self.node and trial.belief is not None
            },
            calls=self.calls,
            settled_from=self.settled_from,
        )

    def to_json(self, cutoff: str) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "changed": bool(self.changes),
            "again": self.regrounded,
            "reason": self.reason(cutoff),
            "calls": [
                {"path": path, **({} if rows is None else rows._asdict())} for path, rows in self.changes
            ],
            "releases": dict(self.releases),
        }


def _change_words(path: str, rows: RowChanges | None) -> str:
    if rows is None:
        return f"{path} answers otherwise"
    counts = [
        counted(number, f"{word} row")
        for number, word in ((rows.new, "new"), (rows.revised, "revised"), (rows.removed, "removed"))
        if number
    ]
    return f"{path}: {', '.join(counts) or 'other text'}{f', last {rows.last}' if rows.last else ''}"


async def look(store: Store, state: RunState, cutoff: Cutoff, broker: Broker) -> dict[NodeId, LeafInputs]:
    """Ask the data calls of every leaf of a finished run again, as of a cutoff."""
    # Planning only, like the analyst's own look: what a new run rests on is asked again by it, and recorded there.
    session = broker.session(
        cutoff, MemoryLedger(), strict=state.settings.strict, max_residual=state.settings.max_residual
    )
    answers: dict[bytes, Any] = {}

    async def ask(path: str, params: Mapping[str, Any]) -> Any:
        key = canonical_json([path, params])
        if key not in answers:
            address = Address(
                run="plan", node="P0", trial=1, attempt=1, stage="observe", step=len(answers), retry=0
            )
            answers[key] = (await session.call(path, params, address)).data
        return answers[key]

    ledger = ApiLedger(store)
    return {leaf: await _look_at(leaf, state, cutoff, ledger, ask) for leaf in state.tree.leaves()}


async def _look_at(leaf: NodeId, state: RunState, cutoff: Cutoff, ledger: ApiLedger, ask: Any) -> LeafInputs:
    before = state.parsed_cutoff()
    calls: list[AskedAgain] = []
    changes: list[tuple[str, RowChanges | None]] = []
    releases: dict[str, str] = {}
    answers: list[RecordedCall] = []
    for row in _calls_of(leaf, state, ledger.rows(state.run_id, leaf)):
        assert row.answer is not None, "refused calls are left out"
        params = moved_params(row.asked, before, cutoff)
        try:
            data = await ask(row.path, params)
        except Refused as refusal:
            changes.append((row.path, None))
            answers.append((row.path, params, None))
            calls.append(AskedAgain(path=row.path, params=params, content=f"refused: {refusal}"[:200]))
            continue
        except ProxyError as error:
            return LeafInputs(node=leaf, releases={}, trouble=" ".join(str(error).split())[:300])
        answers.append((row.path, params, data))
        calls.append(AskedAgain(path=row.path, params=params, content=answer_content(data)))
        if calls[-1].content != answer_content(row.answer.data):
            changes.append((row.path, row_changes(row.answer.data, data)))
        if (expected := next_release(data, cutoff)) is not None:
            texts = (value for value in params.values() if isinstance(value, str))
            name = " ".join([row.path, *(text for text in texts if not text[:4].isdigit())])
            releases[name[:120]] = expected
    over, settled = _day_over(
        state.tree[leaf].statement, cutoff, answers, before.last_visible_day.isoformat()
    )
    return LeafInputs(
        node=leaf,
        calls=tuple(calls),
        changes=tuple(changes),
        releases=releases,
        over=over,
        settled_from=settled,
    )


def _calls_of(leaf: NodeId, state: RunState, rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """List the data calls behind a leaf's conclusions, each once."""
    concluded = {
        (number, trial.concluded)
        for (node, number), trial in state.trials.items()
        if node == leaf and trial.belief is not None
    }
    listed: dict[bytes, LedgerRow] = {}
    for row in rows:
        attempt = (row.address.trial, row.address.attempt)
        if attempt in concluded and row.answer is not None and not row.path.startswith(CATALOGUE):
            listed.setdefault(canonical_json([row.path, dict(row.asked)]), row)
    return list(listed.values())


def moved_params(params: Mapping[str, Any], before: Cutoff, now: Cutoff) -> dict[str, Any]:
    """Return the parameters of a call with its cutoff's day or instant moved to the new one: a window that ended there ends there now.

    >>> moved_params({"id": "X", "end": "2018-06-29"}, Cutoff.parse("2018-06-30"), Cutoff.parse("2018-07-07"))
    {'id': 'X', 'end': '2018-07-06'}
    """
    second, new_second = int(before.instant.timestamp()), int(now.instant.timestamp())
    moves: dict[Any, Any] = {
        before.last_visible_day.isoformat(): now.last_visible_day.isoformat(),
        second: new_second,
        str(second): str(new_second),
    }
    if not before.live:
        moves[before.text] = now.instant.isoformat() if now.live else now.text
    return {
        name: moves.get(value, value)
        if isinstance(value, str | int) and not isinstance(value, bool)
        else value
        for name, value in params.items()
    }


def _day_over(
    statement: str, cutoff: Cutoff, answers: Sequence[RecordedCall], seen_until: str
) -> tuple[bool, str]:
    try:
        if read_claim(statement).end > cutoff.last_moment_day:
            return False, ""
    except ClaimRefused:  # a model that collects its evidence again finds out
        return False, ""
    with suppress(ClaimRefused):
        recorded_outcome(statement, answers, seen_until)
        return True, seen_until
    return True, ""


def next_release(data: Any, cutoff: Cutoff) -> str | None:
    """Estimate when a source of dated rows has its next one, by its last ones; None where they do not tell.

    A row that came late goes on to come late: of a month's value that was out after six weeks, the next is expected a month later.
    """
    rows = data if isinstance(data, list) else []
    with suppress(KeyError, TypeError, ValueError):
        days = sorted(date.fromisoformat(str(row["date"])[:10]) for row in rows)
        gaps = sorted((later - earlier).days for earlier, later in zip(days[-12:], days[-11:], strict=False))
        if gaps and (gap := gaps[len(gaps) // 2]) > 0:
            waited = max(0, (cutoff.last_moment_day - days[-1]).days)
            return (days[-1] + timedelta(days=gap * (1 + waited // gap))).isoformat()
    return None
