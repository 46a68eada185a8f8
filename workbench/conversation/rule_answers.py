"""Questions that rules answer, without a model: why, what it hinges on, what would make it so, what if, what it rests on."""

import re
from collections.abc import Callable
from contextlib import suppress

from workbench.conversation.cited_answer import CitedAnswer
from workbench.conversation.run_look_ups import RunLookUps
from workbench.errors import Option, UsageError
from workbench.formatting import percent, point_change
from workbench.propositions import ROOT, NodeId
from workbench.synthesis.sensitivity.required_changes import ways_to_reach
from workbench.views.answer import answer_sentence, short_name, waterfall
from workbench.views.run_overview import claim_day
from workbench.whatif.typed_values import parse_probability

_NODE = re.compile(r"\bP\d+(?:\.\d+)*\b")
#: What may be a number, taken whole: of ``1e999``, ``0,9``, ``1/3`` or ``-3`` no part is the number that was meant.
_WRITTEN = re.compile(r"\d+ (?:in|of) \d+|[^\s;:?!()=]*\d[^\s;:?!()=]*(?: ?(?:%|per ?cent\b))?")
_DAY = re.compile(r"\d{4}(?:-\d\d-\d\d)?")
#: What is said of a driver without a number; anything else after "is" is no value.
_TRUE = r"(?:true|so|right|yes|certain|sure|the case)"
_FALSE = r"(?:false|no|fail(?:s|ed)?|not|wrong)"
_OTHER_VALUE = re.compile(rf"\b(?:is|was|were|be|at|to)\b(?! (?:{_TRUE}|{_FALSE})\b) +\S|=")
#: Drivers that one answer names.
_MOST = 3


def rule_answer(look_ups: RunLookUps, question: str) -> CitedAnswer:
    """Return the answer of the first rule that the question's words fit.

    Raises
    ------
    UsageError
        None fits: the kinds that are answered, and that a model answers the others.
    """
    text = " ".join(question.split()).casefold()
    for pattern, rule in _RULES:
        if re.search(pattern, text):
            answer = rule(look_ups, " ".join(question.split()))
            if answer is not None:
                return answer
    raise UsageError(
        "rules answer why it is so low or high, what it hinges on, what would make it 50%, what if P1 were 20%, what P1 rests on, the base "
        "rate, the rule, when it is decided, how sure it is, what changed; other questions: ",
        Option("model", "PROVIDER/NAME"),
    )


def _reasons(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    if (node := _driver_in(look_ups, question)) is not None and node != ROOT:
        return _rests_on(look_ups, question)
    run = look_ups.run
    steps = waterfall(run.tree)
    sentence = answer_sentence(run.tree, run.base_rate)
    drivers = [part for part in steps.parts if part.node is not None] if steps is not None else []
    if steps is None or not drivers:
        return CitedAnswer(text=sentence, cites=(look_ups.cite_of(ROOT),))
    side = -1 if re.search(r"\b(low|little|unlikely|small|against)\b", question.casefold()) else 1
    named = [part for part in drivers if part.points * side > 0][:_MOST] or drivers[:_MOST]
    parts = [
        f"{part.name} ({part.node}, {percent(part.p)}) {point_change(0.0, part.points)}" for part in named
    ]
    words = f"{sentence} From {steps.start_words} {percent(steps.start)}: {'; '.join(parts)}."
    return CitedAnswer(text=words, cites=tuple(look_ups.cite_of(part.node) for part in named if part.node))


def _hinges(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    rows = [row for row in look_ups.sensitivity() if row["id"] != ROOT][:_MOST]
    if not rows:
        return CitedAnswer(
            text="The claim has no drivers: it was examined as a whole.", cites=(look_ups.cite_of(ROOT),)
        )
    parts = [
        f"{row['id']} ({_driver_name(look_ups, row['id'])}): the claim lies between {percent(row['low'])} and {percent(row['high'])} over all its values"
        for row in rows
        if row["low"] is not None
    ]
    return CitedAnswer(
        text=f"It hinges on {'; then '.join(parts)}.",
        cites=tuple(look_ups.cite_of(row["id"]) for row in rows),
    )


def _reach(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    target = _share_in(question)
    if target is None:
        return None
    ways = ways_to_reach(look_ups.run.tree, target)
    alone = [way for way in ways.alone if way.needed is not None]
    if not alone:
        text = f"No driver alone brings the claim to {percent(target)}."
        if ways.share is not None:
            text += f" All together would have to go {percent(ways.share)} of their way there."
        return CitedAnswer(text=text, cites=(look_ups.cite_of(ROOT),))
    alone.sort(key=lambda way: abs((way.needed or 0.0) - (look_ups.run.tree[way.id].p or 0.0)))
    parts = [
        f"{way.id} ({_driver_name(look_ups, way.id)}) at {percent(way.needed)} instead of {percent(look_ups.run.tree[way.id].p)}"
        for way in alone[:_MOST]
    ]
    return CitedAnswer(
        text=f"The claim is at {percent(target)} with {', or '.join(parts)}.",
        cites=tuple(look_ups.cite_of(way.id) for way in alone[:_MOST]),
        proposal={alone[0].id: float(alone[0].needed or 0.0)},
    )


def _what_if(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    named = list(_NODE.finditer(question))
    if not named or any(mention[0] not in look_ups.run.tree for mention in named):
        return None
    ends = [*(mention.start() for mention in named[1:]), len(question)]
    values: dict[NodeId, float] = {}
    for mention, end in zip(named, ends, strict=True):
        # of one driver the value may stand before its name: "if I set 0.2 for P1"
        said = question[mention.end() : end]
        if len(named) == 1 and not _WRITTEN.search(said):
            said = f"{question[: mention.start()]} {said}"
        if mention[0] in values:
            raise UsageError(f"{mention[0]} is named twice: say one value for each driver")
        values[mention[0]] = _value_in(mention[0], said)
    document = look_ups.what_if(values)
    after = (
        "has no value by a rule"
        if document["after"] is None
        else f"is {percent(document['after'])} instead of {percent(document['before'])}"
    )
    return CitedAnswer(
        text=f"With {' and '.join(f'{node} at {percent(p)}' for node, p in values.items())} the claim {after}.",
        cites=tuple(look_ups.cite_of(node) for node in values),
        proposal=values,
    )


def _value_in(node: NodeId, said: str) -> float:
    """Return the one value that the words after a driver's name give it; without a number it is taken to be true or false."""
    written = _numbers_in(said)
    if len(written) == 1:
        return parse_probability(written[0])
    small = said.casefold()
    if written or (_OTHER_VALUE.search(small) and not re.search(rf"\b{_FALSE}\b", small)):
        raise UsageError(f"say one value from 0 to 1 for {node}, such as 0.35 or 35 %")
    return 0.0 if re.search(rf"\b{_FALSE}\b", small) else 1.0


def _rests_on(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    node = _driver_in(look_ups, question) or _strongest(look_ups)
    proposition = look_ups.run.tree[node]
    trail = look_ups.trail(node)
    if trail is None:
        return _rule_of(look_ups, node) if proposition.children else None
    calls = [
        f"{call.question} ({call.rows} rows, the last of {call.newest['date']})"
        if isinstance(call.newest, dict) and "date" in call.newest
        else call.question
        for call in trail.calls[:_MOST]
    ]
    factor = proposition.belief.key_factor if proposition.belief else ""
    words = f"{node} is held {percent(proposition.p)}: {factor.rstrip('.')}. It rests on {'; '.join(calls) or 'no data'}."
    return CitedAnswer(text=words, cites=(look_ups.cite_of(node),))


def _equation(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    return _rule_of(look_ups, _driver_in(look_ups, question) or ROOT)


def _rule_of(look_ups: RunLookUps, node: NodeId) -> CitedAnswer:
    proposition = look_ups.run.tree[node]
    rule = proposition.rule
    words = (
        f"p({node}) = {rule.equation()}"
        if rule is not None and rule.numeric
        else "no formula: it was judged as a whole"
    )
    children = ", ".join(f"{child} {percent(look_ups.run.tree[child].p)}" for child in proposition.children)
    return CitedAnswer(
        text=f"{words}; {children}." if children else f"{words}.",
        cites=(look_ups.cite_of(node), *(look_ups.cite_of(child) for child in proposition.children[:_MOST])),
    )


def _base_rate(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    run = look_ups.run
    if run.base_rate is None:
        return CitedAnswer(text="No base rate is on record.", cites=(look_ups.cite_of(ROOT),))
    gap = point_change(run.base_rate, run.tree.root.p)
    words = f"The base rate known at the cutoff is {percent(run.base_rate)}; the claim lies {gap} from it."
    return CitedAnswer(text=words, cites=(look_ups.cite_of(ROOT),))


def _when(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    day = claim_day(look_ups.run.statement)
    words = (
        "The claim names no day."
        if day is None
        else f"It is decided on {day.isoformat()}; it was judged as of {look_ups.run.cutoff}."
    )
    return CitedAnswer(text=words, cites=(look_ups.cite_of(ROOT),))


def _how_sure(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    record, band = look_ups.run.record(), look_ups.run.band()
    parts = [f"Its record: {record['line']}"] if record else []
    parts += [f"its band reaches from {percent(band.low)} to {percent(band.high)}"] if band else []
    words = (
        "; ".join(parts)
        or "Nothing measured says how sure it is: no record on past dates and no band are there"
    )
    return CitedAnswer(text=f"{words.rstrip('.')}.", cites=(look_ups.cite_of(_strongest(look_ups)),))


def _since(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    since = look_ups.run.since
    words = f"{since}." if since else "The run takes up no earlier one: there is nothing to compare it with."
    return CitedAnswer(text=words, cites=(look_ups.cite_of(ROOT),))


def _newest(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    node = _driver_in(look_ups, question) or _strongest(look_ups)
    trail = look_ups.trail(node)
    newest = next((call for call in trail.calls if isinstance(call.newest, dict)), None) if trail else None
    if newest is None:
        return None
    value = newest.newest.get("value")
    words = f"The newest row that {node} read is of {newest.newest.get('date')}{'' if value is None else f': {value}'} ({newest.question})."
    return CitedAnswer(text=words, cites=(look_ups.cite_of(node),))


def _how_likely(look_ups: RunLookUps, question: str) -> CitedAnswer | None:
    node = _driver_in(look_ups, question) or ROOT
    words = f"{node} is held {percent(look_ups.run.tree[node].p)}: {look_ups.run.tree[node].statement}."
    return CitedAnswer(text=words, cites=(look_ups.cite_of(node),))


def _driver_in(look_ups: RunLookUps, question: str) -> NodeId | None:
    return next((node for node in _NODE.findall(question) if node in look_ups.run.tree), None)


def _numbers_in(words: str) -> list[str]:
    """Return the numbers in some words as they are written, without days and years."""
    written = (re.sub(r" ?per ?cent$", "%", each.rstrip(".,")) for each in _WRITTEN.findall(words))
    return [each for each in written if not _DAY.fullmatch(each)]


def _share_in(question: str) -> float | None:
    shares = []
    for written in _numbers_in(_NODE.sub(" ", question)):
        with suppress(UsageError):
            shares.append(parse_probability(written))
    return shares[0] if len(shares) == 1 else None


def _strongest(look_ups: RunLookUps) -> NodeId:
    rows = look_ups.sensitivity()
    return str(rows[0]["id"]) if rows else ROOT


def _driver_name(look_ups: RunLookUps, node: NodeId) -> str:
    return short_name(look_ups.run.tree[node], look_ups.run.statement)


_Rule = Callable[[RunLookUps, str], CitedAnswer | None]
#: Patterns over the question in small letters, the first that fits and has an answer.
_RULES: tuple[tuple[str, _Rule], ...] = (
    (r"\bwhat (?:would|if)\b.*\bp\d|\bif p\d|\bsuppose\b.*\bp\d", _what_if),
    (r"\b(?:what|how)\b.*\b(?:make|makes|take|takes|bring|brings|need|needed|reach|reaches)\b", _reach),
    (r"\bbase rate\b|\bhistory say", _base_rate),
    (
        r"\bchang(?:ed|es)?\b.*\b(?:since|last|before)\b|\bsince (?:the )?(?:last|previous|run)\b|\bwhat.* new\b",
        _since,
    ),
    (
        r"\b(?:weigh|weighs|matter|matters|important|biggest|strongest|moves? it|drives?|hinges?|key driver|most)\b",
        _hinges,
    ),
    (r"\b(?:rule|formula|equation|combined|weights?|calculated|computed)\b", _equation),
    (r"\b(?:latest|newest|last) (?:value|row|data|price|figure)", _newest),
    (r"\b(?:rest|rests|based|evidence|data|source|sources|read|come from|comes from)\b", _rests_on),
    (r"\b(?:when|deadline|how many days|how long)\b", _when),
    (r"\b(?:sure|certain|trust|reliable|confident|record|band|uncertain)\b", _how_sure),
    (r"\bwhy\b|\bfor it\b|\bagainst it\b|\bspeaks\b", _reasons),
    (r"\b(?:how likely|probability|chance|what is|how high|how low)\b", _how_likely),
)
