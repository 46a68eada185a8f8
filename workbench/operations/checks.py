"""Whether a run can be believed: its records, its proofs run again, and what its models were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from workbench.errors import WANTING
from workbench.formatting import counted, percent, sandbox_words
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Drawing, columns
from workbench.operations.fields import RunName

#: Verdicts of checks, the most serious first.
_ORDER = ("bad", "warn", "ok")


class Audit(Operation):
    """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."""

    places = ("run",)

    run: RunName

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the checks, each ``ok``, ``warn`` or ``bad``; ``passed`` is True if none is bad."""
        from workbench.audit.run_audit import audit_run

        return audit_run(home.store, home.state(self.run).run_id)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return how the checks came out, what a reader has to act on first, and where time and money went."""
        yield audit_line(document["checks"])
        checks = sorted(document["checks"], key=lambda check: _ORDER.index(check["verdict"]))
        yield columns(checks, verdict="verdict", check="name", result="found")
        if spent := document["time_and_money"]:
            yield (
                f"The run took {spent['worked_seconds']:.1f} s. Drivers are worked on side by side, so that the seconds"
                " of the parts sum to more; waiting is for a kernel, a model or another driver."
            )
            yield columns(
                spent["parts"],
                time_and_money="name", seconds="seconds .1f", share="share .0%", count="count ,", of="unit", US_dollars="usd .4f",
            )  # fmt: skip

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where a check fails."""
        return 0 if document["passed"] else WANTING


def audit_line(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return how the checks came out, in a sentence.

    >>> audit_line([{"verdict": "ok", "name": "cost"}, {"verdict": "bad", "name": "cutoff of every call"}])
    '1 of 2 checks fails: cutoff of every call.'
    >>> audit_line([{"verdict": "ok", "name": "cost"}, {"verdict": "warn", "name": "sandbox"}])
    'Nothing fails in 2 checks; look at 1: sandbox.'
    """
    names = {
        verdict: [check["name"] for check in checks if check["verdict"] == verdict] for verdict in _ORDER
    }
    if bad := names["bad"]:
        return f"{len(bad)} of {len(checks)} checks {'fails' if len(bad) == 1 else 'fail'}: {', '.join(bad)}."
    if warned := names["warn"]:
        return f"Nothing fails in {len(checks)} checks; look at {len(warned)}: {', '.join(warned)}."
    return f"All {len(checks)} checks hold."


class Verify(Operation):
    """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline.

    If the records already differ, or no proof has a notebook, no cell is run. The level that stands in the run's records is not used.
    """

    tool = "Check that proofs still stand: records compared, cells run again in a sealed kernel from stored data."
    places = ("run", "node")
    short = ()
    unlisted = ("isolation",)
    person = ("isolation",)

    run: RunName
    node: str | None = None
    """One driver; all without it."""
    isolation: str | None = None
    """Sandbox level: namespaces, landlock, none; without it the best sealed level that works here."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return what differs.

        ``isolation`` is the level of the re-run's kernels, null if nothing was re-run. ``p`` is what the proofs conclude as they were
        checked now, by the stored rules, ``drift`` its distance to ``recorded_p`` (both of ``node``, the claim unless a leaf was
        named), ``drifting`` the leaves that conclude otherwise. ``signed`` says who signed the package that the run came in.
        """
        from workbench.audit.drift import drift
        from workbench.engine.proof_check import verify_run
        from workbench.engine.run_settings import check_level
        from workbench.signing_keys import signer_json

        if self.isolation is not None:
            check_level(self.isolation)
        state = home.state(self.run)
        result = await verify_run(home.store, state.run_id, self.node, isolation=self.isolation, state=state)
        differing = result.differing
        # Where records differ nothing was re-run; evidence without a notebook is verified by itself.
        rerun = result.isolation is not None or not differing
        return {
            "verified": not differing,
            "proofs": len(result.proofs),
            "cells": sum(check.outcome.cells for check in result.proofs),
            "differing": differing,
            "unrepeatable": [
                asdict(fault) for check in result.proofs for fault in check.faults(check.outcome.unrepeatable)
            ],
            "advisory": [
                asdict(fault) for check in result.proofs for fault in check.faults(check.outcome.advisory)
            ],
            "isolation": result.isolation,
            "signed": signer_json(result.signer),
            **drift(state, result.proofs, rerun=rerun),
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what differs, what the proofs conclude now, and where they were run."""
        from workbench.signing_keys import signed_line

        for row in document["differing"]:
            yield f"differs   {row['node'] or 'run'} {row['check']} {row['cell'] or ''}: {row['what']}"
        for row in document["unrepeatable"]:
            yield f"unlike    {row['node']} {row['cell']}: {row['what']}"
        for row in document["advisory"]:
            yield f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (another processor or other package versions than the run's)"
        word = "verified" if document["verified"] else "not verified"
        yield f"{word}: {document['proofs']} proofs, {document['cells']} cells, {counted(len(document['differing']), 'difference')}"
        yield drift_line(document)
        yield signed_line(document["signed"])
        yield rerun_line(document["isolation"], verified=document["verified"])

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where something differs."""
        return 0 if document["verified"] else WANTING


def drift_line(report: Mapping[str, Any]) -> str:
    """Return what the proofs conclude now, and how far that lies from the record."""
    place = report["node"]
    if report["p"] is None:
        return f"{place} {percent(report['recorded_p'])} on record; the re-run concludes nothing that can be compared"
    line = f"{place} {percent(report['p'])} as re-run, {percent(report['recorded_p'])} on record: drift {100 * report['drift']:+.2g} points"
    if report["drifting"]:
        rows = [
            f"{row['node']} {percent(row['recorded_p'])} to {percent(row['p'])}" for row in report["drifting"]
        ]
        line += f" ({', '.join(rows[:6])})"
    return line.replace("drift +0 points", "no drift")


def rerun_line(isolation: str | None, *, verified: bool) -> str:
    """Return the line that says where the cells were re-run, or why no kernel was started."""
    if isolation is None and verified:
        return "nothing was re-run: no proof has a notebook, each was compared with its records by its own evidence"
    if isolation is None:
        return "nothing was re-run: what differs was found without it"
    if isolation == "none":
        return "Warning: the cells were re-run unsealed (isolation none), with your rights, as you asked"
    return f"re-run in a sandbox, {sandbox_words(isolation)}"


class Transcript(Operation):
    """Print what a run or driver concluded, then every model call: what was sent, thoughts and reply, tokens, price, time.

    What an earlier call shows is folded. An imported run is a stranger's words: nothing in it steers the terminal.
    """

    places = ("run", "node")

    run: RunName
    node: str | None = None
    """One driver; the whole run without it."""
    search: str = ""
    """Only calls in which all these words occur."""
    stage: str = ""
    """Only calls of one stage, such as analyze, step or conclude."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the calls as sent and answered."""
        from workbench.views.transcript import transcript

        return transcript(home.store, home.state(self.run), self.node, search=self.search, stage=self.stage)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what was concluded and what the checks found, then each call below its heading."""
        from workbench.views.transcript import call_heading, call_parts, transcript_line, unanswered_line

        yield f"{document['statement']}\nrun {document['run_id']}: {transcript_line(document)}"
        yield columns(
            document["found"], driver="id", probability="p %", statement="statement", key_factor="key_factor"
        )
        for finding in document["findings"]:
            yield f"finding   {finding['node']}, {finding['check']}: {finding['words']}"
        yield from (f"no reply  {unanswered_line(row)}" for row in document["unanswered"])
        for call in document["calls"]:
            parts = [f"--- {name}\n{text}" for name, text in call_parts(call)]
            yield Drawing([f"=== {call_heading(call)}", *parts])
