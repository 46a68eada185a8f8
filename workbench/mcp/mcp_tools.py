"""The tools of the server: what each takes, and what it answers. None takes a cutoff; the server has one."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from proxies.catalogue import Availability, api_doc, api_map, api_search
from workbench.engine.new_run import MAX_STATEMENT
from workbench.engine.record.state import RunState
from workbench.environment import proxy_settings
from workbench.errors import UsageError
from workbench.mcp.proofs import proof_document
from workbench.mcp.proposals import Proposals, propose_claim
from workbench.mcp.visible_runs import ClientHome
from workbench.operations.base import Operation
from workbench.operations.checks import Verify
from workbench.operations.claim_reading import Read
from workbench.operations.drivers import Sensitivity
from workbench.operations.endpoints import Call
from workbench.operations.web import Page, Search
from workbench.plug_points import OPERATIONS, load_plugin, plugin_names
from workbench.propositions.edits import Edit
from workbench.requests import fields_of
from workbench.store import Store, utc_now
from workbench.synthesis.whatif.apply_edits import play
from workbench.whatif.edit_request import EditRequest
from workbench.whatif.run_edits import require_grounded, what_if
from workbench.whatif.tree_documents import scenario_table

#: Of a list or mapping in one call: 2,000 additions to a tree took seven seconds.
MOST_ITEMS = 200
#: Claims that one server takes for a person to look at.
MOST_PROPOSED = 20
#: Seconds after which a call is answered without its result; a proof's cells are run again in more.
MOST_SECONDS, MOST_VERIFY_SECONDS = 60.0, 900.0

A = TypeVar("A", bound=BaseModel)

RunName = Annotated[str, Field(description="Run id, the beginning of one, or `last`.", max_length=100)]
Node = Annotated[str, Field(description="Id of a driver, such as P2.1; P0 is the claim.", max_length=100)]


class _Arguments(BaseModel):
    # An argument that is not on the list is refused, not ignored: a client that sends a cutoff is told that it has no say.
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, values: Any) -> Any:
        if isinstance(values, dict):
            for name, value in values.items():
                if isinstance(value, list | dict) and len(value) > MOST_ITEMS:
                    raise ValueError(f"{name!r:.60} has {len(value)} items, at most {MOST_ITEMS} are taken")
        return values


class DocumentationArguments(_Arguments):
    """Arguments of ``api_docs``; without any it returns the map of all sources."""

    paths: Annotated[list[str], Field(max_length=25, description="Pages of these endpoints.")] = []
    words: Annotated[str, Field(max_length=400, description="Or: endpoints that match these words.")] = ""


class RunsArguments(_Arguments):
    """Arguments of ``list_runs``."""

    search: Annotated[str, Field(max_length=400, description="Only runs in which all these words occur.")] = (
        ""
    )
    limit: Annotated[int, Field(ge=1, le=1000, description="The newest so many.")] = 50


class RunArguments(_Arguments):
    """Arguments of ``read_tree`` and ``sensitivity``."""

    run: RunName


class ProofArguments(RunArguments):
    """Arguments of ``read_proof``."""

    node: Node
    trial: Annotated[int, Field(ge=1, le=9999)] = 1


class _PlayedOnScenario(RunArguments):
    scenario: Annotated[
        str | None, Field(description="Play them on top of this scenario.", max_length=100)
    ] = None

    def request(self) -> EditRequest:
        return EditRequest.read({each.name: getattr(self, each.word) for each in fields_of(EditRequest)})


class _Proposed(_PlayedOnScenario):
    scenario: Annotated[
        str, Field(min_length=1, max_length=100, description="Name of the proposal; it can be added to.")
    ]
    rationale: Annotated[str, Field(max_length=2000, description="What it supposes, and why.")] = ""


def with_edits(base: type[A], name: str, tool: str, model: type[EditRequest] = EditRequest) -> type[A]:
    """Return arguments that have a field for each kind of edit, by its word."""
    kinds: dict[str, Any] = {
        each.word: (each.kind, each.default)
        for each in fields_of(model)
        if each.name not in base.model_fields
    }
    return create_model(name, __base__=base, __doc__=f"Arguments of ``{tool}``.", **kinds)


EditArguments = with_edits(_PlayedOnScenario, "EditArguments", "what_if")
ProposalArguments = with_edits(_Proposed, "ProposalArguments", "propose_edit")


def arguments_of(operation: type[Operation]) -> type[BaseModel]:
    """Return the arguments of an operation's tool: its fields but the cutoff, which is the server's, and what is a person's alone."""
    kinds: dict[str, Any] = {
        each.name: (each.kind, ... if each.required else each.default)
        for each in fields_of(operation)
        if each.name != "cutoff" and each.name not in operation.person
    }
    return create_model(f"{operation.__name__}Arguments", __base__=_Arguments, **kinds)


class ClaimArguments(_Arguments):
    """Arguments of ``propose_run``."""

    claim: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_STATEMENT, description="A claim that will turn out true or false."
        ),
    ]
    why: Annotated[str, Field(max_length=2000, description="Why it is worth an analysis.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """One tool: its name, what a model reads of it, its arguments, and what answers them with a JSON value."""

    name: str
    about: str
    arguments: type[BaseModel]
    answer: Callable[[Any], Awaitable[Any]]
    writes: bool = False
    seconds: float = MOST_SECONDS


class Tools:
    """All tools over one home, one cutoff and one set of visible runs.

    Parameters
    ----------
    data : ClientHome
        Says which runs a client may see and holds the cutoff; for data and the web, one for all calls, so that no id of a result is given twice.
    statement : str
        The claim that the client works on, if there is one: addresses in it, and where it resolves, are blocked.
    """

    def __init__(self, data: ClientHome, *, statement: str = "") -> None:
        self._home, self._runs = data.folder, data.runs
        self._statement = statement
        self._data = data
        self._proposals = Proposals()
        self._verifying = asyncio.Lock()
        self._proposing = threading.Lock()
        self._proposed = 0

    def table(self) -> dict[str, McpTool]:
        """Return the tools by name."""
        tools = (
            self._tool(Search, "search"),
            self._tool(Page, "open_page"),
            self._tool(Call, "call_api"),
            McpTool(
                name="api_docs",
                about="What call_api can be asked: pages of endpoints, those that match some words, or the map of all sources.",
                arguments=DocumentationArguments,
                answer=self._api_docs,
            ),
            self._tool(Read, "read_claim"),
            McpTool(
                name="list_runs",
                about="The analyses that can be read: id, claim, cutoff and probability of each.",
                arguments=RunsArguments,
                answer=self._list_runs,
            ),
            McpTool(
                name="read_tree",
                about="One analysis: its claim and drivers with probabilities, the rule of each inner one, which proofs there are.",
                arguments=RunArguments,
                answer=self._read_tree,
            ),
            McpTool(
                name="read_proof",
                about="The evidence for a driver: report, and the cells of its notebook with what they printed.",
                arguments=ProofArguments,
                answer=self._read_proof,
            ),
            McpTool(
                name="what_if",
                about="Change drivers in thought and see which others move; nothing is kept, no model is asked."
                " Made in the order unpin, restate, add, remove, polarity, report, rule, weight, pin, set.",
                arguments=EditArguments,
                answer=self._what_if,
            ),
            self._tool(Sensitivity, "sensitivity"),
            self._tool(Verify, "verify", seconds=MOST_VERIFY_SECONDS),
            McpTool(
                name="propose_edit",
                about="Keep a change as a named scenario for the analyst to look at; the analysis itself stays as it is.",
                arguments=ProposalArguments,
                answer=self._propose_edit,
                writes=True,
            ),
            McpTool(
                name="propose_run",
                about="Propose a claim for an analysis; nothing is asked and nothing is spent before a person approves it.",
                arguments=ClaimArguments,
                answer=self._propose_run,
                writes=True,
            ),
        )
        added = ((name, load_plugin(OPERATIONS, name)) for name in plugin_names(OPERATIONS))
        of_packages = (self._tool(each, name.replace("-", "_")) for name, each in added if each.tool)
        return {tool.name: tool for tool in (*of_packages, *tools)}

    def _tool(self, operation: type[Operation], name: str, *, seconds: float = MOST_SECONDS) -> McpTool:
        pinned = {"cutoff": self._runs.cutoff.text, "question": self._statement}

        async def asked(arguments: BaseModel) -> Any:
            fields = {each: getattr(arguments, each) for each in type(arguments).model_fields}
            fields |= {each: pinned[each] for each in pinned if each in operation.model_fields}
            request = operation.read(fields)
            if not operation.waits():
                return await asyncio.to_thread(request.answer, self._data)
            # What starts kernels goes one at a time.
            async with self._verifying if seconds > MOST_SECONDS else nullcontext():
                return await request.answer(self._data)

        return McpTool(
            name=name,
            about=operation.tool,
            arguments=arguments_of(operation),
            answer=asked,
            seconds=seconds,
        )

    async def _api_docs(self, arguments: DocumentationArguments) -> Any:
        return await asyncio.to_thread(self.documentation, arguments.paths, arguments.words)

    def documentation(self, paths: list[str], words: str) -> str:
        """Return the pages of endpoints, the endpoints that match some words, or the map of all; raises ``ProxyError``."""
        settings = proxy_settings(self._data.environ, self._home)
        catalogue = settings.catalogue()
        works = Availability.of(settings.keys, self._runs.cutoff, network=settings.network)
        if paths:
            return api_doc(catalogue, paths, works)
        return api_search(catalogue, words, works) if words.strip() else api_map(catalogue, works)

    async def _list_runs(self, arguments: RunsArguments) -> Any:
        return {"runs": await asyncio.to_thread(self.list_runs, arguments.search, arguments.limit)}

    def list_runs(self, search: str = "", limit: int = 50) -> list[dict[str, Any]]:
        """Return the rows of ``list_runs``; the resources are made of them too."""
        with Store(self._home) as store:
            return self._runs.rows(store, search, limit)

    async def _read_tree(self, arguments: RunArguments) -> Any:
        return await asyncio.to_thread(self.read_tree, arguments.run)

    def read_tree(self, run: str) -> dict[str, Any]:
        """Return a run with its nodes and the scenarios that the client may see; raises ``NoSuchRun``."""
        with Store(self._home) as store:
            state = self._runs.state(store, run)
            proposed = [
                {"name": name, "edits": len(edits), "root": play(state.tree, edits).tree.root.p}
                for name in self._proposals.names(state.run_id)
                for edits in [self._proposals.edits(state.run_id, name)]
            ]
            others = (
                {}
                if not self._runs.cutoff.live
                else {"scenarios": scenario_table(state.tree, state.scenarios, now=utc_now())}
            )
            return {**self._runs.document(store, state), "proposed": proposed, **others}

    async def _read_proof(self, arguments: ProofArguments) -> Any:
        return await asyncio.to_thread(self.read_proof, arguments.run, arguments.node, arguments.trial)

    def read_proof(self, run: str, node: str, trial: int = 1) -> dict[str, Any]:
        """Return a leaf's proof; raises ``NoSuchRun``, or ``UsageError`` if there is no such proof."""
        with Store(self._home) as store:
            return proof_document(store, self._runs.state(store, run), node, trial)

    async def _what_if(self, arguments: _PlayedOnScenario) -> Any:
        return await asyncio.to_thread(self._what_if_document, arguments)

    def _what_if_document(self, arguments: _PlayedOnScenario) -> Any:
        with Store(self._home) as store:
            return self._played(self._runs.state(store, arguments.run), arguments)[0]

    async def _propose_edit(self, arguments: _Proposed) -> Any:
        return await asyncio.to_thread(self._proposal_document, arguments)

    async def _propose_run(self, arguments: ClaimArguments) -> Any:
        return await asyncio.to_thread(self._proposed_run, arguments)

    def _proposed_run(self, arguments: ClaimArguments) -> dict[str, str]:
        if self._runs.only is not None:
            raise UsageError("this server shows one run: others are proposed to a server of all runs")
        with self._proposing, Store(self._home) as store:
            # Of this server's own, so that what people decide meanwhile changes no answer.
            if self._proposed >= MOST_PROPOSED:
                raise UsageError(f"{MOST_PROPOSED} claims were proposed: a person looks at those first")
            run_id = propose_claim(store, arguments.claim, arguments.why, self._runs.cutoff)
            self._proposed += 1
        return {"run_id": run_id, "state": "proposed", "next": "a person approves it or turns it down"}

    def _proposal_document(self, arguments: _Proposed) -> Any:
        # one at a time: each adds to what those before it proposed
        with self._proposing, Store(self._home) as store:
            state = self._runs.state(store, arguments.run)
            document, fresh = self._played(state, arguments)
            self._proposals.keep(store, state, arguments.scenario, fresh, rationale=arguments.rationale)
            return {**document, "scenario": arguments.scenario}

    def _played(
        self, state: RunState, arguments: _PlayedOnScenario
    ) -> tuple[dict[str, Any], tuple[Edit, ...]]:
        require_grounded(state)
        proposes = isinstance(arguments, _Proposed)
        held = self._held(state, arguments.scenario, may_be_new=proposes)
        fresh = arguments.request().edits(play(state.tree, held).tree)
        if not fresh and (proposes or not held):
            raise UsageError("nothing is changed: set, add, remove, pin, unpin, restate or weigh a driver")
        return what_if(state, (*held, *fresh), now=utc_now()).to_json(), fresh

    def _held(self, state: RunState, name: str | None, *, may_be_new: bool) -> tuple[Edit, ...]:
        if name is None:
            return ()
        if name in self._proposals.names(state.run_id):
            return self._proposals.edits(state.run_id, name)
        if may_be_new:
            return ()
        # A person's scenario; under a cutoff the state holds none.
        saved = state.scenarios.scenarios.get(name)
        if saved is None:
            raise UsageError(f"there is no scenario {name!r:.100} here: propose_edit makes one")
        return tuple(saved.edits)
