"""Checks of a leaf's conclusion against its notebook and against itself: one table, total over the kinds of run.

Each is sent back once by the grounder that asked; what the model stands by is taken, recorded with the leaf and shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxies.asof.mentions import mentions
from workbench.agents.findings.check_table import FindingCheck, ReplyFinding, RunKind
from workbench.agents.findings.quoted_numbers import sources
from workbench.agents.findings.report_numbers import follows, takes, unprinted

if TYPE_CHECKING:
    from workbench.agents.replies.stage_replies import Conclusion

#: How far p may lie from its base rate, on the logit, before something must have moved it there.
FAR = 2.0
#: How far the number in the prose may lie from the one in the JSON.
_SAME = 0.03
#: The check of a notebook whose cells asked for nothing; screens say it from the ledger.
ASKED_NO_DATA = "asked for no data"
_NUDGED = 1e-4  # a base rate of 0 or 1 is taken for this


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
    cells = sources(figures, printed)
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
        """A count below 20 is made by eye; else a parameter of a cell, or what the report shows to follow from outputs, will do."""
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


def _outside_bounds(said: Concluded) -> tuple[str, str] | None:
    contradiction = said.conclusion.numbers.contradiction(said.conclusion.p)
    return (contradiction, "Mend whichever is wrong: p_true, low or high") if contradiction else None


def _far_from_base_rate(said: Concluded) -> tuple[str, str] | None:
    p, numbers = said.conclusion.p, said.conclusion.numbers
    if numbers.base_rate is None or not 0 < p < 1:  # a certain p is another check's
        return None
    # none of a few cases, or all of them, is no certainty
    away = _logit(p) - _logit(min(max(numbers.base_rate, 0.01), 0.99))
    if abs(away) <= FAR:
        return None
    stated = f"p {p:g} lies far from the base rate of {numbers.base_rate:g}"
    mend = "State in adjustments what moves it from there to p_true, or mend the number that is wrong"
    moves = [*_moves(numbers.adjustments)]
    if moves and sum(moves) * away < 0:
        return f"{stated}, and the adjustments point the other way", mend
    beyond = numbers.inside_view is None or abs(_logit(p) - _logit(numbers.inside_view)) > FAR
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
    stated = [*_stated_probabilities(said.prose)]
    if not stated or any(abs(value - p) <= _SAME + 1e-9 for value, _ in stated):
        return None
    last = [value for value, final in stated if final][-1:]
    if not last:
        return None
    return (
        f"the report arrives at {last[0]:g}, and p_true says {p:g}",
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


#: Those that are asked of a synthesis that states its own value: what its children showed stands for its cells.
_OF_A_SYNTHESIS = ("figures from no cell", "bounds", "far from base rate", "report and number")


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
_VALUE = r"(?P<value>\d+(?:\.\d+)?)[ \u00a0]?(?P<percent>%|per ?cent\b)?"
_HEDGE = r"(?:only |just |about |around |roughly |approximately |some |near |close to |at |of |~|≈|to |be |is |as |equal )*"
_FINAL = (
    r"(?:final|overall|resulting|concluded|my|our|stated|conclusion|therefore|hence|thus|so)\b[^.\n]{0,60}?"
)
_NOUN = r"(?:probability|p_true|p\(true\)|p|chance|likelihood|estimate|forecast|belief|odds)"
#: A sentence's last word on the probability; the first group of patterns is the writer's own.
_OWN = re.compile(
    rf"\b(?:I|we) (?:therefore |thus |hence |would |then |now |finally |also )*"
    rf"(?:put|estimate|conclude|judge|settle|forecast|arrive|land|end)\b[^.\n]{{0,60}}?\b{_HEDGE}{_VALUE}"
    rf"|\b{_FINAL}\b{_NOUN}\b[^.\n\d]{{0,40}}?{_HEDGE}{_VALUE.replace('value', 'value2').replace('percent', 'percent2')}"
    rf"|(?:^|[.;\n(] ?)\*{{0,2}}{_NOUN}\*{{0,2}}\s*(?:=|:|≈|is|of)\s*\*{{0,2}}\s*{_HEDGE}"
    rf"{_VALUE.replace('value', 'value3').replace('percent', 'percent3')}",
    re.IGNORECASE,
)
#: A sentence that is nothing but the number.
_BARE = re.compile(
    rf"\W*(?:so|net|hence|thus|result|on balance|overall|in sum|in all|bottom line|finally|answer|(?:my|the) (?:final )?(?:number|figure|judgement|view|estimate|answer|call|probability)(?: is)?"
    rf"|I (?:say|go(?: to)?|take|choose|end at|put it at))?\W*{_HEDGE}{_VALUE}\W*(?:it is|in all)?\W*",
    re.IGNORECASE,
)
_ANY = re.compile(rf"(?<![\w.,/-]){_VALUE}(?![\w/]|[.,]\d)")
_NEGATED = re.compile(
    r"\b(not|no|false|fails?|against|untrue|does not|won't|otherwise|wrong|miss(es)?)\b", re.IGNORECASE
)
_OTHER = re.compile(
    r"\b(base rate|comparable|windows?|cases?|history|historical|past|market|crowd|priced?|implied|prior|share of|"
    r"band|bounds?|interval|between|inside view|outside view|started?|starting|first|before|earlier|naive|model|between|raise|lower|"
    r"add|subtract|points?|if|given|conditional\w*|unless|each|per|assuming|suppos\w+|standard|deviations?|mean|average|weight\w*|correlation|volatility"
    r"|half|part|step|stage|component|of these|launch|reading|formula|normal|simulation|tail|record|says?|implies)\b",
    re.IGNORECASE,
)


def _stated_probabilities(prose: str) -> Iterator[tuple[float, bool]]:
    """Yield the numbers of a report that may be its probability, and whether it says of one that it is.

    Any share agrees with p where it does; only a sentence in the writer's own name, or a bare "Probability: 12 %", can
    disagree. A sentence that speaks of the opposite is taken for one minus its number too.
    """
    sentences = _sentences(prose)
    for sentence in sentences:
        negated = _NEGATED.search(sentence) is not None
        for match in _ANY.finditer(sentence):
            value = _as_share(match["value"], match["percent"])
            if value is not None:
                yield value, False
                if negated:
                    yield round(1 - value, 12), False
        own = None if _OTHER.search(sentence) else _OWN.search(sentence)
        if own is not None:
            number = own["value"] or own["value2"] or own["value3"]
            value = _as_share(number, own["percent"] or own["percent2"] or own["percent3"])
            if value is not None and not negated:
                yield value, True
    if sentences and (bare := _BARE.fullmatch(sentences[-1])):
        value = _as_share(bare["value"], bare["percent"])
        if value is not None:
            yield value, True


def _sentences(prose: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.;!?])\s+|\n+", prose) if part.strip()]


def _as_share(number: str, percent: str | None) -> float | None:
    value = float(number) / (100 if percent else 1)
    return value if 0 <= value <= 1 and (percent or "." in number) else None


def _moves(adjustments: str) -> Iterator[float]:
    # Of {"why": "-3.9% a month so far", "points": +0.15} the reason is no step.
    alone = [part for part in adjustments.split("; ") if _STEP_ALONE.fullmatch(part)]
    for match in _SIGNED.finditer("; ".join(alone) or adjustments):
        yield float(match[1].replace("−", "-").replace(" ", ""))


def _logit(p: float) -> float:
    bounded = min(max(p, _NUDGED), 1 - _NUDGED)
    return math.log(bounded / (1 - bounded))
