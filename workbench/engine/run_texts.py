"""What people wrote of a claim, kept to its cutoff, and the replies on record that a run would have to buy again because of it.

Text from after the cutoff is never sent again, whatever that makes worthless.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from proxies.asof.asof_text import Removed, as_of, emptied_line
from proxies.asof.clock import Cutoff
from workbench.engine.rebuy import Rebuy, unfinished
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.propositions import Proposition, Tree
from workbench.store import Store
from workbench.store import events as ev

if TYPE_CHECKING:
    from workbench.engine.record.recorder import Recorder


_SHOWN = 160  # characters of a piece on a line


def cut_claim(
    statement: str, cutoff: Cutoff, settings: RunSettings
) -> tuple[str, RunSettings, tuple[ev.CutText, ...]]:
    """Return statement and settings without what was written after the cutoff, and what was cut; called when a run is opened.

    Raises ``UsageError`` where nothing is left of a text.
    """
    claim = as_of(statement, cutoff, kind="title")
    known = settings.context.as_of(cutoff)
    for name in (*(["the statement"] if claim.emptied else []), *known.emptied):
        raise UsageError(emptied_line(name, cutoff))
    return claim.text, _with_context(settings, cutoff), _records({"statement": claim.cut, **known.cut})


def as_asked(proposition: Proposition, cutoff: Cutoff) -> Proposition:
    """Return a proposition as a model may be asked about it: without remarks of later in its statement.

    For what is asked about a run that is done: it may be of a version that cut nothing, or somebody else's.
    """
    shown = as_of(proposition.statement, cutoff, kind="title")
    if shown.emptied:
        raise UsageError(emptied_line(f"the statement of {proposition.id}", cutoff))
    return replace(proposition, statement=shown.text) if shown.cut else proposition


def tree_as_asked(tree: Tree, cutoff: Cutoff) -> Tree:
    """Return a tree with every statement as of `as_asked`."""
    for node in tree.ids():
        shown = as_asked(tree[node], cutoff)
        if shown is not tree[node]:
            tree = tree.restate(node, shown.statement, keep_belief=True)
    return tree


def _with_context(settings: RunSettings, cutoff: Cutoff) -> RunSettings:
    known = settings.context.as_of(cutoff)
    return replace(settings, context=known.plain()) if known.cut else settings


def _records(cut: Mapping[str, Sequence[Removed]]) -> tuple[ev.CutText, ...]:
    return tuple(
        ev.CutText(field=name, text=piece.text, reason=piece.reason)
        for name, pieces in cut.items()
        for piece in pieces
    )


def cut_lines(cut: Sequence[ev.CutText]) -> list[str]:
    """Return a line for each piece that was cut, for screens."""
    return [f"cut from the {each.field}, {each.reason}: {each.text[:_SHOWN]!r}" for each in cut]


def later_texts(store: Store, state: RunState) -> Rebuy | None:
    """Return what of an unfinished run's own words is of after its cutoff, with the replies that rest on it; None if nothing is.

    Raises `UsageError`: The statement itself, or all of another text, is of later: such a run cannot go on.
    """
    if state.finished:
        return None
    cutoff = state.parsed_cutoff()
    statement, settings, cut = cut_claim(state.statement, cutoff, state.settings)
    options = settings.options.get("grounder", {})
    later = as_of(str(options.get("event", "")), cutoff, kind="title").cut or any(
        as_of(str(name), cutoff, kind="label").cut for name in options.get("outcomes") or ()
    )
    if statement != state.statement or later:
        raise UsageError(
            f"run {state.run_id} contains text written after its cutoff {cutoff.text} and cannot continue: analyze the claim anew"
        )
    if not cut:
        return None
    pieces = [each.text for each in cut]
    return Rebuy.at(
        store,
        state,
        unfinished(store, state),
        lambda _, messages, __: any(
            piece in " ".join(message["content"].split()) for piece in pieces for message in messages
        ),
        f"was begun with text of after its cutoff, which is not sent again ({len(cut)} pieces)",
        cut=cut,
    )


def adopt_cut(recorder: "Recorder", *, allowed: bool) -> None:
    """Cut the run's own words to its cutoff and put that on record; called before a run goes on.

    Raises ``RebuyNeeded`` where that makes replies on record worthless and nobody has allowed to buy them again.
    """
    due = later_texts(recorder.store, recorder.state)
    if due is None:
        return
    due.require(allowed)
    context = _with_context(recorder.state.settings, recorder.state.parsed_cutoff()).context
    texts = {name: getattr(context, name) for name in ("background", "criteria", "horizon")}
    recorder.record(ev.TextCut(cut=due.cut, context=texts))
    due.begin_again(recorder, "its prompts held text of after the cutoff")
