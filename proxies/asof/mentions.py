"""Find dates in running text, each as the earliest day that it may mean."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan januar janvier enero gennaio janeiro januari stycznia января январь січня ocak tammikuuta január ianuarie ledna يناير ιανουαρίου",
         "february feb februar février fevrier febrero febbraio fevereiro februari lutego февраля февраль лютого şubat helmikuuta február februarie února"
         " فبراير φεβρουαρίου",
         "march mar märz maerz mars marzo março marco maart marca марта март березня mart maaliskuuta március martie března maret مارس μαρτίου",
         "april apr avril abril aprile kwietnia апреля апрель квітня nisan huhtikuuta április aprilie dubna أبريل ابريل απριλίου",
         "may mai mayo maggio maio mei maja maj мая май травня mayıs toukokuuta május května مايو μαΐου",
         "june jun juni juin junio giugno junho czerwca июня июнь червня haziran kesäkuuta június iunie června يونيو ιουνίου",
         "july jul juli juillet julio luglio julho lipca июля июль липня temmuz heinäkuuta július iulie července يوليو ιουλίου",
         "august aug août aout agosto augustus augusti sierpnia августа август серпня ağustos elokuuta augusztus srpna agustus أغسطس αυγούστου",
         "september sep sept septembre septiembre settembre setembro września сентября сентябрь вересня eylül syyskuuta szeptember septembrie září"
         " سبتمبر σεπτεμβρίου",
         "october oct oktober okt octobre octubre ottobre outubro października октября октябрь жовтня ekim lokakuuta október octombrie října أكتوبر"
         " οκτωβρίου",
         "november nov novembre noviembre novembro listopada ноября ноябрь kasım marraskuuta noiembrie listopadu نوفمبر νοεμβρίου",
         "december dec dezember dez décembre decembre diciembre dicembre dezembro grudnia декабря декабрь грудня aralık joulukuuta decembrie prosince"
         " desember ديسمبر δεκεμβρίου"), start=1,
    )
    for name in names.split()
}  # fmt: skip
# by first letters, which is three times as fast as one long alternation
_NAME = "|".join(
    f"{first}(?:{'|'.join(sorted((name[1:] for name in _MONTHS if name[0] == first), key=len, reverse=True))})"
    for first in sorted({name[0] for name in _MONTHS})
)
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_YEAR = r"(?:19|20)\d{2}"
_ROMAN = {
    name: number
    for number, name in enumerate(
        ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"], start=1
    )
}
_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = [
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_WORDS = {name: number for number, name in enumerate((*_ONES, *_TEENS), start=1)} | {
    "twenty": 20,
    "thirty": 30,
}
#: A year from 2010 on in words ("twenty twenty-four").
YEAR_IN_WORDS = (
    rf"\btwenty[\s-](?P<words>(?:twenty|thirty)(?:[\s-](?:{'|'.join(_ONES)}))?|{'|'.join(_TEENS)})\b"
)
_DATES = re.compile(
    rf"(?<![\d.,])(?P<y_a>{_YEAR})(?P<sep>[-/.])(?P<m_a>\d{{1,2}})(?P=sep)(?P<d_a>\d{{1,2}})(?!\d)"
    rf"|(?<!\d)(?P<y_b>{_YEAR})(?P<m_b>\d{{2}})(?P<d_b>\d{{2}})(?!\d)"
    rf"|\b(?P<n_c>{_NAME})(?:\.?\s+(?P<d_c>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y_c>{_YEAR})\b|\.?,?\s+(?:of\s+|de\s+)?(?P<y_f>{_YEAR})\b"
    rf"|\.?\s?[-'’](?P<z_g>\d{{2}})\b(?![-/])|\.?\s(?P<d_t>\d{{1,2}})(?:st|nd|rd|th)?,?\s['’](?P<z_t>\d{{2}})\b)"
    rf"|\b(?P<d_d>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?\s+(?:of\s+|de\s+)?(?P<n_d>{_NAME})\.?,?\s+(?:de\s+|del\s+)?(?P<y_d>{_YEAR})\b"
    rf"|\b(?P<y_e>{_YEAR})\s+(?P<n_e>{_NAME})\b(?:\s+(?P<d_e>\d{{1,2}})\b)?"
    rf"|\b(?P<a_h>\d{{1,2}})[/.](?P<b_h>\d{{1,2}})[/.](?P<y_h>{_YEAR})\b"
    rf"|(?<![\d.,])(?P<y_i>{_YEAR})[-/](?P<m_i>0[1-9]|1[0-2])(?![\d])"
    rf"|\bQ(?P<q_j>[1-4])\s*(?:of\s+)?(?:FY\s?)?(?:(?P<y_j>{_YEAR})\b|['’]?(?P<z_j>\d{{2}})\b(?!\s*%))"
    rf"|\b(?P<q_k>[1-4])Q\s*['’]?(?:(?P<y_k>{_YEAR})|(?P<z_k>\d{{2}}))\b"
    rf"|\b(?P<y_l>{_YEAR})[\s-]?Q(?P<q_l>[1-4])\b"
    rf"|\bH(?P<h_m>[12])\s*(?:of\s+)?['’]?(?P<y_m>{_YEAR})\b"
    rf"|\b(?P<o_n>first|second|third|fourth|1st|2nd|3rd|4th)[\s-]quarter(?:\s+of)?(?:\s+fiscal)?\s+(?P<y_n>{_YEAR})\b"
    rf"|\b(?P<s_o>spring|summer|autumn|fall|winter)\s+(?:of\s+)?(?P<y_o>{_YEAR})\b"
    rf"|(?P<y_q>{_YEAR})\s?[年년]\s?(?:(?P<m_q>\d{{1,2}})\s?[月월](?:\s?(?P<d_q>\d{{1,2}})\s?[日일])?)?"
    rf"|\b(?P<d_r>\d{{1,2}})[-/](?P<n_r>{_NAME})[-/](?P<y_r>{_YEAR})\b"
    rf"|\b(?P<d_s>\d{{1,2}})[\s-](?P<n_s>{_NAME})\.?[\s-]['’]?(?P<z_s>\d{{2}})\b(?![:.]\d)"
    rf"|(?<![\w./-])(?P<a_u>\d{{1,2}})(?P<sep_u>[/-])(?P<b_u>\d{{1,2}})(?P=sep_u)(?P<z_u>\d{{2}})(?![\w/-]|\.\d)"
    rf"|(?<![\w./-])(?P<a_w>\d{{2}})\.(?P<b_w>\d{{2}})\.(?P<z_w>\d{{2}})(?![\w/-]|\.\d)"
    rf"|(?<![\w.])(?P<y_v>{_YEAR})\.\s(?P<m_v>\d{{1,2}})\.\s(?P<d_v>\d{{1,2}})(?!\d)"
    rf"|\b(?P<d_y>\d{{1,2}})/(?P<m_y>\d{{1,2}})\snăm\s(?P<y_y>{_YEAR})|\b(?P<d_x>\d{{1,2}})\stháng\s(?P<m_x>\d{{1,2}})(?:\snăm\s|/|,\s)(?P<y_x>{_YEAR})"
    rf"|\b(?P<y_w>{_YEAR})-?W(?P<week_w>0[1-9]|[1-4]\d|5[0-3])\b|\b(?:week|wk|KW)\.?\s?(?P<week_v>\d{{1,2}})(?:,?\s(?:of\s)?|/)(?P<y_z>{_YEAR})\b"
    rf"|\b(?P<d_z>\d{{1,2}})(?:\.\s?|\s|/|-)(?P<roman_z>(?-i:X{{0,1}}(?:I{{1,3}}|IV|V|VI{{1,3}}|IX)|XI{{0,2}}))(?:\.\s?|\s|/|-)(?P<y_aa>{_YEAR})\b"
    # seconds since 1970 as a stamp: with a colon or a closing bracket behind it
    rf"|(?<![\w.,$€£-])(?P<epoch>1[4-9]\d{{8}})(?:\d{{3}})?(?=\s?(?:[:)\]>]|UTC))"
    rf"|(?:\b(?P<n_bb>{_NAME})\s+(?:of\s+)?)?{YEAR_IN_WORDS}"
    rf"|(?<![\d$€£#.,/=_-])\b(?P<y_p>{_YEAR})\b(?!\s*(?:%|percent|dollars|points|shares|people|units|[kK]m\b))(?![,.]?\d)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    rf"(?<!\d)(?P<y_a>{_YEAR})(?P<sep>[-/._])(?P<m_a>0?[1-9]|1[0-2])(?P=sep)(?P<d_a>0?[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?<!\d)(?P<y_b>{_YEAR})(?P<m_b>0[1-9]|1[0-2])(?P<d_b>0[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?<=/)(?P<y_i>{_YEAR})[-/](?P<m_i>0?[1-9]|1[0-2])(?=/|\Z)"
    rf"|(?<=/)(?P<y_e>{_YEAR})[-/](?P<n_e>{_NAME})\b"
    rf"|(?<=/)(?P<y_p>{_YEAR})(?=/)",
    re.IGNORECASE,
)


# signs without a width, which a reader does not see
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


@lru_cache(maxsize=1)
def _plain_signs() -> dict[int, str]:
    digits = {
        code: str(unicodedata.digit(chr(code))) for code in range(128, 0x1FBFA) if chr(code).isdecimal()
    }
    wide = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    return wide | digits | dict.fromkeys(map(ord, "‐‑‒−﹣"), "-") | dict.fromkeys(map(ord, "⁄∕"), "/")


def plain(text: str) -> tuple[str, Sequence[int]]:
    """Normalise a text: ASCII digits, no zero-width signs; return it with the original place of each character.

    >>> plain("Update ２０\u200b２４")[0]
    'Update 2024'
    """
    if text.isascii():
        return text, range(len(text) + 1)
    wide = text.translate(_plain_signs())
    if not _INVISIBLE.search(wide):
        return wide, range(len(text) + 1)
    places = [place for place, sign in enumerate(wide) if not _INVISIBLE.match(sign)]
    return "".join(wide[place] for place in places), [*places, len(text)]


# a day of a month that names no year
_WITHOUT_YEAR = re.compile(
    rf"\b(?P<n_a>{_NAME})\.?\s+(?P<d_a>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*[:.]\d)"
    rf"|\b(?P<d_b>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?\s+(?:of\s+|de\s+)?(?P<n_b>{_NAME})\b"
    rf"|(?<![\w./-])(?P<a_c>\d{{1,2}})/(?P<b_c>\d{{1,2}})(?![\w/-]|\.\d)"
    rf"|(?<!\d)(?P<m_d>\d{{1,2}})\s?[月월]\s?(?P<d_d>\d{{1,2}})\s?[日일]"
    rf"|(?<![\w.])(?P<d_e>\d{{1,2}})\.(?P<m_e>0[1-9]|1[0-2])\.(?![\w])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A date in a text: its place, the earliest day that it may mean, and whether its year is written."""

    start: int
    end: int
    day: date
    has_year: bool = True


def mentions(
    text: str, *, address: bool = False, without_year: Callable[[int, int], date] | None = None
) -> Iterator[Mention]:
    """Yield the dates of a text in order."""
    dates = [
        Mention(match.start(), match.end(), day)
        for match in (_ADDRESS if address else _DATES).finditer(text)
        if (day := _earliest(match)) is not None
    ]
    if without_year is not None:
        for match in _WITHOUT_YEAR.finditer(text):
            days = [without_year(*day_and_month) for day_and_month in _day_and_month(match)]
            if days and not any(
                mention.start < match.end() and match.start() < mention.end for mention in dates
            ):
                dates.append(Mention(match.start(), match.end(), max(days), has_year=False))
        dates.sort(key=lambda mention: mention.start)
    yield from dates


def day_without_year(day: int, month: int, last: date, opened: date | None) -> date:
    """Return the day of a date without a year, by the last day that may be known and the text's first day.

    It is before the cutoff only where the text was new less than a year before it, and the day came in between. Else it may as
    well be the day after the cutoff: that one is returned.
    """
    if opened is not None and last < opened + timedelta(days=365):
        first = _on_or_after(day, month, opened)
        if first <= last:
            return first
    return _on_or_after(day, month, last + timedelta(days=1))


def _on_or_after(day: int, month: int, begin: date) -> date:
    for year in range(begin.year, begin.year + 9):
        try:
            day_of_year = date(year, month, day)
        except ValueError:  # a 29th of February
            continue
        if day_of_year >= begin:
            return day_of_year
    return begin


def _day_and_month(match: re.Match[str]) -> list[tuple[int, int]]:
    parts = {name[0]: value for name, value in match.groupdict().items() if value}
    if "a" in parts:
        pairs = [(int(parts["a"]), int(parts["b"])), (int(parts["b"]), int(parts["a"]))]
    else:
        month = _MONTHS[parts["n"].lower()] if "n" in parts else int(parts["m"])
        pairs = [(int(parts["d"]), month)]
    return [(day, month) for day, month in pairs if 1 <= month <= 12 and 1 <= day <= 31]


def _earliest(match: re.Match[str]) -> date | None:
    """Return the earliest day that a match may mean, or None if the calendar has none."""
    parts = {
        name.partition("_")[0]: value
        for name, value in match.groupdict().items()
        if value and not name.startswith("sep")
    }
    try:
        if "epoch" in parts:
            return datetime.fromtimestamp(int(parts["epoch"]), UTC).date()
        if "words" in parts:
            year = 2000 + sum(_WORDS[word] for word in re.split(r"[\s-]+", parts["words"].lower()))
        else:
            year = int(parts["y"]) if "y" in parts else 2000 + int(parts["z"])
        if "week" in parts:
            return date.fromisocalendar(year, int(parts["week"]), 1)
        if "roman" in parts:
            return date(year, _ROMAN[parts["roman"]], int(parts["d"]))
        if "q" in parts or "o" in parts:
            return date(year, 3 * int(parts.get("q") or _ORDINALS[parts["o"].lower()]) - 2, 1)
        if "h" in parts:
            return date(year, 6 * int(parts["h"]) - 5, 1)
        if "s" in parts:
            return date(year, _SEASONS[parts["s"].lower()], 1)
        if "a" in parts:
            return _either(year, int(parts["a"]), int(parts["b"]))
        month = _MONTHS[parts["n"].lower()] if "n" in parts else int(parts.get("m") or 1)
        return date(year, month, int(parts.get("d") or 1))
    except ValueError:
        return None


def _either(year: int, first: int, second: int) -> date | None:
    """Return the later reading of a day and a month in unknown order: it is reason enough to check the sentence."""
    days = []
    for month, day in ((first, second), (second, first)):
        try:
            days.append(date(year, month, day))
        except ValueError:
            continue
    return max(days, default=None)
