"""Checks of a leaf's conclusion against its notebook and against itself: one table, total over the kinds of run.

Each is sent back once by the grounder that asked; what the model stands by is taken, recorded with the leaf and shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxies.asof.mentions import mentions
from workbench.agents.findings.check_table import FindingCheck, ReplyFinding, RunKind
from workbench.agents.findings.figures import figure_sources, follows, takes, unprinted
from workbench.propositions.values import logit

if TYPE_CHECKING:
    from workbench.agents.replies.stage_replies import Accounting, Case, Conclusion

#: How far p may lie from its base rate, on the logit, before something must have moved it there.
FAR = 2.0
#: How far the number in the prose may lie from the one in the JSON.
_SAME = 0.03
#: The check of a notebook whose cells asked for nothing; screens say it from the ledger.
ASKED_NO_DATA = "asked for no data"
_ROUNDED = 0.015  # a base rate may be written with two places


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookRecord:
    """What a leaf's notebook showed: outputs and sources by cell, the data calls of its cells, and the proposition.

    ``shown_by`` names what a figure should stand in.
    """

    proposition: str
    printed: Mapping[str, str]
    data_calls: int
    sources: Mapping[str, str] = field(default_factory=dict)
    shown_by: str = "output of a cell"


@dataclass(frozen=True, slots=True)
class Concluded:
    """What the checks look at; ``notebook`` is None for a leaf without one."""

    conclusion: Conclusion
    notebook: NotebookRecord | None

    @property
    def prose(self) -> str:
        """The report without the accounting that is repeated at its end."""
        said = self.conclusion
        return said.report.removesuffix(said.numbers.lines(said.p))


def from_no_cell(conclusion: Conclusion, printed: Mapping[str, str]) -> dict[str, float]:
    """Return the figures of a conclusion's accounting that no cell has printed, by name."""
    figures = conclusion.numbers.figures()
    cells = figure_sources(figures, printed)
    return {name: value for name, value in figures.items() if cells[name] is None}


def _quotes_unprinted(said: Concluded) -> tuple[str, str] | None:
    notebook = said.notebook
    if notebook is None:
        return None
    # Neither a report nor its counted figures are a source for the other; what is judged needs none.
    numbers = said.conclusion.numbers
    judged = (said.conclusion.p, numbers.inside_view, numbers.low, numbers.high)
    absent = unprinted(
        said.prose,
        notebook.printed.values(),
        notebook.proposition,
        sources=notebook.sources.values(),
        stated=[value for value in judged if value is not None],
    )
    if not absent:
        return None
    return (
        f"the report quotes {', '.join(absent)}, and no output holds that",
        "Quote printed numbers only, say of others how they follow from printed ones, and see that the probability still follows",
    )


def _accounting(said: Concluded) -> tuple[str, str] | None:
    if said.notebook is None:
        return None
    # The outside view is counted. The inside view and the band are a judgement, as p is: the notebook names them, nobody is sent back.
    notebook = said.notebook

    def elsewhere(name: str, value: float) -> bool:
        """A count below 20 is made by eye; else a list of cases, a parameter of a cell, or what follows from outputs will do."""
        if _from_cases(said.conclusion.numbers, name, value):
            return True
        if name == "n" and (value < 20 or takes(value, notebook.sources.values())):
            return True
        return follows(
            value,
            said.prose,
            notebook.printed.values(),
            notebook.proposition,
            sources=notebook.sources.values(),
        )

    absent = {
        name: value
        for name, value in from_no_cell(said.conclusion, notebook.printed).items()
        if name in ("base rate", "n") and not elsewhere(name, value)
    }
    if not absent:
        return None
    listed = ", ".join(f"{name.replace(' ', '_')} {value:g}" for name, value in absent.items())
    return (
        f"of the closing block, {listed} stand in no {notebook.shown_by}",
        "Give what stands there, or null",
    )


def _from_cases(numbers: Accounting, name: str, value: float) -> bool:
    """Whether a counted figure is that of the cases which the reply lists, as a share of them or as (k + 1) / (n + 2)."""
    if not numbers.cases:
        return False
    k, n, rate = numbers.counted()
    return value == n if name == "n" else min(abs(value - rate), abs(value - k / n)) <= _ROUNDED


def _counted_cases(said: Concluded) -> tuple[str, str] | None:
    numbers = said.conclusion.numbers
    if not numbers.cases:
        return None
    k, n, rate = numbers.counted()
    figures = {name: value for name, value in numbers.figures().items() if name in ("base rate", "n")}
    wrong = [f"{name} {value:g}" for name, value in figures.items() if not _from_cases(numbers, name, value)]
    if not wrong:
        return None
    return (
        f"{k} of the {n} listed cases came true, (k + 1) / (n + 2) = {rate:.2f}, and the closing block says {' and '.join(wrong)}",
        "List every case that you counted, or mend base_rate and n",
    )


def _outside_bounds(said: Concluded) -> tuple[str, str] | None:
    contradiction = said.conclusion.numbers.contradiction(said.conclusion.p)
    return (contradiction, "Mend whichever is wrong: p_true, low or high") if contradiction else None


def _far_from_base_rate(said: Concluded) -> tuple[str, str] | None:
    p, numbers = said.conclusion.p, said.conclusion.numbers
    if numbers.base_rate is None or not 0 < p < 1:  # a certain p is another check's
        return None
    # none of a few cases, or all of them, is no certainty
    away = logit(p) - logit(min(max(numbers.base_rate, 0.01), 0.99))
    if abs(away) <= FAR:
        return None
    stated = f"p {p:g} lies far from the base rate of {numbers.base_rate:g}"
    mend = "State in adjustments what moves it from there to p_true, or mend the number that is wrong"
    moves = [*_moves(numbers.adjustments)]
    if moves and sum(moves) * away < 0:
        return f"{stated}, and the adjustments point the other way", mend
    beyond = numbers.inside_view is None or abs(logit(p) - logit(numbers.inside_view)) > FAR
    silent = numbers.adjustments.strip(" .-").lower() in ("", "none", "no", "nothing", "n/a")
    if beyond and silent and not _REASONED.search(said.prose):
        return f"{stated}, and no adjustment leads there", mend
    return None


def _certain(said: Concluded) -> tuple[str, str] | None:
    p, notebook = said.conclusion.p, said.notebook
    if 0 < p < 1:
        return None
    words = f"{said.prose} {said.conclusion.key_factor} {said.conclusion.numbers.adjustments}"
    days = {item.day for item in mentions(words) if len(words[item.start : item.end]) > 4}
    shown = None if notebook is None else " ".join(notebook.printed.values())
    if any(shown is None or day.isoformat() in shown for day in days):
        return None
    if shown and days & {item.day for item in mentions(shown)}:
        return None
    return (
        f"p is exactly {p:g}, and the report names no row that settles it",
        "Name the date and the value of the printed row that settles the matter, or give a probability inside 0 and 1",
    )


def _prose_and_number(said: Concluded) -> tuple[str, str] | None:
    p = said.conclusion.p
    own, after = _own_probabilities(said.prose)
    if not own or any(abs(value - p) <= _SAME + 1e-9 for value in after):
        return None
    return (
        f"the report arrives at {own[-1]:g}, and p_true says {p:g}",
        "Mend whichever is wrong, so that both say the same",
    )


def _no_data(said: Concluded) -> tuple[str, str] | None:
    if said.notebook is None or said.notebook.data_calls:
        return None
    return (
        "no cell of this notebook asked for data",
        "What was typed in or remembered is no evidence: say in the report that nothing was read, and keep the probability near "
        "what you can defend without data",
    )


#: Every check of a conclusion. Without a kernel there is no output to look numbers up in, and data calls are the audit's
#: business; who may look up the answer may leave every base rate behind.
CONCLUSION_CHECKS: tuple[FindingCheck[Concluded], ...] = (
    FindingCheck("quoted numbers", _quotes_unprinted, {"no_kernel": None}),
    FindingCheck("figures from no cell", _accounting, {"no_kernel": None}),
    FindingCheck("counted cases", _counted_cases),
    FindingCheck("bounds", _outside_bounds),
    FindingCheck("far from base rate", _far_from_base_rate, {"clairvoyant": None}),
    FindingCheck("certain without a row", _certain),
    FindingCheck("report and number", _prose_and_number),
    FindingCheck(ASKED_NO_DATA, _no_data, {"no_kernel": None}),
)


def conclusion_findings(
    conclusion: Conclusion, notebook: NotebookRecord | None, kind: RunKind
) -> tuple[ReplyFinding, ...]:
    """Return what is wrong with a conclusion in a run of this kind, in the order of the checks."""
    said = Concluded(conclusion, notebook)
    faults = (check.finding(said, kind) for check in CONCLUSION_CHECKS)
    return tuple(item for item in faults if item is not None)


def unshown_cases(cases: Sequence[Case], shown: Mapping[str, str], everything: str = "") -> list[Case]:
    """Return the cases that name a source which does not hold them; one from memory names none.

    `shown`: Texts by id; of one whose text is "" the id alone is looked at. `everything`: What a case may stand in that names a source
    otherwise than by an id.
    """

    def stands(case: Case) -> bool:
        source = case.source.strip("[]() .").casefold()
        number = re.search(r"\d[\w.]*", source)
        text = shown.get(source, shown.get(number[0]) if number else everything)
        return text is not None and (not text or _holds(text, case.case))

    return [case for case in cases if not _FROM_MEMORY.search(case.source) and not stands(case)]


def _holds(text: str, case: str) -> bool:
    """Whether every number of a case and one of its longer words stand in a text."""
    words, own = (set(re.findall(r"\w+", each.casefold())) for each in (text, case))
    numbers = {word for word in own if word.isdigit()}
    named = {word for word in own if len(word) > 4 and not word.isdigit()}
    return numbers <= words and (not named or bool(named & words))


def case_finding(numbers: Accounting, shown: Mapping[str, str], everything: str = "") -> ReplyFinding | None:
    """Return what is wrong with the sources of a reply's cases, and the base rate of those that stand where they say."""
    unshown = unshown_cases(numbers.cases, shown, everything)
    if not unshown:
        return None
    standing = tuple(case for case in numbers.cases if case not in unshown)
    k, n, rate = numbers.model_copy(update={"cases": standing}).counted()
    left = (
        f"{k} of the other {n} came true, (k + 1) / (n + 2) = {rate:.2f}" if n else "no other case is listed"
    )
    named = "; ".join(f"{case.case} ({case.source})" for case in unshown[:3])
    return ReplyFinding(
        check="sources of cases",
        words=f"{len(unshown)} of the {len(numbers.cases)} listed cases count as from memory, since the source does not show them: {named}; {left}",
        mend="Name the source that shows a case, or none",
    )


_FROM_MEMORY = re.compile(r"^\W*$|\b(?:none|memory|knowledge|n/?a)\b", re.IGNORECASE)

#: Those that are asked of a synthesis that states its own value: what its children showed stands for its cells.
_OF_A_SYNTHESIS = (
    "figures from no cell",
    "counted cases",
    "bounds",
    "far from base rate",
    "report and number",
)


def synthesis_findings(
    conclusion: Conclusion, shown: Mapping[str, str], statement: str, kind: RunKind
) -> tuple[ReplyFinding, ...]:
    """Return what is wrong with a synthesis that states its own value; ``shown`` is what it was given, by node."""
    record = NotebookRecord(
        proposition=statement, printed=shown, data_calls=1, shown_by="report of a proposition below"
    )
    said = Concluded(conclusion, record)
    faults = (check.finding(said, kind) for check in CONCLUSION_CHECKS if check.name in _OF_A_SYNTHESIS)
    return tuple(item for item in faults if item is not None)


#: A writer who gives a reason for going elsewhere may do so in his prose.
_REASONED = re.compile(
    r"\b(?:adjust\w*|rais\w+|lower\w*|mov(?:e|es|ed|ing)|shad\w+|discount\w*|cut|trim\w*|add(?:s|ed)?|subtract\w*|below|above|higher|less|despite|although|but|however|yet|because"
    r"|since|already|left|remain\w*|instead|unlike|whereas|no longer|outdated|does not apply|irrelevant)\b",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"(?<![\w.])(\+\s?\d+(?:\.\d+)?|[\-−]\d+(?:\.\d+)?)\s*(%|pp\b|points?\b|percentage points?\b)?"
)
_STEP_ALONE = re.compile(r"[\w ]+: [+\-−]\d[\d.e\-+]*(?: ?(?:%|pp|points?))?")
_SHARE = re.compile(r"(?<![\w.,/-])(\d+(?:\.\d+)?)[ \u00a0]?(%|per ?cent\b)?(?![\w/]|[.,]\d)", re.IGNORECASE)
_NOUN = r"(?:probability|p_true|p\(true\)|p|chance|likelihood|estimate|forecast|belief|odds|number|answer)"
#: Where a sentence says in the writer's own name what the probability is; the share comes next.
_OWN = re.compile(
    r"\b(?:I|we)(?:'d|'m)? (?:\w+ ){0,2}?(?:put|estimate|conclude|judge|settle|forecast|arrive|land|end|say|finish)\b"
    rf"|\b(?:final|overall|resulting|concluded|my|our|stated|therefore|hence|thus|so)\b[^.\n\d]{{0,60}}?\b{_NOUN}\b"
    rf"|(?:^|[.;\n(] ?)\W*{_NOUN}\W*(?:=|:|≈|is|of)"
    r"|^\W*(?:result|on balance|in sum|bottom line|overall|finally)\W*[:.]\W",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(not|no|false|fails?|against|untrue|does not|won't|otherwise|wrong|miss(es)?)\b", re.IGNORECASE
)
#: What a sentence names beside its probability, where the share may be of that.
_OTHER = re.compile(
    r"\b(base rate|comparable|windows?|cases?|history|historical|past|market|crowd|priced?|implied|prior|share of|band|bounds?|interval"
    r"|between|(?:in|out)side view|start\w*|first|before|earlier|naive|model|raise|lower|add|subtract|points?|if|given|conditional\w*|unless|each|per(?! ?cent)"
    r"|assuming|suppos\w+|standard|deviations?|mean|average|weight\w*|correlation|volatility|half|part|step|stage|component|of these|reading"
    r"|formula|normal|simulation|tail|says?|implies)\b",
    re.IGNORECASE,
)


def _own_probabilities(prose: str) -> tuple[list[float], list[float]]:
    """Return the shares that a report says are its probability, and all shares from the last on, with what speaks of the opposite.

    A sentence that is nothing but a share, at the end, is one too. What a sentence denies may be meant either way.
    """
    own: list[float] = []
    after: list[float] = []
    sentences = [part for part in re.split(r"(?<=[.!?;])\s+|\n+", prose) if part.strip()]
    for sentence in sentences:
        negated = _NEGATED.search(sentence) is not None
        shares = [
            (match.start(), share)
            for match in _SHARE.finditer(sentence)
            if (share := _as_share(*match.groups())) is not None
        ]
        said = None if negated or _OTHER.search(sentence) else _OWN.search(sentence)
        bare = (
            sentence is sentences[-1]
            and len(re.findall(r"[^\W\d]{2,}", _SHARE.sub("", sentence))) <= 2
            and not negated
        )
        if said is not None or bare:
            after = []
            own += [share for start, share in shares if said is None or start >= said.end()][:1]
        if own or bare:
            after += [value for _, share in shares for value in ((share, 1 - share) if negated else (share,))]
    return own, after


def _as_share(number: str, percent: str | None) -> float | None:
    value = float(number) / (100 if percent else 1)
    return value if 0 <= value <= 1 and (percent or "." in number) else None


def _moves(adjustments: str) -> Iterator[float]:
    # Of {"why": "-3.9% a month so far", "points": +0.15} the reason is no step.
    alone = [part for part in adjustments.split("; ") if _STEP_ALONE.fullmatch(part)]
    for match in _SIGNED.finditer("; ".join(alone) or adjustments):
        yield float(match[1].replace("−", "-").replace(" ", ""))
