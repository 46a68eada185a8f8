"""``read_claim``: from a sentence that says the same on any day to its claim, or a refusal in one sentence; every statement is read by it."""

import re
from dataclasses import replace
from datetime import date

from workbench.propositions.values import MAX_STATEMENT
from workbench.questions.canonical import Sentence, canonical_claim, plain_words
from workbench.questions.claims import REFERENCE, Claim
from workbench.questions.errors import ANOTHER_MODEL, ClaimRefused
from workbench.questions.readings.read import only_reading
from workbench.questions.series.embedded_series import KNOWN

CAN_DO = (
    f"offline/analyst decides one dated claim about {KNOWN}: higher or lower than on a date, above, below or between "
    "levels, above its 200-day average, a rise or fall of N %, touching a level, a drawdown, realised volatility, "
    "outperformance; for anything else ",
    *ANOTHER_MODEL,
)
_REASONS = (
    (r"\b(because|due to|caus(?:e|es|ed|ing)|as a result|results? (?:in|from)|leads? to|led to|thanks to|driven by|owing to|makes?)\b", "a claim about causes cannot be decided by rule"),
    (r"\b(good|bad|better|best|worse|worst|attractive|over-?valued|under-?valued|cheap|expensive|should|ought|fair|worth|worthwhile|buy|sell|wise|safe|risky|healthy|strong|weak|sound)\b", "a value judgement cannot be decided by rule"),
)  # fmt: skip
_COMPOUND = re.compile(r"\b(and|or|but|unless|if|when|while|whereas|both|either|then)\b|;")
_NO_FORM = (
    "the claim is not one of the patterns that are understood (is a level, a percentage or a word missing?)"
)


def read_claim(text: str) -> Claim:
    """Return the claim that a sentence states; the offline analyst reads every statement through this.

    Raises `ClaimRefused`: Empty, compound, causal, a value judgement, an unknown series, no date, an impossible date, or words that do not
    say one thing.

    >>> read_claim("VIX above 20 on 2018-12-31").statement
    'The VIX closes above 20 on 2018-12-31'
    >>> read_claim("Will Yahoo:aapl close above $200 at the end of 2026?").statement
    'yahoo:AAPL closes above 200 on 2026-12-31'
    """
    words = plain_words(text)
    if not words:
        raise ClaimRefused("the claim is empty; ", *CAN_DO)
    if len(words) > MAX_STATEMENT:
        raise ClaimRefused(
            f"the claim has {len(words)} characters, at most {MAX_STATEMENT} are read; ", *CAN_DO
        )
    if words.lower().startswith(REFERENCE.lower()):
        return replace(read_claim(words[len(REFERENCE) :]), reference=True, notes=())
    if (claim := canonical_claim(words)) is not None:
        return claim
    if years := re.findall(r"\b(?:19|20)\d\d\b", words):
        # What says something else on another day ("next month") is no sentence of a claim.
        before = int(min(years)) - 1
        early, late = (only_reading(words, date(before, month, 3)) for month in (1, 2))
        if early and late and early.claim is not None and early.claim == late.claim:
            return early.claim
    raise ClaimRefused(f"{_reason(words)}: {words!r}; ", *CAN_DO)


def series_of_statement(text: str) -> str:
    """Return the series that a claim in a sentence is about, by its key; "" for a sentence that is no claim of the grammar.

    >>> series_of_statement("VIX above 20 on 2018-12-31"), series_of_statement("Something happens")
    ('VIX', '')
    """
    try:
        return read_claim(text).series
    except ClaimRefused:
        return ""


def _reason(words: str) -> str:
    """Why a sentence is no claim."""
    sentence = Sentence(words, iso=False)
    plain = sentence.text.plain
    if wrong := next((piece.value for piece in sentence.pieces if piece.kind == "impossible"), None):
        return f"{wrong} is not a day of the calendar; write dates as YYYY-MM-DD"
    for pattern, reason in _REASONS:
        if re.search(pattern, plain):
            return reason
    if not re.search(r"S\d", sentence.plain):
        return "the claim names no series that is embedded here"
    inside = re.sub(r"between \S+ and \S+|at or (?:above|below)|or more", "", sentence.plain)
    if _COMPOUND.search(inside):
        return "the claim joins several claims, so state them one at a time"
    if re.search(r"\b(?:the|this|next|last) year\b", plain):
        return "the claim names no year (write it as in: closes 2018 higher)"
    if not re.search(r"[DPY]\d", sentence.plain):
        return "the claim names no full date (write YYYY-MM-DD)"
    return _NO_FORM
