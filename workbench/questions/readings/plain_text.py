"""A person's text in plain small letters, spelled right, with the place of every letter in what was typed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


def with_parts(pattern: str, parts: Mapping[str, str]) -> str:
    """Return a pattern with the parts that it names, as ``{month}``."""
    for name, written in parts.items():
        pattern = pattern.replace(f"{{{name}}}", written)
    return pattern


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


#: Words that a typed one may be a slip of; the rest of what is known is too short, or too near to other words.
KNOWN_WORDS = words(
    """
    above below under over between exceeds exceed higher lower wider narrower closes close closed ends
    finishes finish settles rises rise gains gain climbs climb jumps rallies rally surges surge increases
    increase advances drops drop falls falling declines decline tumbles slides slumps plunges loses widens
    widen narrows narrow tightens touches touch reaches reach breaks break crosses cross spikes spike beats
    outperforms outperform underperforms underperform trails stays stay remains remain holds average
    averages volatility realised realized maximum minimum highest lowest record points percent basis dollars
    barrel before after until through within during least quarter month months weeks years today tomorrow
    christmas january february march april june july august september october november december monday
    tuesday wednesday thursday friday nasdaq composite crude inflation spread spreads credit yield yields
    treasury unemployment payrolls bitcoin never unless because while except either neither without since
    against where there other their would could should might price prices stocks shares grains trade trades
    trader about around almost whether index second third fourth first final double doubles halves retail
    sales export exports import copper wheat house housing starts gasoline natural brent apple tesla amazon
    google microsoft facebook netflix nvidia claims jobless rates hikes raise raises lifts meeting release
    report print later early start begin level levels value total world state local south north global
    recession market markets energy earnings futures options spent spend sentiment confidence production
    producer consumer thanksgiving election halloween easter three seven eight eleven twelve twenty thirty
    forty fifty sixty seventy eighty ninety hundred thousand million billion trillion close-up worse better
    stock share bonds funds euros pound sterling drawdown correction quarterly monthly weekly daily annual
    annually straight consecutive moving all-time history recent peak outright ended ending closing rising
    gaining climbing losing beating topping hitting reaching breaking crossing staying trading finishing
    settling reserve consensus inauguration trough troughs gauge bucks situation employment unchanged
    fifth sixth tenth lags treasuries straight midterm handle handles election report number print either direction benchmark volatility sessions session mortgage
    """
)
#: Shorthand of those who type fast.
SHORTHAND = {
    **{f"{word}ies": f"{value}0-{value + 1}0" for value, word in enumerate(("twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet"), start=2)},
    "teens": "10-20", "nxt": "next", "b4": "before", "thru": "through", "qtr": "quarter", "qtrs": "quarters", "wk": "week", "wks": "weeks", "mtg": "meeting",
    "yld": "yield", "ylds": "yields", "sprd": "spread", "sprds": "spreads", "yr": "year", "yrs": "years", "btw": "between", "avg": "average",
    "mth": "month", "mths": "months", "mo": "month", "w": "with", "natty": "natural gas", "atleast": "at least", "pct": "percent", "vols": "vol",
    "mkt": "market", "mkts": "markets", "eq": "equities", "rlzd": "realised", "bip": "bp", "b/w": "between", "bips": "bp", "abv": "above", "blw": "below", "yer": "year",
    "wont": "won't", "dont": "don't", "doesnt": "doesn't", "isnt": "isn't", "cant": "can't", "didnt": "didn't", "wouldnt": "wouldn't", "abuv": "above",
    "btwn": "between", "avgs": "averages", "ovr": "over", "undr": "under", "dn": "down", "teh": "the", "bout": "about", "sesh": "session",
    "thats": "that's", "im": "i'm", "abt": "about", "anohter": "another", "singel": "single", "mortage": "mortgage", "hodls": "holds", "hodl": "hold",
    "fri": "friday", "thurs": "thursday", "thu": "thursday", "tue": "tuesday", "tues": "tuesday", "mon": "monday", "then": "then",
}  # fmt: skip
_NUMBERS = {word: str(value) for value, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1)} | {"twelve": "12", "fifteen": "15", "twenty": "20", "thirty": "30"}  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PIECE = re.compile(r"\b[Bb]4\b|\b[Bb]/[Ww]\b|[A-Za-z]+(?:'[A-Za-z]+)?|\s+|.", re.DOTALL)
_SIGNS = {
    "’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " ", "≥": ">=", "≤": "<=", "½": ".5", "¼": ".25", "¾": ".75",
    "％": "%", "…": ".",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainText:
    """What was typed, and the same in plain letters."""

    #: As it was typed.
    written: str
    #: Small letters, one blank between words, slips mended.
    plain: str
    #: For every letter of ``plain`` the piece of ``written`` that it stands for.
    spans: tuple[tuple[int, int], ...]
    #: Words as typed, and as they were read.
    mended: tuple[tuple[str, str], ...] = ()
    #: What was typed and is left out of ``plain``, because it changes nothing of the claim.
    asides: tuple[str, ...] = ()

    def words(self, start: int, end: int) -> str:
        """Return what was typed for a part of the plain text, without blanks around it.

        >>> plain_text("WTI  abvoe 80").words(4, 9)
        'abvoe'
        """
        if start >= end:
            return ""
        return self.written[self.spans[start][0] : self.spans[end - 1][1]].strip()


def plain_text(written: str) -> PlainText:
    """Return a text in plain letters.

    >>> plain_text("the s&p closses higer on friday").plain
    'the s&p closes higher on friday'
    """
    letters: list[str] = []
    spans: list[tuple[int, int]] = []
    mended: list[tuple[str, str]] = []
    for piece in _PIECE.finditer("".join(_SIGNS.get(sign, sign)[:1] for sign in written)):
        # One letter of `written` is one here, so that places stay; a sign that stands for two is opened below.
        source = written[piece.start() : piece.end()]
        word = _SIGNS.get(source, piece[0]) if len(source) == 1 else piece[0]
        if word.isspace():
            word = " " if letters and letters[-1] != " " else ""
        elif word[0].isalpha():
            word = word.lower()
            right = SHORTHAND.get(word) or spelled(word)
            if word in _NUMBERS and re.match(
                r"[- ](?:year|yr|month|week|day|trading|of )", written[piece.end() :], re.IGNORECASE
            ):
                right = _NUMBERS[word]
            if right != word and word not in SHORTHAND and word not in _NUMBERS:
                mended.append((source, right))
            word = right
        letters += word
        spans += [piece.span() if len(word) != len(source) else (piece.start() + i, piece.start() + i + 1) for i in range(len(word))]  # fmt: skip
    while letters and letters[-1] == " ":
        letters.pop()
        spans.pop()
    return PlainText(written=written, plain="".join(letters), spans=tuple(spans), mended=tuple(mended))


def spelled(word: str) -> str:
    """Return the one known word of five letters or more that a typed one is a single slip away from, else the word itself.

    >>> spelled("abvoe"), spelled("grains"), spelled("lower")
    ('above', 'grains', 'lower')
    """
    if len(word) < 4 or word in KNOWN_WORDS or "'" in word or word in _AS_THEY_ARE:
        return word
    nearest = {each for each in _one_slip(word) & KNOWN_WORDS if len(each) >= 5}
    if len(word) == 4:  # most words of four letters are words
        nearest &= {"above", "below", "under", "close"}
    # Another number or person of the same word is no slip.
    if any(
        each in (f"{word}s", f"{word}es") or (word[-1] == "s" and each == word[:-1]) for each in nearest
    ) and not word.startswith("clo"):
        return word
    # A word of its own in another form is no slip of one of them, and a wrong letter is hit beside the right one.
    nearest = {
        each
        for each in nearest
        if len(each) != len(word) or sorted(each) == sorted(word) or _one_key_away(word, each)
    }
    if re.sub("(?:ed|ing|er|ers|d|r|rs)$", "", word) in KNOWN_WORDS:
        return word
    # A lost or doubled letter, or two that changed places, is what hands do; another letter is another word more often.
    if len(nearest) > 1:
        nearest = {each for each in nearest if len(each) != len(word) or sorted(each) == sorted(word)}
    return nearest.pop() if len(nearest) == 1 else word


#: Words of their own that are one letter away from a known one.
_AS_THEY_ARE = words(
    """
    what when whom with were here hear care core come came some sum time term turn back bank cash cast cost
    east west north south next does done gone goes give gave live life like likely look book good gold mood
    food foot door over ever even very every seen been beat meet heat seat wheat's fall fell full pull push
    bull bear tear fear near year half calf call tall ball will wall well sell tell tech test text best rest
    past post most lost lose loss long song wins line mine nine fine find fund five four fours hour tour
    lover love close-up cover covers fails fail prints tents brake brakes beads beaks claim lower's feels
    fills holes hold hole staff state stats eight least lease leave dropped lasts list late ours years
    cent cents peaks speaks weak dated deal deals real rate cuts hike apply stack shore share spike yielded
    grain gains trader traded raises rising race races then than them thing thin later layer letter latter
    ending sending lending bending wider rider cider order border father further other mother another nether
    fight sight might light right tight whether weather either neither quote quotes quota point pint paint wide side rice price pries month
    mouth moth weekly doubt double trouble stable table cable thread three tree free first fist worst worse
    worth word words world would wound sound round pound found bound bond bonds band banks market marked
    mark move moves moving mover blow whole white shale scale sale sales whale while blows spend spends wait waits site
    trend trends treat clean clear class cross press prior power tower lower flower slower dealer leader header
    ether bullion calls calling breach breaches breaching faster really yearly warnings warning raising raised failing fails regain regains
    setting settings stick sticks stuck finds heating heats backs dumps stumbles drains popping melting moving risen easier
    across arise began begun bands bases basic beans betting candle candles closer closest crossed declined decent deserve detail doubled
    expert field fields filling finished fitting grade grades height hides increased likes lists losses lumber match narrowed
    nearly newer nifty priced prime produced rains rallied rated reached react released reserved risks saves saying scales settled
    seventh shape shapes shared sharp sharpe shock shocks sides spare spoke stacks stake stale stars stated tails teach theme these
    though touched trace traces traits trials vague valued walls weight worse arrow barred chose abort alter dates averaged advanced
    surged plunged tumbled halved spiked hiked calm carry cheap clean climb coffee crash crown crush curve drift drive flash flirt
    floor force front fresh funny giant grind guess hedge heavy house light local lucky major maker minor mixed money month moody
    music noise offer panic party pause phase piece pivot plain plane plate powell power proof pulse quake queen quiet relax rents
    reset rough route royal rural scare scene score sense shake shape shift shock short shown sight sixth skill sleep small smart smoke
    solid solve south space spare speed split sport squad stand steam steel steep sting stood store storm story strip stuff style
    sugar super sweet swift swing taken taste taxes thank thick think third throw tight tired title tough touch tower toxic track tread
    trick truth turns twist union unity until upper upset urban usage usual valid video virus visit vital voice waste watch water
    waves welds where which while whole whose woman women worry worst would wound write wrong yields young
    cases causes course courses stays stage range ranges change changes chance chances charge large
    """
)


_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _one_key_away(word: str, right: str) -> bool:
    typed, meant = next(pair for pair in zip(word, right, strict=True) if pair[0] != pair[1])
    places = [
        (row, line.index(each)) for each in (typed, meant) for row, line in enumerate(_ROWS) if each in line
    ]
    return (
        len(places) == 2 and abs(places[0][0] - places[1][0]) <= 1 and abs(places[0][1] - places[1][1]) <= 1
    )


def _one_slip(word: str) -> set[str]:
    parts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    return {
        *(a + b[1:] for a, b in parts if b),
        *(a + b[1] + b[0] + b[2:] for a, b in parts if len(b) > 1),
        *(a + c + b[1:] for a, b in parts if b for c in _LETTERS),
        *(a + c + b for a, b in parts for c in _LETTERS),
    }
