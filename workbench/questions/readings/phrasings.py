"""Other ways of saying what the reader knows, put into its own words; and asides, which change nothing of a claim and are named.

Every rule is about one way of speaking, and not about one claim. Words that could make another claim ("if", "unless", a second
quantity) are never touched here.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from difflib import SequenceMatcher

from workbench.questions.readings.calendar_days import MONTHS
from workbench.questions.readings.plain_text import PlainText

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNT = r"\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty"
_DAY_NAME = "(?:" + "|".join(_WEEKDAYS[:5]) + ")"
_PARTS = {"tenth": 10, "fifth": 20, "quarter": 25, "third": 33.333333, "half": 50}
_NUMBER = r"\$?\d[\d,.]*k?"
_UNIT = r"(?:%|percent(?:age points?)?|per cent|pct|bps?|basis points?|pts?|points?)"
_SAY = r"(?:says?|said|warns?|warned|predicts?|predicted|insists?|insisted|reckons?|argues?|argued|forecasts?|thinks?|believes?|bets?|claims|notes|tells? clients|suggests?)"
_WHO = r"(?!(?:if|unless|and|or|but|not|while|assuming|provided|except|excluding)\b)[a-z][a-z.'-]*"
_MEETS = r"(?:meets?|convenes?|gathers?|sits? down|get together|gets together)"
_MAKERS = r"(?:it|they|policy-?makers|officials|rate-?setters|the (?:fed|fomc|committee|central bank))"
_BANK = re.compile(r"\b(?:fed|fomc|federal reserve|committee|funds rate|policy rate)\b")

Rewriting = str | Callable[[re.Match[str]], str]


def _quarter_of(match: re.Match[str]) -> str:
    last = MONTHS[match["last"].rstrip(".")]
    return f"q{last // 3}" if last % 3 == 0 else match[0]


#: (what is written, the same in words that the reader knows)
_SAME: tuple[tuple[str, Rewriting], ...] = (
    (r"^(?P<what>[a-z0-9&^$/]+) [a-z0-9.,$%]+\?+ *(?:no|nah|nope)[.,!] *", r"\g<what> "),
    # of two levels the one that is named first is asked about
    (rf"(?P<a>{_NUMBER}) first,? or (?P<b>{_NUMBER})(?: first)?(?=[?,. ]|$)", r"\g<a> before \g<b>"),
    (rf"(?P<a>{_NUMBER}) or (?P<b>{_NUMBER}) first(?=[?,. ]|$)", r"\g<a> before \g<b>"),
    # when
    (r"\b(?:within|in|over|during)(?: the)?(?: next| coming| following)? 24[- ]?h(?:ou)?rs?\b", "by tomorrow"),
    (r"\b(?P<n>48|72|96)[- ]?h(?:ou)?rs?\b", lambda m: f"{int(m['n']) // 24} days"),
    (r"\bthis side of\b", "before"),
    (r"(?<![\w'])'?till?\b(?!er)", "until"),
    (r"\b(?:thx|tx|thanx|thks|tks)-?giving\b", "thanksgiving"),
    (rf"\b(?:in|during|over) (?:either )?(?P<a>{_MONTH}) or (?P<b>{_MONTH})(?= |$|[,.;])", r"from \g<a> to \g<b>"),
    (rf"\bbetween (?P<a>{_MONTH}) and (?P<b>{_MONTH})(?= |$|[,.;])", r"from \g<a> to \g<b>"),
    (rf"\b(?:the )?(?:{_MONTH})(?:-| to |-to-|/)(?P<last>{_MONTH}) (?:quarter|period)\b", _quarter_of),
    (rf"\b(?:the )?(?:three|3) months (?:to|through|ending(?: in)?|until) (?P<last>{_MONTH})(?= |$|[,.;])", _quarter_of),
    (rf"\b(?:when|once|the next time|next time) {_MAKERS}(?: next {_MEETS}| {_MEETS} (?:next|again))\b", "at the next meeting"),
    (rf"\b(?:the )?next time {_MAKERS} {_MEETS}\b", "at the next meeting"),
    (r"\b(?:at |on |in )?(?:the |its |their )(?:next|upcoming|coming) (?:policy |rate[- ]setting |rate )?(?:gathering|get-together|sit-down|confab|huddle|announcement)\b", "at the next meeting"),
    (r"\b(?:at|in) its (?P<w>next|upcoming|coming) (?:policy |rate[- ]setting )?meeting\b", "at the next meeting"),
    (r"\b(?:when|once|as) (?:the )?next (?:figure|number|data|report|print|release)s? (?:drops?|lands?|comes? out|(?:is|are) (?:out|released|published))\b", "in the next report"),
    (r"\bwhen (?:the )?(?:[a-z]+ ){1,3}next (?:reports?|publishes)\b", "in the next report"),
    (rf"\b(?:next |this |this coming )?{_DAY_NAME}'s (?:jobs |payrolls? |employment |cpi )?(?:report|release|print|number|figure|data)\b", "the next report"),
    (r"(?<=the )(?P<unit>year|quarter|month|week) is (?:through|done|finished|up)\b", r"\g<unit> is out"),
    (r"\bno(?:t)? later than\b", "by"),
    (r"\b(?:when|as|by the time) the (?P<unit>year|quarter|month|week) (?:ends|closes|draws to (?:a|its) close|comes to an end|is over)\b", r"at the end of the \g<unit>"),
    (r"\b(?P<w>some|any) (?:juncture|moment|pt|stage)\b", r"\g<w> point"),
    (rf"(?P<no>\b(?:won't|will not|does not|doesn't|do not|don't|never)\b.*?) until (?=(?:next )?(?:(?:19|20)\d\d|year|month|quarter|[qh][1-4]\b|{_MONTH}))", r"\g<no> before "),
    (r"\b(?P<n>3|6|9|12|18|24)m (?=libor|t-?bills?\b|bills?\b|from now|out\b|target|view)", r"\g<n>-month "),
    (r"\bin (?P<n>3|6|9|12|18|24)m\b(?! [a-z])", r"in \g<n> months"),
    (r"(?<=-month) (?=from now)", "s "),
    # how much
    (r"(?<=\d) (?:a|per) (?:pound|lb)\b", ""),
    (r", or (?P<w>more|better|higher|less|lower)\b,?", r" or \g<w>"),
    (r"(?<=\d) ?pc\b", "%"),
    (r"\bfiddy\b", "fifty"),
    (r"\ba dozen\b", "12"),
    (r"\b(?:st )?valentine'?s\b(?! day)", "valentine's day"),
    (rf"(?P<n>{_NUMBER})\+ ?(?P<u>{_UNIT}|bucks|dollars)(?![\w])", r"\g<n> \g<u> or more"),
    (r"\b(?:a|one) (?P<part>tenth|fifth|quarter|third|half) (?P<how>dearer|cheaper|higher|lower|more expensive|pricier)\b", lambda m: f"{_PARTS[m['part']]:g}% {'higher' if m['how'] == 'more expensive' else m['how']}"),
    (rf"\b(?:an? )?(?:further|additional|extra|another) (?=\$?\d[\d.,]* ?(?:{_UNIT}|dollars|bucks)(?!\w))(?!.*\b(?:hike|cut)s?\b)", "by "),
    (r"\bsomewhere (?=between)", ""),
    (rf"\bneither (?:above|over) (?P<a>{_NUMBER}) n?or (?:below|under) (?P<b>{_NUMBER})", r"between \g<b> and \g<a>"),
    (rf"\bneither (?:below|under) (?P<a>{_NUMBER}) n?or (?:above|over) (?P<b>{_NUMBER})", r"between \g<a> and \g<b>"),
    (r"\bor (?:hotter|stronger|dearer|richer|firmer)\b", "or higher"),
    (r"\bor (?:cooler|softer|weaker|cheaper)\b", "or lower"),
    # how it moves
    (r"\b(?:be |is |fetch(?:es)? )?(?:worth )?(?P<how>half|twice) (?:as much|what it (?:is|costs|fetches)(?: now| today)?)(?: as (?:now|today))?(?= |$)", lambda m: "halve" if m["how"] == "half" else "double"),
    (rf"\bno (?:lower|less) than (?P<a>{_NUMBER}(?: ?{_UNIT})?)(?: and|,| but)(?: and| but)? no (?:higher|more) than (?P<b>{_NUMBER})", r"between \g<a> and \g<b>"),
    (rf"\bno (?:higher|more) than (?P<a>{_NUMBER}(?: ?{_UNIT})?)(?: and|,| but)(?: and| but)? no (?:lower|less) than (?P<b>{_NUMBER})", r"between \g<b> and \g<a>"),
    (rf"(?P<a>[\d.]+) ?(?:-|to) ?(?P<b>[\d.]+) ?(?P<u>{_UNIT}|dollars|bucks) (?P<way>higher|lower|above|below)(?: than)? (?P<now>today|now|here|(?:its |the )?current(?: level)?|where (?:it|they) (?:is|are)(?: now| today)?)\b", lambda m: f"{'rises' if m['way'] in ('higher', 'above') else 'falls'} between {m['a']} and {m['b']} {m['u']} from today"),
    (rf"\b(?:is |ends |closes |sits |trades |end )?(?:more than |at least |over )?(?P<n>[\d.]+ ?{_UNIT})(?: or (?:more|further))? away from (?:today's (?:close|level|price)|here|today|now|where it is(?: now| today)?)(?:,? (?:up or d(?:ow)?n|in either direction|either way|one way or (?:the other|another)))?", r"moves at least \g<n> either way"),
    (r"(?P<how>either way)(?P<when>.*?),? (?:up or d(?:ow)?n|in either direction)$", r"\g<how>\g<when>"),
    (r"\b(?:with)?in (?:one|1) (?:single |trading )?(?P<w>day|session)\b", r"in a single \g<w>"),
    (r"\b(?:for|in|on|during) at least 1 (?P<w>day|session|week|month|quarter)\b", r"in at least one \g<w>"),
    (r"\bat least 1 (?P<w>day|session|week|month|quarter)\b", r"at least one \g<w>"),
    (rf"\b(?:does |posts? |sees? |gets? |has |have |for |logs? |notch(?:es)? )?(?P<more>at least |more than |no fewer than )?(?P<n>{_COUNT}) (?P<how>green|up|positive|winning|red|down|negative|losing) (?P<w>days|sessions|closes)\b", lambda m: f"closes {'higher' if m['how'] in ('green', 'up', 'positive', 'winning') else 'lower'} on {m['more'] or ''}{m['n']} days"),
    (rf"^(?P<lead>.*?)(?:there (?:will be|are|'ll be) )?(?P<count>(?:at least |more than |no fewer than )(?:{_COUNT})) (?:trading )?(?P<w>days|sessions|closes) (?:on|in|during) which (?P<what>.+)$", r"\g<lead>\g<what> on \g<count> days"),
    (rf"\b(?P<w>(?:highest|lowest|best|worst) (?:close|closing level|finish|level)) of (?=(?:the |this |next )?(?:(?:19|20)\d\d|[qh][1-4]\b|[1-4][qh]\b|year|quarter|month|first|second|third|fourth|{_MONTH}))", r"\g<w> in "),
    (r"\bbest (?P<w>close|closing level|day's close|finish|level)\b", "highest close"),
    (r"\bworst (?P<w>close|closing level|finish|level)\b", "lowest close"),
    (rf"\b(?:breaks?|cracks?|busts?|snaps?|breaching|breaking|break) (?P<n>{_NUMBER}) (?:to|on) the (?P<way>down|up)side\b", lambda m: f"{'falls below' if m['way'] == 'down' else 'rises above'} {m['n']} at some point"),
    (r"\b(?:today's|the current|the present|the existing) (?:setting|stance)\b", "today's level"),
    (r"\b(?P<who>fed|fomc|committee)(?P<will> will| to)? (?:goes?|delivers?|does) (?=\d+ ?(?:bps?|basis))", r"\g<who>\g<will> hikes "),
    (r"\b(?:an? )?(?:cumulative |total |combined )*(?:of )?(?P<n>\d+) (?P<u>bps?|basis points?)(?: worth)? (?:of|in) (?:further |additional |more |extra |cumulative )*(?:policy )?(?P<way>tightening|hikes|rate hikes|increases|easing|cuts|rate cuts|loosening)\b", lambda m: f"{'cuts' if re.search('eas|cut|loos', m['way']) else 'hikes'} by {m['n']} {m['u']}"),
    (r"\b(?P<who>fed|fomc|committee)(?P<will> will| to)? (?:goes?|delivers?|does|hikes?) (?P<n>25|50|75|100)(?= (?:at|in|on|by|next)\b|$)", r"\g<who>\g<will> hikes \g<n>bp"),
    (r"\b(?P<who>fed|fomc|committee)(?P<will> will| to)? (?:cuts?|eases?|lowers?) (?P<n>25|50|75|100)(?= (?:at|in|on|by|next)\b|$)", r"\g<who>\g<will> cuts by \g<n>bp"),
    (r"\b(?P<who>fed|fomc): (?=hikes|cuts|pauses)", r"\g<who> "),
    (r"\b(?:relative to|compared (?:to|with)|versus) (?:today's|the current|the present) (?:setting|level|close|price)\b", "from today's level"),
    (r"^(?P<n>one|two|three|four) more (?:rate |fed |quarter-point )*(?P<what>hike|cut)s?\b", lambda m: f"the fed {m['what']}s {dict(one='once', two='twice').get(m['n'], m['n'] + ' times')} more"),
    (r"\b(?:is|are) (?:done|finished|through) (?:with )?(?P<what>hiking|raising|tightening|cutting|easing)(?: rates)?\b", lambda m: f"will not {'cut' if m['what'] in ('cutting', 'easing') else 'hike'} from here"),
    (r"(?<=[a-z]) (?P<n>[23])x(?= (?:by|before|from|in|this|next)\b|$)", lambda m: " doubles" if m["n"] == "2" else " triples"),
    (r"\b(?P<who>fed|fomc|committee) (?P<what>lifting|raising|hiking|cutting|lowering)(?= (?:its|the|rates|interest))", lambda m: f"{m['who']} {'cuts' if m['what'] in ('cutting', 'lowering') else 'raises'}"),
    (r"\b(?P<who>fed|fomc) (?:poised|set|ready|about) to\b", r"\g<who> to"),
    (r"\b(?P<how>closes?|ends?) out (?=the (?:year|quarter|month|week)\b)", r"\g<how> "),
    (r"\bskips? (?:a |another |its next )?(?:rate )?(?:hike|cut|increase|move|rise)\b", "pauses"),
    (r"\bmakes? (?:its|their|the|a) first (?:sub-?|below[- ])(?P<n>[\d.,]+k?m?) (?:print|reading|close|week|report)\b", r"falls below \g<n> for the first time"),
    (r"\b(?:cracks?|busts?|snaps?)(?= (?:above |below |through )?\$?\d)", "breaks"),
    (r"\bpunch(?:es)? through\b", "breaks through"),
    (r"\btaps\b", "touches"),
    (r"\binto (?=end\b|the end\b|year[- ]end)", "at "),
    # how sure one is
    (r"(?<=[a-z0-9'] )(?:should|ought to)(?= (?!the\b|it\b|they\b|we\b|things\b)[a-z])", "will"),
    (r"\b(?:is|are) (?:widely |now )?(?:seen|expected|forecast|projected|tipped|predicted|slated)(?= (?:to|above|below|at|under|over|[a-z]+ing)\b)", "is"),
    (r"\b(?:seen|tipped|looks?)(?= (?:to|set|likely|below|above|under|over|at)\b)", ""),
    (r"\b(?:do|does) not anticipate\b", "do not expect"),
    (r"\bwill have (?=(?:fallen|risen|dropped|gained|lost|climbed|closed|ended)\b)", "have "),
)  # fmt: skip

#: What changes nothing of a claim: who says so, how sure, where it stands now, and exclamations.
_ASIDES = (
    r", (?:something|a level|levels|a mark|a price|territory)(?: that| which)? [a-z' ]*?(?:not|never|last)[a-z' ]* (?:since|for|in) [a-z0-9 ]+$",
    r"[,(] ?(?:now|currently|today|last|presently) (?:seen |trading |quoted )?(?:at|near|around|about|in) (?:the )?(?:low|mid|high|upper|lower)?[- ]?\$?[\d.,]+k?(?:s|%| ?bps?)?[,)]",
    rf"[,(] ?(?:which stands )?at \$?[\d.,]+k?(?:%| ?bps?)? (?:now|today|currently|at present|in {_MONTH}|last (?:month|week|quarter|year))[,)]",
    rf", which (?:has|have|had|is|was|are|were)(?: {_WHO}){{1,6}},",
    rf",? or so {_WHO}(?: {_WHO}){{0,3}} {_SAY}$",
    r",? or i(?:'ll| will)? (?:eat|shave|quit|delete|retire|resign)[a-z' ]*$",
    r",? ?(?<![\w'])(?:we|i) (?:believe|think|estimate|suspect|reckon|judge|feel|guess|say|forecast|figure|expect|project)(?:,|\.?$)",
    r",? ?(?<![\w'])(?:in (?:our|my) (?:view|judge?ment|opinion|book|estimation)|on our (?:numbers|estimates|forecasts|projections)|by (?:my|our) (?:reckoning|count|estimates?|lights)|in all (?:likelihood|probability)|on balance)(?![\w']),?",
    rf", (?:according to|per) {_WHO}(?: {_WHO}){{0,6}}(?:,|$)",
    rf", (?:so )?{_SAY} {_WHO}(?: {_WHO}){{0,6}}$",
    rf", {_WHO}(?: {_WHO}){{0,5}} (?:{_SAY}|(?:is|are) going to show|will show)$",
    r", (?:i'm told|i am told|we are told|sources say|they say|so they say)$",
    r"(?:[,;] |\.+ )(?:that|this)(?:'s| is| will be)? what [a-z' ]+$",
    r"(?:[,;!?-]|\.+)? ?(?<![\w'])(?:free money|nfa|imh?o|lol|lmao|fight me|mark my words|screenshot this|bookmark (?:it|this)|count on it|book it|chop city|zz+z|fwiw|tbh|ngl|dyor|you heard it here first|don't @ me|trust me|who knows|boring but ok|that'?s the trade|tho(?:ugh)?|that's(?= getting)|(?:there(?:'s| is) )?no doubt(?: about it| abt it)?|no question(?: about it)?|change my mind|bet on it|just watch|watch this space|remember this|thank me later|lfg|yolo|easy peasy|done deal|sell every rip|buy every dip|you'?ll see|wait and see|no brainer|giving it|for what it'?s worth)(?=$|[ ,.!?])[.!]?",
    r", (?:easy(?: money)?|period|full stop|guaranteed|for sure|simple as that|simple as|a number to make the [a-z]+ (?:sweat|smile|blink))[.!]?$",
    r"^(?:i'?m|i am) call(?:ing|in) it[,:.]? ",
    r"^(?:hot take|(?:my |bold )?(?:prediction|call|forecast|bet)|psa|note to self)s?: ",
    r"^(?:our|my) (?:central|base|baseline|main|house) (?:case|scenario|forecast|view|projection) (?:has|is for|is that|sees|calls for|remains for) ",
    r"^we (?:look for|project|forecast|anticipate|maintain our call for|continue to (?:expect|see|look for)|pencil in|envisage|foresee)(?: that)? ",
    r"(?<=: )we (?:maintain our call for|look for|expect|see|keep our call for) (?:an? )?",
    r"(?<= )(?:is|remains) our base case$",
    r"^(?:we|i)(?:'d| would)? (?:put|peg|set|place) the (?:odds|chances?|probability|likelihood) (?:at|around)(?: roughly| about| around)? [\d.]+ ?(?:%|percent|per cent)(?: of| that) ",
    r"^(?:i am |i'm |we are )?(?:there(?:'s| is) )?(?:an? )?[\d.]+ ?(?:%|percent|per cent|pc) (?:odds|chance|probability|likelihood|sure|certain|confident)(?: of| that)? (?:that )?",
    r"^(?:we|i)(?:'d| would)? (?:assign|attach|give) (?:an? )?(?:[\d.]+ ?(?:%|percent|per cent)|better[- ]than[- ]even|good|high|decent|even|strong)? ?(?:odds|chances?|probability|likelihood) (?:to|that|of) ",
    r"^(?:bullion |bond |stock |market |gold |oil |our |the |fx |rates |equity |some |many )*(?:bulls|bears|strategists|watchers) (?:see|expect|reckon|look for)(?: that)? ",
    r"^(?:[a-z']+ ){1,3}(?:isn't|is not|is far from|ain't) over(?::|, and|;) ",
    r"^[a-z]+(?:'s)? (?:slump|rout|rally|slide|surge|fall|rise|run) (?:has further to (?:run|go|fall)|is not over|isn't over|goes on|will continue)(?:, and|;|:) ",
    r"^forget (?:about )?[a-z ]+[.,:] ",
    r", with (?:the )?[a-z0-9 -]+? (?:paying|yielding) more than (?:the )?[a-z0-9-]+(?: yield| note)?(?= (?:on|by|before|at|in)\b)",
)  # fmt: skip
_COMPILED = [(re.compile(pattern), to) for pattern, to in _SAME]
_COMPILED_ASIDES = [re.compile(pattern) for pattern in _ASIDES]


def rephrased(text: PlainText, today: date) -> PlainText:
    """Return a text in the words that the reader knows, without its asides, which it then names.

    >>> from workbench.questions.readings.plain_text import plain_text
    >>> rephrased(plain_text("WTI below 60 this side of xmas, we think"), date(2018, 6, 30)).plain
    'wti below 60 before xmas'
    """
    asides: list[str] = []
    for pattern in _COMPILED_ASIDES:
        for match in reversed([*pattern.finditer(text.plain)]):
            asides.append(text.words(*match.span()).strip(" ,;:.!?()"))
            text = _put(text, match.span(), " ")
    for compiled, to in _COMPILED:
        for match in reversed([*compiled.finditer(text.plain)]):
            text = _put(text, match.span(), match.expand(to) if isinstance(to, str) else to(match))
    for rule, said in (*_of_the_moment(text.plain, today), (r"^ +| +(?= |$)", "")):
        for match in reversed([*re.finditer(rule, text.plain)]):
            text = _put(text, match.span(), said)
    return replace(text, asides=tuple(reversed(asides)))


def _of_the_moment(plain: str, today: date) -> tuple[tuple[str, str], ...]:
    last_close = _WEEKDAYS[min(today.weekday(), 4)]
    rules = [(rf"\b(?:last )?{last_close}'s (?:close|closing (?:level|price))\b", "today's close")]
    if _BANK.search(plain):
        rules.append((r"\bat the next (?:one|go)\b", "at the next meeting"))
        rules.append((r"\bthe committee\b", "the fed"))
        if "pause" in plain:  # the same, said again
            rules.append((r"(?:,| and) (?:to )?(?:keeps?|leave[s]?|holds?) (?:its|the) (?:policy )?(?:target|rate)s?(?: range)? (?:where it is|unchanged|steady)$", ""))  # fmt: skip
    if re.search(r"\b(?:curve|spread|2s ?/?10s)\b", plain):
        rules.append((r"(?<=stays )positive|(?<=remains )positive|(?<=stay )positive", "above zero"))
        rules.append((r"(?<=stays )(?:negative|inverted)|(?<=remains )(?:negative|inverted)|(?<=stay )(?:negative|inverted)", "below zero"))  # fmt: skip
    if re.search(r"\b(?:hold|remain|stay|keep|hodl)", plain):
        rules.append((r"\b(?:in |on )?(?:every|each)(?: single)? (?:week|month|day|session|trading day)\b(?: of)?", "at all times"))  # fmt: skip
    return tuple(rules)


def _put(text: PlainText, span: tuple[int, int], to: str) -> PlainText:
    """Write other words at a place; each new letter stands for all that was typed there."""
    start, end = span
    whole = (text.spans[start][0], text.spans[end - 1][1])
    places = [whole] * len(to)
    if len(to) > 3:  # what stands in both keeps its own place
        for block in SequenceMatcher(None, text.plain[start:end], to, autojunk=False).get_matching_blocks():
            if block.size > 3:
                places[block.b : block.b + block.size] = text.spans[
                    start + block.a : start + block.a + block.size
                ]
    plain = text.plain[:start] + to + text.plain[end:]
    return replace(text, plain=plain, spans=(*text.spans[:start], *places, *text.spans[end:]))


__all__ = ["rephrased"]
