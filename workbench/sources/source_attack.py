"""Attack a source by the law of two worlds: copies that differ after a cutoff must give the same bytes before it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from proxies.json_text import Row
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import DATE, KNOWN, PLACE, OwnManifest, own_folder
from workbench.errors import Option, UsageError, sentence
from workbench.sources.new_source import NewSource, day_text
from workbench.sources.own_store import is_intact, source_named, store_source
from workbench.sources.source_check import (
    Finding,
    ask_all,
    finding,
    findings_document,
    row_findings,
    stored_rows,
)

if TYPE_CHECKING:
    import pandas as pd


#: A path and its parameters.
_Call = tuple[str, Row]


async def attack_source(home: Path, name: str) -> Row:
    """List what a source reveals of the time after past cutoffs: ``workbench source attack``.

    Beside `row_findings`, copies of its newest rows are asked as of three cutoffs: with the later rows cut off, with other later
    rows, with later revisions of earlier dates, with later rows renamed. What is revised in place shows in any source without
    vintages; that is said, and is why its residual risk is high.

    Raises `UsageError`: There is no such source, or too little of it.
    """
    manifest = source_named(home, name)
    if not is_intact(home, manifest):
        raise UsageError(f"{name} has no {manifest.counted} to test: add the source again")
    frame = stored_rows(home, manifest, most=5_000)
    static = manifest.policy.kind == "static"
    moments = frame[DATE if static else KNOWN].astype("datetime64[us]").drop_duplicates().sort_values()
    if len(moments) < 4:
        raise UsageError(
            f"{name} has {len(moments)} moments at which {manifest.counted} became known: too few to attack"
        )
    findings = row_findings(frame, manifest)
    for share in (0.25, 0.5, 0.75):
        cutoff = _cutoff(moments.iloc[int(share * len(moments))])
        findings += await _worlds(frame, manifest, cutoff)
    if manifest.kind == "rows" and manifest.policy.kind != "vintage":
        findings.append(
            finding("note", "a value that is revised in place shows at every cutoff", sentence("where values are revised: a file of vintages, ", Option("vintage", "COLUMN")))
        )  # fmt: skip
    unique = {item["words"].split(" (cutoff")[0]: item for item in reversed(findings)}
    return findings_document(name, manifest.version, list(reversed(unique.values())))


async def _worlds(frame: pd.DataFrame, manifest: OwnManifest, cutoff: Cutoff) -> list[Finding]:
    import pandas as pd

    instant = pd.Timestamp(cutoff.instant.replace(tzinfo=None))
    static = manifest.policy.kind == "static"
    late = frame[DATE if static else KNOWN].astype("datetime64[us]") > instant
    if not late.any() or late.all():
        return []
    calls = _agent_calls(frame, manifest)
    before = await _world_answers(frame, manifest, cutoff, calls)
    findings = []
    for world, altered in _changed(frame, late, manifest).items():
        after = await _world_answers(altered, manifest, cutoff, calls)
        changed = [call for call in before if before[call] != after[call]]
        if changed:
            policy = "static" if static else manifest.policy.kind
            findings.append(
                finding(
                    "leaks",
                    f"{world} show: {len(changed)} of {len(before)} calls answer otherwise (cutoff {cutoff.text[:10]}, {changed[0]})",
                    sentence(
                        *(Option(policy), ": say when a row became known (", Option("known", "COLUMN"), ", "),
                        *(Option("vintage", "COLUMN"), " or ", Option("lag"), ")"),
                    ),
                )
            )
    return findings


def _changed(frame: pd.DataFrame, late: pd.Series[Any], manifest: OwnManifest) -> dict[str, pd.DataFrame]:
    import pandas as pd

    numbers = [column.name for column in manifest.columns if column.type == "number"]
    texts = [column.name for column in manifest.columns if column.type == "text"]
    values, renamed = frame.copy(), frame.copy()
    for name in numbers:
        values.loc[late, name] = values.loc[late, name] * 3 + 1_000_003
    for name in texts:
        renamed.loc[late, name] = "renamed"
    worlds = {"later rows": frame[~late], "later values": values}
    if texts:
        worlds["later names"] = renamed
    if manifest.policy.kind != "static":
        # the newest rows of before, said again after the cutoff
        again = frame[~late].tail(20).copy()
        again[KNOWN] = frame.loc[late, KNOWN].max()
        again[PLACE] = range(len(frame), len(frame) + len(again))
        for name in numbers:
            again[name] = again[name] * 2 + 7
        worlds["later revisions"] = pd.concat([frame, again], ignore_index=True)
    return worlds


async def _world_answers(
    frame: pd.DataFrame, manifest: OwnManifest, cutoff: Cutoff, calls: Sequence[_Call]
) -> dict[str, bytes]:
    """Return the bytes of every call that an agent could make in a world, without the time of fetching."""
    with tempfile.TemporaryDirectory(prefix="workbench-attack-") as folder:
        home = Path(folder)
        digest = hashlib.sha256(str(id(frame)).encode()).hexdigest()
        # what the manifest says of rows, first and last is for its owner, and no call tells it
        world = manifest.model_copy(update={"version": digest, "data_hash": digest, "rows": len(frame)})
        store_source(
            home, NewSource(manifest=world, rows=frame.sort_values([DATE, KNOWN, PLACE], kind="stable"))
        )
        fixed = datetime(2000, 1, 1, tzinfo=UTC)
        settings = ProxySettings(own_folder=own_folder(home), reader="person", now=lambda: fixed)
        replies = await ask_all(settings, cutoff, calls)
    names = [
        ", ".join(f"{key}={value}" for key, value in params.items()) or "all rows" for _, params in calls
    ]
    return {
        name: str(reply).encode() if isinstance(reply, ProxyError) else reply.body + orjson.dumps(reply.meta)
        for name, reply in zip(names, replies, strict=True)
    }


def _agent_calls(frame: pd.DataFrame, manifest: OwnManifest) -> Sequence[_Call]:
    if manifest.kind == "documents":
        return _document_calls(frame, manifest)

    middle, last = (day_text(frame[DATE].iloc[place], manifest) for place in (len(frame) // 2, -1))
    calls: list[Row] = [
        {},
        {"limit": 3},
        {"start": middle},
        {"end": middle},
        {"start": last},
    ]
    calls += [{"column": column.name, "limit": 50} for column in manifest.columns[:20]]
    if manifest.by:
        calls += [{"by": str(value)} for value in frame[manifest.by].drop_duplicates().tail(5)]
    return [(manifest.path, params) for params in calls]


def _document_calls(frame: pd.DataFrame, manifest: OwnManifest) -> Sequence[_Call]:
    """List searches for frequent words and for words of the latest pages, and reads of some documents."""
    pages = frame["text"].str.casefold().str.findall(r"[^\W\d]{4,}")
    counts = pages.explode().value_counts()
    late = [word for word in dict.fromkeys(pages.iloc[-1] or ())][:10]
    words = [*counts.index[:10], *late]
    calls: list[_Call] = [(manifest.path, {"query": word, "limit": 50}) for word in dict.fromkeys(words)]
    calls.append((manifest.path, {"query": " ".join(words)[:300]}))
    names = frame["document"].drop_duplicates()
    return calls + [
        (manifest.pages_path, {"document": name, "limit": 200}) for name in (*names.head(5), *names.tail(5))
    ]


def _cutoff(moment: Any) -> Cutoff:
    return Cutoff.parse(f"{moment.floor('s').isoformat()}Z")
