"""The two ledgers: every model's replies and every data call's answers, at the address of the request.

An address is (run, node, trial, attempt, stage, step, retry). A stored answer is given again only at the same address and only
when the request there hashes the same, so trials stay independent and a resumed run asks for nothing twice. A request that
changed (another prompt version, an edited tree) is simply asked: its new answer is filed beside the old.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from proxies.ledger import Address, Answer, LedgerRow
from workbench.models.base import ModelReply, ModelRequest, Usage, reply_from_json, reply_to_json, to_json
from workbench.store.database import Store, utc_now
from workbench.store.database_schema import insert_row
from workbench.store.errors import StoreCorrupt

_AUDIT = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCall:
    """One model call in the ledger: its request as sent, without the messages, whose hashes stand apart, and its reply."""

    address: Address
    at_utc: str
    request_hash: str
    request: dict[str, Any]
    messages: tuple[str, ...]
    reply: ModelReply


_SAME_ADDRESS = (
    "run_id = ? AND node = ? AND trial = ? AND attempt = ? AND stage = ? AND step = ? AND retry = ?"
)


_PLACE = ("node", "trial", "attempt", "stage", "step", "retry")


def _address_key(address: Address) -> tuple[object, ...]:
    return (address.run, *(getattr(address, name) for name in _PLACE))


def _address_of(row: Any) -> Address:
    return Address(run=row["run_id"], **{name: row[name] for name in _PLACE})


class ModelLedger:
    """Every model reply, by address."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _reply(self, row: sqlite3.Row) -> ModelReply:
        try:
            return reply_from_json(self._store.json(row["reply"]))
        except ValueError:
            raise StoreCorrupt(f"the body filed under {row['reply']} is no reply of a model") from None

    def _request(self, digest: str) -> dict[str, Any]:
        request = self._object(digest, "request", messages=list, nodes=list)
        if not request["messages"]:
            raise StoreCorrupt(f"the request filed under {digest} holds no message")
        return request

    def message(self, digest: str) -> dict[str, Any]:
        """Return one message of a request by its hash; raises ``StoreCorrupt`` for an altered body."""
        return self._object(digest, "message", role=str, content=str)

    def _object(self, digest: str, what: str, **fields: type) -> dict[str, Any]:
        value = self._store.json(digest)
        if not isinstance(value, dict) or not all(
            isinstance(value.get(name), kind) for name, kind in fields.items()
        ):
            raise StoreCorrupt(f"the body filed under {digest} is no {what}")
        return value

    def holds(self, address: Address) -> bool:
        """Whether any reply is recorded at this address, to whatever request."""
        query = f"SELECT 1 FROM model_calls WHERE {_SAME_ADDRESS} LIMIT 1"
        return bool(self._store.query(query, _address_key(address)))

    def recall(self, address: Address, request_hash: str) -> ModelReply | None:
        """Return the reply recorded at this address for this very request, or None."""
        rows = self._store.query(
            f"SELECT reply FROM model_calls WHERE {_SAME_ADDRESS} AND request_hash = ? ORDER BY id DESC LIMIT 1",
            (*_address_key(address), request_hash),
        )
        return self._reply(rows[0]) if rows else None

    def recall_otherwise(
        self, address: Address, request: ModelRequest, names: Iterable[str]
    ) -> ModelReply | None:
        """Return the reply recorded at this address for this request to one of these models, sampled in another way; or None.

        Called where ``recall`` has none: a run may go on with another temperature, effort or length limit, and has paid for what
        was asked before.
        """
        rows = self._store.query(
            f"SELECT request, request_hash, reply FROM model_calls WHERE {_SAME_ADDRESS} ORDER BY id DESC",
            _address_key(address),
        )
        for row in rows:
            sampling = self._request(row["request"])
            same = replace(
                request,
                temperature=sampling["temperature"],
                max_tokens=sampling["max_tokens"],
                effort=sampling.get("effort"),
            )
            if row["request_hash"] in {same.canonical_hash(name) for name in names}:
                return self._reply(row)
        return None

    def record(self, address: Address, request: ModelRequest, request_hash: str, reply: ModelReply) -> None:
        """File a reply; committed when this returns.

        A dialogue repeats its earlier turns in every request, so each message is a body of its own and the request keeps
        their hashes: the ledger grows with the dialogue, not with its square.
        """
        document: dict[str, Any] = to_json(request)
        document["messages"] = [
            self._store.put_body(orjson.dumps(message)) for message in document["messages"]
        ]
        # Bodies before the row that names them: a process killed in between leaves a body that nobody names, which is
        # harmless, and never a row without its body.
        request_body = self._store.put_body(orjson.dumps(document))
        reply_body = self._store.put_body(orjson.dumps(reply_to_json(reply)))
        with self._store.transaction() as db:
            insert_row(
                db,
                "model_calls",
                (
                    *_address_key(address),
                    utc_now(),
                    request_hash,
                    request_body,
                    reply_body,
                    reply.model,
                    reply.usage.input_tokens,
                    reply.usage.output_tokens,
                    reply.usage.cached_tokens,
                    reply.cost_usd,
                    reply.seconds,
                ),
            )

    def trial_costs(self, run_id: str) -> dict[str, float]:
        """Return the US dollars of one trial per leaf, all its attempts counted.

        The sensitivity report prices the next trial with it. A leaf with a call of unknown price is left out.
        """
        rows = self._store.query(
            # count(cost_usd) leaves out unknown prices, and so does sum(): without the comparison of the two counts a part
            # would pass for the whole. Trial 0 is the synthesizer's and the analyzer's.
            "SELECT node, count(*) AS n, count(cost_usd) AS priced, sum(cost_usd) AS total, count(DISTINCT trial) AS trials"
            " FROM model_calls WHERE run_id = ? AND trial >= 1 GROUP BY node",
            (run_id,),
        )
        return {
            row["node"]: float(row["total"]) / int(row["trials"]) for row in rows if row["n"] == row["priced"]
        }

    def last_attempt(self, run_id: str) -> int:
        """Return the highest attempt that any reply of a run has, 0 without one; refits number theirs above it."""
        rows = self._store.query("SELECT max(attempt) AS last FROM model_calls WHERE run_id = ?", (run_id,))
        return int(rows[0]["last"] or 0)

    def last_reply(self, place: Address) -> ModelReply | None:
        """Return the newest reply of a stage of one dialogue, whatever its step and retry, or None."""
        rows = self._store.query(
            "SELECT reply FROM model_calls WHERE run_id = ? AND node = ? AND trial = ? AND attempt = ? AND stage = ?"
            " ORDER BY id DESC LIMIT 1",
            _address_key(place)[:5],
        )
        return self._reply(rows[0]) if rows else None

    def attempts(self, run_id: str) -> list[Address]:
        """Return the addresses of the attempts at leaves of a run, in the order they began; stage and step are empty."""
        rows = self._store.query(
            "SELECT node, trial, attempt FROM model_calls WHERE run_id = ? AND trial > 0"
            " GROUP BY node, trial, attempt ORDER BY min(id)",
            (run_id,),
        )
        return [
            Address(run=run_id, node=row["node"], trial=row["trial"], attempt=row["attempt"]) for row in rows
        ]

    def nodes(self, run_id: str) -> list[str]:
        """Return the nodes at which a run asked a model."""
        rows = self._store.query("SELECT DISTINCT node FROM model_calls WHERE run_id = ?", (run_id,))
        return [str(row["node"]) for row in rows]

    def dialogue(self, place: Address) -> list[tuple[Address, list[dict[str, Any]], ModelReply]]:
        """Return all replies of one attempt in the order they came, each with its address and the messages it answers.

        ``place`` names run, node, trial and attempt. Raises ``StoreCorrupt`` for an altered body.
        """
        rows = self._store.query(
            "SELECT stage, step, retry, request, reply FROM model_calls"
            " WHERE run_id = ? AND node = ? AND trial = ? AND attempt = ? ORDER BY id",
            _address_key(place)[:4],
        )
        messages: dict[str, dict[str, Any]] = {}

        def message(body: str) -> dict[str, Any]:
            if body not in messages:
                messages[body] = self.message(body)
            return messages[body]

        return [
            (
                replace(place, stage=row["stage"], step=row["step"], retry=row["retry"]),
                [message(body) for body in self._request(row["request"])["messages"]],
                self._reply(row),
            )
            for row in rows
        ]

    def calls(
        self, run_id: str, node: str | None = None, *, stage: str | None = None
    ) -> Iterator[LedgerCall]:
        """Yield every call of a run, or of one node or stage, in the order of their replies; transcripts and audits are made of them.

        Raises ``StoreCorrupt`` for an altered body.
        """
        asked = {"run_id": run_id, "node": node, "stage": stage}
        values = {name: value for name, value in asked.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in values)
        rows = self._store.query(
            f"SELECT * FROM model_calls WHERE {where} ORDER BY id", tuple(values.values())
        )
        for row in rows:
            request = self._request(row["request"])
            yield LedgerCall(
                address=_address_of(row),
                at_utc=row["at_utc"],
                request_hash=row["request_hash"],
                messages=tuple(request.pop("messages")),
                request=request,
                # What is counted, by the table's own types: a stranger's body may say anything.
                reply=replace(
                    self._reply(row),
                    model=row["model"],
                    usage=Usage(
                        input_tokens=row["input_tokens"],
                        output_tokens=row["output_tokens"],
                        cached_tokens=row["cached_tokens"],
                    ),
                    cost_usd=row["cost_usd"],
                    seconds=row["seconds"],
                ),
            )

    def following(self, address: Address) -> list[ModelReply]:
        """Return the replies of an attempt from the first at this address on; empty where none is there.

        Raises ``StoreCorrupt`` for an altered body.
        """
        rows = self._store.query(
            "SELECT reply FROM model_calls WHERE run_id = ? AND node = ? AND trial = ? AND attempt = ?"
            f" AND id >= (SELECT min(id) FROM model_calls WHERE {_SAME_ADDRESS}) ORDER BY id",
            (*_address_key(address)[:4], *_address_key(address)),
        )
        return [self._reply(row) for row in rows]

    def prompts(self, run_id: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield node, stage, hash and content of every message sent to a run's models, but for their own; each once a place.

        Raises ``StoreCorrupt`` for an altered body.
        """
        rows = self._store.query(
            "SELECT node, stage, request FROM model_calls WHERE run_id = ? ORDER BY id", (run_id,)
        )
        seen: set[tuple[str, str, str]] = set()
        for row in rows:
            for digest in self._request(row["request"])["messages"]:
                place = (str(row["node"]), str(row["stage"]), str(digest))
                if place in seen:
                    continue
                seen.add(place)
                message = self.message(digest)
                if message["role"] != "assistant":
                    yield *place, str(message["content"])

    def count(self, run_id: str) -> int:
        """Count the replies this run paid for."""
        return int(
            self._store.query("SELECT count(*) AS n FROM model_calls WHERE run_id = ?", (run_id,))[0]["n"]
        )

    def spent(self, run_id: str, node: str | None = None) -> tuple[float, int, int]:
        """Return US dollars, tokens and replies of a run, or of one leaf's trials; unknown prices count as nothing."""
        where, values = ("", (run_id,)) if node is None else (" AND node = ? AND trial >= 1", (run_id, node))
        row = self._store.query(
            "SELECT coalesce(sum(cost_usd), 0.0) AS usd, count(*) AS n,"
            " coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0) AS tokens"
            f" FROM model_calls WHERE run_id = ?{where}",
            values,
        )[0]
        return float(row["usd"]), int(row["tokens"]), int(row["n"])

    def seconds(self, run_id: str) -> tuple[float, float]:
        """Add up the seconds of a run's replies, side by side or not: those of leaves, and the others."""
        row = self._store.query(
            "SELECT coalesce(sum(CASE WHEN trial >= 1 THEN seconds END), 0.0) AS leaves,"
            " coalesce(sum(CASE WHEN trial >= 1 THEN 0.0 ELSE seconds END), 0.0) AS others"
            " FROM model_calls WHERE run_id = ?",
            (run_id,),
        )[0]
        return float(row["leaves"]), float(row["others"])

    def answered(self, run_id: str) -> dict[tuple[object, ...], int]:
        """Count the replies to each request of a run, by address (without the run) and request hash."""
        place = "node, trial, attempt, stage, step, retry, request_hash"
        rows = self._store.query(
            f"SELECT {place}, count(*) AS n FROM model_calls WHERE run_id = ? GROUP BY {place}", (run_id,)
        )
        return {tuple(row)[:-1]: int(row["n"]) for row in rows}

    def spending(self, run_id: str) -> list[dict[str, Any]]:
        """Return tokens, their cached part and US dollars of each node's calls; the audit shows them.

        A sum is None where a provider did not report all of its parts.
        """
        counts = ("input_tokens", "cached_tokens", "output_tokens", "cost_usd")
        sums = ", ".join(f"count({name}) AS n_{name}, sum({name}) AS {name}" for name in counts)
        rows = self._store.query(
            f"SELECT node, count(*) AS n, {sums} FROM model_calls WHERE run_id = ? GROUP BY node", (run_id,)
        )
        return [
            {
                "node": row["node"],
                "calls": row["n"],
                **{name: row[name] if row[f"n_{name}"] == row["n"] else None for name in counts},
            }
            for row in rows
        ]

    def cost(self, run_id: str) -> float | None:
        """Add up the US dollars of this run so far; None when the price of any call is unknown."""
        row = self._store.query(
            "SELECT count(*) AS n, count(cost_usd) AS priced, coalesce(sum(cost_usd), 0.0) AS total"
            " FROM model_calls WHERE run_id = ?",
            (run_id,),
        )[0]
        return float(row["total"]) if row["n"] == row["priced"] else None


def _column(row: Any, name: str, kind: type) -> Any:
    """Read JSON of a data call's row; raises ``StoreCorrupt`` for what no workbench wrote."""
    try:
        value = orjson.loads(row[name])
    except (ValueError, TypeError):
        value = None
    if not isinstance(value, kind):
        raise StoreCorrupt(f"a row of the ledger of data calls was altered: its {name} cannot be read")
    return value


class _StoredAnswer(Answer):
    @property
    def data(self) -> Any:
        try:
            return super().data
        except orjson.JSONDecodeError:
            raise StoreCorrupt("an answer on the ledger of data calls is no JSON") from None


class ApiLedger:
    """Every data call, by address; the broker's ``Ledger``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """Return the row recorded at this address for this very request, or None."""
        rows = self._store.query(
            f"SELECT * FROM api_calls WHERE {_SAME_ADDRESS} AND request_hash = ? ORDER BY id DESC LIMIT 1",
            (*_address_key(address), request_hash),
        )
        return self._row(rows[0]) if rows else None

    def record(self, row: LedgerRow) -> None:
        """File a call, answered or refused; committed when this returns."""
        # one column for both: the agent's meta, and the audit's under a name that no answer's meta has
        meta = None
        if row.answer is not None:
            meta = orjson.dumps({**row.answer.meta, _AUDIT: dict(row.audit)}).decode()
        with self._store.transaction() as db:  # one commit for both: it is most of the cost of a small call
            answer = self._store.put_body(row.answer.body) if row.answer is not None else None
            insert_row(
                db,
                "api_calls",
                (
                    *_address_key(row.address),
                    row.at_utc,
                    row.path,
                    orjson.dumps(row.asked, default=str).decode(),
                    orjson.dumps(row.sent, default=str).decode(),
                    row.cutoff,
                    row.request_hash,
                    answer,
                    meta,
                    row.refused,
                ),
            )

    def rows(self, run_id: str, node: str | None = None) -> list[LedgerRow]:
        """Return a run's calls in the order they were made, those of one node if named."""
        where, values = (
            ("run_id = ?", (run_id,)) if node is None else ("run_id = ? AND node = ?", (run_id, node))
        )
        return [
            self._row(row)
            for row in self._store.query(f"SELECT * FROM api_calls WHERE {where} ORDER BY id", values)
        ]

    def content_hashes(self, run_id: str) -> set[str]:
        """Return the hashes of the data that a run read, for its manifest; no answer itself is read."""
        rows = self._store.query(
            "SELECT DISTINCT meta FROM api_calls WHERE run_id = ? AND answer IS NOT NULL", (run_id,)
        )
        # The hash is in the meta, so a run over large answers writes its manifest without loading one of them.
        notes = (_column(row, "meta", dict) for row in rows)
        return {digest for note in notes if isinstance(digest := note.get("content_hash"), str)}

    def answers(self, run_id: str) -> list[tuple[str, int, int, str, str | None, int]]:
        """Return node, trial, attempt and path of a run's calls, the hash of each answer and its bytes; no answer itself is read.

        None and 0 for a refused call; calls that differ in none of these are one row.
        """
        rows = self._store.query(
            "SELECT DISTINCT node, trial, attempt, path, answer, coalesce(length(data), 0) AS size"
            " FROM api_calls LEFT JOIN bodies ON hash = answer WHERE run_id = ?",
            (run_id,),
        )
        return [tuple(row) for row in rows]

    def answered_calls(self, run_id: str, node: str | None = None) -> list[tuple[str, str, str, str, int]]:
        """Return node, path, arguments as JSON, hash and bytes of each answer, in order, of one node if named; no answer itself is read."""
        where, values = ("", (run_id,)) if node is None else (" AND node = ?", (run_id, node))
        rows = self._store.query(
            "SELECT node, path, asked, answer, length(data) AS size FROM api_calls JOIN bodies ON hash = answer"
            f" WHERE run_id = ?{where} ORDER BY api_calls.id",
            values,
        )
        return [tuple(row) for row in rows]

    def seconds(self, run_id: str) -> tuple[float, float]:
        """Add up the seconds that a run waited for its answered data calls: those of cells, and the others; no answer is read."""
        rows = self._store.query(
            "SELECT stage, meta FROM api_calls WHERE run_id = ? AND answer IS NOT NULL", (run_id,)
        )
        cells = others = 0.0
        for row in rows:
            spent = float(_column(row, "meta", dict).get(_AUDIT, {}).get("seconds", 0.0))
            cells, others = (cells + spent, others) if row["stage"] == "cell" else (cells, others + spent)
        return cells, others

    def paths(self, run_id: str) -> set[str]:
        """Return the endpoints that answered this run; no answer itself is read."""
        rows = self._store.query(
            "SELECT DISTINCT path FROM api_calls WHERE run_id = ? AND answer IS NOT NULL", (run_id,)
        )
        return {row["path"] for row in rows}

    def count(self, run_id: str) -> int:
        """Count the data calls this run made."""
        return int(
            self._store.query("SELECT count(*) AS n FROM api_calls WHERE run_id = ?", (run_id,))[0]["n"]
        )

    def _row(self, row: Any) -> LedgerRow:
        answer, audit = None, {}
        if row["answer"] is not None:
            meta = _column(row, "meta", dict)
            audit = meta.pop(_AUDIT, {})
            answer = _StoredAnswer(body=self._store.body(row["answer"]), meta=meta)
        return LedgerRow(
            address=_address_of(row),
            at_utc=row["at_utc"],
            path=row["path"],
            asked=_column(row, "asked", dict),
            sent=_column(row, "sent", list),
            cutoff=row["cutoff"],
            answer=answer,
            refused=row["refused"],
            request_hash=row["request_hash"],
            audit=audit,
        )
