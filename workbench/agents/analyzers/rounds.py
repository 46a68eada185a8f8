"""The analyzers: one expands a tree in rounds until the model ends it or it has enough leaves (Analytica, Alg. 1), one leaves the claim whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.analyzers.critic import findings, second_findings
from workbench.agents.base import AgentSettings, Brief
from workbench.agents.conversation import Conversation
from workbench.agents.errors import AgentGaveUp, BadSetting, MalformedReply, RetryWorthwhile
from workbench.agents.registry import no_options
from workbench.agents.replies.analysis_reply import END_OF_ANALYSIS, AnalysisReply, parse_analysis
from workbench.agents.replies.reply_schemas import ANALYSIS, ANALYSIS_COMBINED
from workbench.models.base import Asker, NodeRef
from workbench.prompts import prompts_of
from workbench.propositions import Tree, TreeError

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff


CEILING_FACTOR = 2
_MOST_FAULTS = 8


class RoundsAnalyzer:
    """Asks for expansions round by round, in one dialogue.

    The leaf cap is looked at after each round, so a tree usually ends somewhat above it (Analytica, App. C.1). A round
    that would make more than twice as many leaves is sent back with the request for a smaller one.

    Parameters
    ----------
    settings : AgentSettings
        Uses ``max_leaves``, ``max_analyzer_rounds`` and ``max_exception_retry``.
    options : mapping
        ``require_polarity``: whether every child needs a polarity, true unless told. The engine sets it to what the
        run's synthesizer needs.
    """

    def __init__(
        self, settings: AgentSettings | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        chosen = dict(options or {})
        self.settings = settings or AgentSettings()
        self.require_polarity = chosen.pop("require_polarity", True)
        no_options("the rounds analyzer besides require_polarity", chosen)
        if not isinstance(self.require_polarity, bool):
            raise BadSetting(f"require_polarity is true or false, not {self.require_polarity!r}")

    #: The engine then calls ``analyze`` with the claim's context and the map of the data.
    takes_brief = True

    async def analyze(
        self,
        tree: Tree,
        *,
        cutoff: Cutoff,
        ask: Asker,
        on_round: Callable[[Tree], Awaitable[None]],
        brief: Brief | None = None,
    ) -> Tree:
        """Return the expanded tree.

        Parameters
        ----------
        tree : Tree
            Usually a root alone. To resume an analysis, give the tree it began with: its rounds are read again from
            the ledger.
        on_round : callable
            Awaited with the tree after every accepted round.
        brief : Brief, optional
            Context of the claim, and which data work.

        Raises
        ------
        AgentGaveUp
            A round got no usable reply; rounds accepted before were reported to ``on_round``.
        workbench.models.errors.ModelError
            From the asker.
        """
        settings = self.settings
        render = prompts_of(ask).render
        line, reply_format = render("analyze_line"), render("analyze_reply")
        brief = brief or Brief()
        combines = brief.combines and prompts_of(ask).has("analyze_combine")
        if combines:
            reply_format = f"{reply_format}\n\n{render('analyze_combine')}"
        form = {"reply_format": reply_format, "schema": ANALYSIS_COMBINED if combines else ANALYSIS}
        dialogue = Conversation(
            ask,
            render(
                "analyze_system",
                reply_format=reply_format,
                api_map=brief.overview.strip() or "(no map of the data is at hand)",
            ),
            about=outline(tree),
            nodes=_refs(tree),
            cutoff=cutoff,
            settings=settings,
        )
        asked: dict[str, Any] = {"max_leaves": settings.max_leaves, "reply_format": line}
        prompt = dialogue.render("analyze_first", tree=dialogue.about, **asked)
        for number in range(settings.max_analyzer_rounds):
            turn = _Round(self, tree, cutoff, criticised=not settings.critic)
            analysis, tree = await turn.ask(dialogue, prompt, form)
            if analysis.end:
                break
            if brief.asks_critic and settings.critic:
                new = [child for group in analysis.expansions for child in group.children]
                faults = await second_findings(
                    tree, new, number=number, cutoff=cutoff, ask=ask, settings=settings
                )
                if faults:
                    analysis, tree = await turn.mend((analysis, tree), faults, dialogue, form)
            await on_round(tree)
            if len(tree.leaves()) >= settings.max_leaves:
                break
            notes = ""
            if analysis.end_ignored:
                notes = f"{END_OF_ANALYSIS} was ignored, because it came with a block. "
            dialogue.about, dialogue.nodes = outline(tree), _refs(tree)
            prompt = dialogue.render(
                "analyze_next", notes=notes, tree=dialogue.about, n_leaves=len(tree.leaves()), **asked
            )
        return tree

    def grow(self, tree: Tree, analysis: AnalysisReply) -> Tree:
        """Return the tree with what a round says; raises `MalformedReply` where it cannot be."""
        if analysis.end:
            if len(tree) > 1:
                return tree
            if not analysis.alone:
                raise MalformedReply(
                    "the tree is still the root alone; expand P0 before you end the analysis"
                )
            return tree.annotate(tree.root.id, analysis=analysis.alone)
        had = len(tree.leaves())
        try:
            for group in analysis.expansions:
                tree = tree.expand(group.parent, group.children, group.polarities, group.causality)
                tree = tree.annotate(group.parent, analysis=analysis.prose, combine=group.combine)
                for child in group.children:
                    tree = tree.annotate(
                        child,
                        resolves_by=group.resolves_by.get(child, ""),
                        reference_class=group.reference_class.get(child, ""),
                    )
        except TreeError as error:
            raise MalformedReply(str(error)) from error
        most = CEILING_FACTOR * self.settings.max_leaves
        if len(tree.leaves()) > most:
            raise MalformedReply(
                f"with this block the tree would have {len(tree.leaves())} leaves; about "
                f"{self.settings.max_leaves} are wanted and {most} are the most there can be. It has {had} now. "
                "Send a smaller block that keeps what matters most"
            )
        return tree


Grown = tuple[AnalysisReply, Tree]


@dataclass(slots=True)
class _Round:
    """One round: a reply with faults is sent back once, and stands unless a better one comes.

    Trees do not change, so each ask of a round grows the same one and a refused block leaves nothing behind.
    """

    analyzer: RoundsAnalyzer
    before: Tree
    cutoff: Cutoff
    criticised: bool
    standing: Grown | None = None

    async def ask(self, dialogue: Conversation, prompt: str, form: Mapping[str, Any]) -> Grown:
        return await dialogue.exchange("analyze", prompt, self._read, **form)

    async def mend(
        self, first: Grown, faults: list[str], dialogue: Conversation, form: Mapping[str, Any]
    ) -> Grown:
        """Ask for the round once more with the critic's findings; the first one stands where nothing better comes."""
        self.standing, length = first, len(dialogue.messages)
        prompt = dialogue.render("retry", reason=f"{_criticism(faults)}.", reply_format=form["reply_format"])
        try:
            return await self.ask(dialogue, prompt, form)
        except AgentGaveUp:
            dialogue.cut(length)
            return first

    def _read(self, text: str) -> Grown:
        analysis = parse_analysis(text, require_polarity=self.analyzer.require_polarity)
        if analysis.end and self.standing is not None:
            return self.standing
        grown = analysis, self.analyzer.grow(self.before, analysis)
        visible = self.cutoff.last_visible_day
        if not self.criticised and (faults := findings(self.before, analysis.expansions, visible)):
            # once a round: what the model stands by is taken
            self.criticised, self.standing = True, grown
            raise RetryWorthwhile(_criticism(faults), grown)
        return grown


def _criticism(faults: list[str]) -> str:
    return (
        "the propositions can be improved before anybody works on them. "
        + ". ".join(faults[:_MOST_FAULTS])
        + ". Send the whole block again with these mended, or unchanged where you stand by it"
    )


def outline(tree: Tree) -> str:
    """The tree as an indented list, ``- P1: statement`` per line, statements verbatim.

    >>> print(outline(Tree.root_only("Rates fall in 2019")))
    - P0: Rates fall in 2019
    """
    lines = []
    for node in tree.ids():
        indent = "  " * len(tree.ancestors(node))
        lines.append(f"{indent}- {node}: {tree[node].statement}")
    return "\n".join(lines)


def _refs(tree: Tree) -> tuple[NodeRef, ...]:
    return tuple(NodeRef(id=node, statement=tree[node].statement) for node in tree.ids())


class SingleAnalyzer:
    """Registered as ``single``; asks no model (paper A's Basic Search, Deep Research and Notebook rows without Analytica)."""

    def __init__(self, settings: AgentSettings, options: Mapping[str, Any]) -> None:
        no_options("the analyzer single", options)

    async def analyze(
        self, tree: Tree, *, cutoff: Cutoff, ask: Asker, on_round: Callable[[Tree], Awaitable[None]]
    ) -> Tree:
        """Return the tree as it is."""
        await on_round(tree)
        return tree
