"""What only a client of the server asks: the runs that it may see, their proofs, and proposals, which a person decides on."""

from typing import Annotated, Any

from pydantic import Field

from proxies.catalogue import Availability, api_doc, api_map, api_search
from sandbox.errors import JournalBroken
from sandbox.record.journal import ends_at, read_journal
from sandbox.record.session_notebook import render_notebook
from workbench.agents.evidence.notebook import proof_notebook
from workbench.engine.proof_check import proof_context, stored_evidence
from workbench.engine.record.state import RunState
from workbench.environment import proxy_settings
from workbench.errors import UsageError, command
from workbench.mcp.client_home import ClientHome
from workbench.operations.base import Home, Operation
from workbench.operations.fields import RunName
from workbench.propositions.values import MAX_STATEMENT
from workbench.store import utc_now
from workbench.synthesis.whatif.edits import Edit, play
from workbench.terminal import printable
from workbench.whatif.edit_request import EditRequest
from workbench.whatif.run_edits import require_grounded, what_if
from workbench.whatif.tree_documents import scenario_table

_LONGEST_CELL = 8_000  # characters of one source or output

ScenarioName = Annotated[str, Field(min_length=1, max_length=100)]


class _OfClient(Operation):
    def answer(self, home: Home) -> Any:
        assert isinstance(home, ClientHome)
        return self.told(home)

    def told(self, home: ClientHome) -> Any:
        raise NotImplementedError


class ApiDocs(_OfClient):
    """Return the pages of endpoints, the endpoints that match some words, or the map of all sources."""

    tool = "What call_api can be asked: pages of endpoints, those that match some words, or the map of all sources."

    paths: list[str] = Field(default_factory=list, max_length=25)
    """Pages of these endpoints."""
    words: Annotated[str, Field(max_length=400)] = ""
    """Or: endpoints that match these words."""

    def told(self, home: ClientHome) -> str:
        """Return Markdown."""
        settings = proxy_settings(home.environ, home.folder)
        catalogue = settings.catalogue()
        works = Availability.of(settings.keys, home.runs.cutoff, network=settings.network)
        if self.paths:
            return api_doc(catalogue, self.paths, works)
        return api_search(catalogue, self.words, works) if self.words.strip() else api_map(catalogue, works)


class ListRuns(_OfClient):
    """List the newest visible runs, the newest last."""

    tool = "The analyses that can be read: id, claim, cutoff and probability of each."

    search: Annotated[str, Field(max_length=400)] = ""
    """Only runs in which all these words occur."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    """The newest so many."""

    def told(self, home: ClientHome) -> dict[str, Any]:
        """Return the rows."""
        return {"runs": home.runs.rows(home.store, self.search, self.limit)}


class ReadTree(_OfClient):
    """Return a run with its nodes and the scenarios that the client may see."""

    tool = "One analysis: its claim and drivers with probabilities, the rule of each inner one, which proofs there are."

    run: RunName

    def told(self, home: ClientHome) -> dict[str, Any]:
        """Return the tree as it may be seen; raises ``NoSuchRun``."""
        state = home.state(self.run)
        proposed = [
            {"name": name, "edits": len(edits), "root": play(state.tree, edits).tree.root.p}
            for name, edits in home.proposals.of(state.run_id).items()
        ]
        document = {**home.runs.document(home.store, state), "proposed": proposed}
        if home.runs.cutoff.live:
            document["scenarios"] = scenario_table(state.tree, state.scenarios, now=utc_now())
        return document


class ReadProof(_OfClient):
    """Return a concluded trial's belief, report and cells, cut where they are long."""

    tool = "The evidence for a driver: report, and the cells of its notebook with what they printed."

    run: RunName
    node: Annotated[str, Field(max_length=100)]
    """Id of a driver, such as P2.1; P0 is the claim."""
    trial: Annotated[int, Field(ge=1, le=9999)] = 1
    """Which trial of the driver."""

    def told(self, home: ClientHome) -> dict[str, Any]:
        """Return the proof as the log vouches for it; raises ``NoSuchRun``, or ``UsageError`` without one."""
        state, node = home.state(self.run), self.node
        proposition, concluded = state.tree[node], state.trial(node, self.trial)
        belief = concluded.belief
        if belief is None:
            leaves = ", ".join(sorted({leaf for (leaf, _), each in state.trials.items() if each.belief}))
            raise UsageError(
                f"{node} has no concluded proof of trial {self.trial}; proofs are there for {leaves}"
            )
        return {
            "run_id": state.run_id,
            "node": node,
            "trial": self.trial,
            "statement": proposition.statement,
            "p": belief.p,
            "key_factor": belief.key_factor,
            "report": _cut(belief.report),
            "verified": concluded.verified,
            "cells": [_cell(cell) for cell in self._notebook(home, state).cells],
        }

    def _notebook(self, home: ClientHome, state: RunState) -> Any:
        """Read the journal whose head is in the log, not the ``.ipynb``, which anybody may have edited since."""
        proof = proof_context(home.store, state, self.node, self.trial)
        book = proof_notebook(stored_evidence(home.store, state, self.node, self.trial), proof)
        if book is not None:
            return book
        head = state.trial(self.node, self.trial).journal_head
        try:
            if head is not None and not ends_at(proof.journal, head):
                raise UsageError(
                    f"the journal of {self.node} is not the one on record: ",
                    command("verify", "RUN"),
                    " says more",
                )
            return render_notebook(read_journal(proof.journal))
        except (JournalBroken, OSError) as error:
            raise UsageError(f"the journal of {self.node} cannot be read: {error}") from None


def _cell(cell: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": cell.cell_type, "source": _cut(cell.source)}
    if cell.cell_type == "code":
        shown["output"] = _cut("".join(map(_output_text, cell.get("outputs", []))))
        tags = cell.metadata.get("tags", [])
        shown["failed"], shown["superseded"] = "raises-exception" in tags, "superseded" in tags
    return shown


def _output_text(output: Any) -> str:
    if output["output_type"] == "stream":
        return str(output["text"])
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}\n"
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return "(a picture)\n"
    return f"{data.get('text/plain', '')}\n"


def _cut(text: str) -> str:
    plain = printable(text)
    if len(plain) <= _LONGEST_CELL:
        return plain
    return f"{plain[:_LONGEST_CELL]}\n(cut here: {len(plain) - _LONGEST_CELL:,} more characters)"


class _Played(EditRequest, _OfClient):
    run: RunName

    def played(
        self, home: ClientHome, state: RunState, before: tuple[Edit, ...], *, again: bool
    ) -> tuple[dict[str, Any], tuple[Edit, ...]]:
        """Return what the edits change on top of those before, and these; ``again``: no further ones are needed."""
        require_grounded(state)
        fresh = self.edits(play(state.tree, before).tree)
        if not fresh and not again:
            raise UsageError("no change was given: set, add, remove, pin, unpin, restate or weigh a driver")
        return what_if(state, (*before, *fresh), now=utc_now()).to_json(), fresh


class TryEdits(_Played):
    """Change drivers in thought and see which others move."""

    tool = (
        "Change drivers in thought and see which others move; nothing is kept, no model is asked."
        " Made in the order unpin, restate, add, remove, polarity, report, rule, weight, pin, set."
    )

    scenario: Annotated[str, Field(max_length=100)] | None = None
    """Play them on top of this scenario."""

    def told(self, home: ClientHome) -> dict[str, Any]:
        """Return the claim before and after, and every driver that moved."""
        state = home.state(self.run)
        before: tuple[Edit, ...] = ()
        if self.scenario is not None:
            # A person's; under a cutoff the state holds none.
            saved = state.scenarios.scenarios.get(self.scenario)
            proposed = home.proposals.of(state.run_id).get(self.scenario)
            if proposed is None and saved is None:
                raise UsageError(f"there is no scenario {self.scenario!r:.100} here: propose_edit makes one")
            before = proposed if proposed is not None else tuple(saved.edits if saved else ())
        return self.played(home, state, before, again=bool(before))[0]


class ProposeEdit(_Played):
    """Keep a change as a named scenario for the analyst to look at."""

    tool = "Keep a change as a named scenario for the analyst to look at; the analysis itself stays as it is."
    writes = True

    scenario: ScenarioName
    """Name of the proposal; it can be added to."""
    rationale: Annotated[str, Field(max_length=2000)] = ""
    """What it supposes, and why."""

    def told(self, home: ClientHome) -> dict[str, Any]:
        """Return what the proposal changes."""
        with home.proposing:  # each adds to what those before it proposed
            state = home.state(self.run)
            before = home.proposals.of(state.run_id).get(self.scenario, ())
            document, fresh = self.played(home, state, before, again=False)
            home.proposals.keep(home.store, state, self.scenario, fresh, rationale=self.rationale)
            return {**document, "scenario": self.scenario}


class ProposeRun(_OfClient):
    """Propose a claim for an analysis."""

    tool = (
        "Propose a claim for an analysis; nothing is asked and nothing is spent before a person approves it."
    )
    writes = True

    claim: Annotated[str, Field(min_length=1, max_length=MAX_STATEMENT)]
    """A claim that will turn out true or false."""
    why: Annotated[str, Field(max_length=2000)] = ""
    """Why it is worth an analysis."""

    def told(self, home: ClientHome) -> dict[str, str]:
        """Return the run that waits for a person."""
        if home.runs.only is not None:
            raise UsageError("this server shows one run only: propose other claims to a server of all runs")
        with home.proposing:
            run_id = home.proposals.claim(home.store, self.claim, self.why, home.runs.cutoff)
        return {"run_id": run_id, "state": "proposed", "next": "a person approves it or turns it down"}
