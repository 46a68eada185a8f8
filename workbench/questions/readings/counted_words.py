"""Numbers of a text that are no level: averages, steps and streaks, moves of a central bank, the length of a volatility."""

import re
from dataclasses import dataclass

_COUNT_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "a": 1, "one": 1}  # fmt: skip
_TIMES = {"once": 1, "one": 1, "twice": 2, "two": 2, "three": 3, "four": 4}


@dataclass(slots=True)
class MaskedText:
    """The text while its parts are taken out of it; ``compared`` and ``moved`` are the words of its comparison and its motion."""

    text: str
    compared: str = ""
    moved: str = ""

    def take(self, pattern: str, letter: str = "R") -> re.Match[str] | None:
        """Write the first match of a pattern over, and return it."""
        match = re.search(rf"(?<![a-z0-9]){pattern}" if pattern[0] not in "(<>=" else pattern, self.text)
        if match:
            self.over(match.span(), letter)
        return match

    def word(self, words: str) -> re.Match[str] | None:
        """Take one of several words or phrases, as a whole."""
        return self.take(rf"(?:(?<![\w'])(?:{words})(?![\w']))")

    def has(self, pattern: str) -> bool:
        """Return whether a pattern stands in what is left."""
        return re.search(pattern, self.text) is not None

    def over(self, span: tuple[int, int], letter: str = "R") -> None:
        """Write a place over; letters of other slots stay."""
        start, end = span
        covered = "".join(letter if each == " " or each.islower() or not each.isalpha() else each for each in self.text[start:end])  # fmt: skip
        self.text = self.text[:start] + covered + self.text[end:]


def measured_from_now(text: str) -> tuple[str, bool]:
    """Return the text without "from here", "than where it stands today", and whether they were in it; before days are read."""
    part = MaskedText(text)
    matched = part.word(
        r"(?:from|th[ae]n|versus|vs\.?|compared (?:to|with)|relative to|of) (?:(?:its|the|their) )?(?:where (?:it|they) (?:is|are|stands?|trades?)|(?:it|they) (?:is|are|does|do|was|were|stands?)|here|current(?: levels?| price| close| value)?|present level|last (?:known )?(?:close|price|value)|spot)(?: (?:right )?(?:now|today|tonight|at present))?"
        r"|(?<!day )(?<!days )(?<!week )(?<!weeks )(?<!month )(?<!months )(?<!year )(?<!years )(?:from|th[ae]n|versus|vs\.?) (?:now|today)(?:'s (?:close|levels?|price))?"
    )
    level_now = part.word(
        r"(?<!above )(?<!below )(?:today's|current|present|prevailing) (?:levels?|price|value|quote|close)"
    )
    # "Lower than it started", "above where it began": its window says when that was.
    part.word(
        r"(?:where|what|th[ae]n(?: where)?|from where) (?:it|they) (?:started|began|opened)(?: at| from)?"
    )
    started = part.text
    part.word(
        r"(?<=above )(?:today's|current|the current|its current|present) (?:close|levels?|price)|(?<=below )(?:today's|current|the current|its current|present) (?:close|levels?|price)"
    ) if matched is None else None
    return part.text, matched is not None or level_now is not None or part.text != started


def special_counts(text: str) -> tuple[str, dict[str, int]]:
    """Return the text without the numbers that are no level (200-day, 52-week, 3 of 5 days), and those by what they count.

    >>> special_counts("S above its 200-day average")[1]
    {'average': 200}
    """
    part, counts = MaskedText(text), {}
    number = r"(\d+)"
    match = part.take(rf"(?:(?<![a-z0-9.]){number}[- ]?(?:(?:trading )?days?|d)?[- ]?(?:simple |exponential )?(?:moving average|average|d?ma|sma)(?!\w))")  # fmt: skip
    if match and int(match[1]) < 400:
        counts["average"] = int(match[1])
    elif match:
        part.text = text
    if part.take(r"12[- ]month (?:rate|change|inflation|growth)(?: (?:rate|of))?"):
        counts["yoy"] = 1
    match = part.take(r"(?:its |the |their )?(?<!week )(?:moving average|long-term average)")
    if match and "average" not in counts:
        counts["average"] = 0
    match = part.take(
        rf"(?:a |an |its )?(?:new |fresh )?{number}[- ]?(year|month|week|day)(?= (?:high|low))", "X"
    )
    if match:  # in weeks, as its sentence says it
        weeks = {"year": 52, "month": 52 / 12, "week": 1, "day": 1 / 5}[match[2]]
        counts["extreme"] = max(1, round(int(match[1]) * weeks))
    return part.text, counts


def count_of_steps(plain: str) -> tuple[str, dict[str, str | int]]:
    """Return the text without "3 of the next 5 days" or "on at least 5 days", and the numbers and the step in it.

    >>> count_of_steps("closes higher on 3 of the next 5 days")[1]
    {'times': 3, 'of': 5, 'step': 'day'}
    """
    number = r"\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty"
    step = r"(?P<step>day|session|trading day|week|month|quarter|close|meeting|reading|print|release)s?"
    at_least = r"(?:(?:on|in|for) )?(?P<more>at least |more than |a minimum of )?"
    row = r"(?P<row> (?:in a row|running|straight|on the trot)| consecutively)?"
    part = MaskedText(plain)

    def value(text: str | None) -> int:
        return 0 if text is None else int(text) if text.isdigit() else _COUNT_WORDS[text]

    every = part.take(
        rf"(?:(?:in |on |for )?(?:every (?:one|1)|each(?: and every (?:one|1))?|every|all)(?: of)? (?:the )?(?:next |coming )?(?P<m>{number}) (?:trading |monthly )?{step}\b)"
    )
    if every:
        return part.text, {"times": value(every["m"]), "of": value(every["m"]), "step": every["step"]}
    them = part.take(
        rf"(?:(?:on |in )?(?P<more>at least |no fewer than |no less than |more than )?(?P<n>{number}) of them)"
    )
    if them:
        return part.text, {
            "times": value(them["n"]) + ((them["more"] or "").startswith("more")),
            "step": "day",
        }
    match = part.take(
        rf"(?:(?:(?:on|at) )?(?P<more>at least |more than |no fewer than )?(?:(?P<twice>twice)|(?P<n>{number}) (?:times|occasions|separate days))(?! (?:as|more|the|that|higher|lower)))"
    )
    if match:
        times = 2 if match["twice"] else value(match["n"])
        return part.text, {"times": times + ((match["more"] or "").startswith("more")), "step": "day"}
    match = part.take(
        rf"(?:(?P<n>{number}) (?:straight|consecutive|successive) (?P<step>daily|weekly|monthly|quarterly)(?= (?:gains?|loss(?:es)?|declines?|rises?|falls?|increases?|drops?)\b))"
    )
    if match:
        unit = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter"}[match["step"]]
        return part.text, {"times": value(match["n"]), "step": unit, "row": 1}
    match = part.take(
        rf"(?:{at_least}(?P<n>{number})(?: out)? of (?:the |its )?next (?P<m>{number})(?=$| (?:on|in|by|before|through|until)\b))"
    )
    if match:
        return part.text, {"times": value(match["n"]), "of": value(match["m"]), "step": "day"}
    match = part.take(
        rf"(?:{at_least}(?P<n>{number})(?: or more)? (?:out )?of (?:the |its )?(?:next |coming |following )?(?P<m>{number}) (?:trading |monthly |weekly )?{step}\b)"
    )
    if match:
        more = (match["more"] or "").startswith("more")
        return part.text, {"times": value(match["n"]) + more, "of": value(match["m"]), "step": match["step"]}
    match = part.take(
        rf"(?:{at_least}(?P<n>{number})(?: or more)?(?P<row1> (?:consecutive|straight|successive))? (?:different |separate |trading )?{step}(?P<more2> or more)?{row}(?! (?:from|high|low|hence|ahead|out|later|average|moving))(?<!next)\b(?: (?:in|of|during)(?= (?:the|its) (?:next|W)))?)"
    )
    if match and not re.search(r"(?:next|within|in|over|coming|following|past|last|the) $", plain[: match.start("n")]) and (match["more"] or match["row1"] or match["row"] or re.match("(?:on|for)", match[0])):  # fmt: skip
        more = (match["more"] or "").startswith("more")
        matched: dict[str, str | int] = {"times": value(match["n"]) + more, "step": match["step"]}
        if match["row1"] or match["row"]:
            matched["row"] = 1
        return part.text, matched
    return plain, {}


def moves_of_a_meeting(text: str) -> tuple[str, dict[str, int]]:
    """Return the text without how often a central bank moves its rate, and that number.

    >>> moves_of_a_meeting("the fed hikes twice more this year")[1]
    {'moves': 2, 'now': 1}
    """
    part = MaskedText(text)
    if not part.has(r"\b(?:fed|federal reserve|fomc|rates?)\b") or not part.has(
        r"\b(?:hik|cut|rais|lower|increas|eas)"
    ):
        return text, {}
    number = r"(?P<n>once|twice|one|two|three|four|[1-9])"
    match = part.take(
        rf"(?:(?:at least )?(?:another )?(?:(?P<w>once|twice)|{number}(?: more| further| additional)?(?: times?|(?= (?:rate )?(?:hikes?|cuts?|increases?)\b)))(?: more| again)?(?![\w.]))"
    )
    if match is None:
        return text, {}
    written = match["w"] or match["n"]
    moves: dict[str, int] = {"moves": _TIMES.get(written) or int(written)}
    # "Two more": beyond what is known, and not beyond the start of the year.
    return part.text, moves | (
        {"now": 1} if re.search("more|another|further|additional|again", match[0]) else {}
    )


def volatility_length(text: str) -> tuple[str, tuple[int, str] | None]:
    """Return the text without the length in "3m realised vol", and that length as `calendar_days.after` takes it.

    >>> volatility_length("S 3m realized vol")[1]
    (3, 'month')
    """
    part = MaskedText(text)
    match = part.take(
        r"(?:(?P<n>\d+)[- ]?(?P<unit>months?|days?|weeks?|years?|m|d|w|y)(?= (?:(?:annuali[sz]ed|forward|trailing) )*(?:realised|realized|actual|historical|vol|volatility)\b))"
    )
    if match is None:
        return text, None
    unit = {"m": "month", "d": "trading day", "w": "week", "y": "year"}[match["unit"][0]]
    return part.text, (int(match["n"]), unit)
