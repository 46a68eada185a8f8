"""Find edit marks, by which a text says that a part was added later ("[Edited on March 1, 2024]", "Update 12 Mar:", "更新").

`later_edits` finds each mark with all that belongs to it: its bracket, else the text from the mark to the end of its paragraph.
Used by `later_text`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from proxies.asof.mentions import Mention, mentions

# Where a word of a language can also stand in an honest sentence, the mark needs a colon, a date or a bracket beside it: see `_marked`.
_WORDS = (
    "edit(?:ed|s)?", "update[ds]?", "upd", "eta", "addend(?:um|a)", "add(?:ed|ition|itions)", "amend(?:ed|ment|ments)",
    "correct(?:ed|ion|ions)", "clarif(?:ied|ying|ication|ications)", "revis(?:ed|ion|ions)", "modif(?:ied|ication)", "changed", "change ?log",
    "errat(?:um|a)", "post ?script", "p\\.? ?s\\.?", "additional context", "further context", "late(?:r|st)? (?:note|addition|news)", "news",
    "mise [àa] jour", "m[àa]j", "modifi[ée]e?", "modification", "ajout(?:[ée]e?)?", "[ée]dit[ée]e?", "[ée]dition", "corrig[ée]e?", "correctif",
    "pr[ée]cision", "rectificatif", "compl[ée]ment",
    "aktualisier(?:ung|t)", "nachtrag", "nachtr[äa]glich", "erg[äa]nz(?:ung|t)", "bearbeitet", "bearbeitung", "korrektur", "korrigiert", "ge[äa]ndert",
    "[äa]nderung", "klarstellung", "hinzugef[üu]gt", "stand",
    "actualizaci[óo]n", "actualizado", "editado", "edici[óo]n", "correcci[óo]n", "corregido", "a[ñn]adido", "aclaraci[óo]n", "modificado",
    "atualiza[çc][ãa]o", "atualizado", "edi[çc][ãa]o", "corre[çc][ãa]o", "corrigido", "adicionado", "acr[ée]scimo", "esclarecimento",
    "aggiornamento", "aggiornato", "modificato", "modifica", "aggiunt[oa]", "correzione", "corretto", "rettifica", "precisazione", "chiarimento",
    "bijgewerkt", "toegevoegd", "aanvulling", "bewerkt", "gewijzigd", "wijziging", "correctie", "rectificatie", "verduidelijking",
    "обновлен[оаы]?", "обновлено", "обновление", "апдейт", "дополнен[оие]+", "добавлен[оие]+", "изменен[оие]+", "исправлен[оие]+", "уточнен[оие]+",
    "правка", "отредактировано", "оновлен[оня]+", "доповнен[оня]+", "виправлен[оня]+", "уточнення", "змінено",
    "aktualizacja", "zaktualizowan[oay]", "edycja", "edytowan[oy]", "korekta", "poprawka", "dodan[oe]", "uzupe[łl]nienie", "zmieniono", "sprostowanie",
    "g[üu]ncelle(?:me|ndi)", "d[üu]zenle(?:me|ndi)", "d[üu]zeltme", "ekle(?:me|ndi)",
    "uppdater(?:ing|ad|at)", "oppdater(?:ing|t)", "opdater(?:ing|et)", "rediger(?:ad|et|t)", "till[äa]gg", "r[äa]ttelse", "till[äa]gt", "[äa]ndrad",
    "p[äa]ivity(?:s|etty)", "muokattu", "lis[äa]ys", "korjaus", "aktualizace", "aktualizov[áa]no", "upraveno", "dopln[ěe]no", "oprava", "up[řr]esn[ěe]n[íi]",
    "friss[íi]t(?:[ée]s|ve)", "szerkesztve", "kieg[ée]sz[íi]t[ée]s", "m[óo]dos[íi]t(?:va|[áa]s)", "jav[íi]t[áa]s",
    "actualizar[ee]", "actualizat", "editat", "completare", "corectare", "clarificare", "ενημ[εέ]ρωση", "δι[οό]ρθωση", "προσθ[ηή]κη", "διευκρ[ιί]νιση",
    "c[ậa]p nh[ậa]t", "ch[ỉi]nh s[ửu]a", "b[ổo] sung", "đ[íi]nh ch[íi]nh",
    "pembaruan", "diperbarui", "diedit", "koreksi", "tambahan", "diubah", "klarifikasi",
    "تحديث", "تعديل", "تصحيح", "إضافة", "توضيح", "محدث", "עדכון", "עריכה", "תיקון", "הבהרה", "अद्यतन", "अपडेट", "संपादित", "संशोधन", "सुधार",
)  # fmt: skip
# no word ends between two letters of these scripts
_GLUED = ("更新", "编辑", "編輯", "修订", "修訂", "补充", "補充", "更正", "追加", "追記", "修改", "澄清", "勘误", "勘誤", "編集", "訂正", "修正", "補足", "改訂",
          "アップデート", "업데이트", "수정", "추가", "편집", "정정", "갱신", "보완", "อัปเดต", "อัพเดท", "แก้ไข", "เพิ่มเติม")  # fmt: skip
_FIRST = (
    r"(?:(?:last|latest|recently|newly|newest|the|this|question|market|criteria|resolution|fine print|background|text|description|title|rules|"
    r"deadline|note|admin|moderator|mod|creator|author|late|important|breaking|quick|small|minor|first|second|third|final|new|another|further|"
    r"\d{1,2}(?:st|nd|rd|th)|was|were|has been|have been|been)\s+){0,4}"
)
_MARK = re.compile(rf"{_FIRST}(?P<word>(?:{'|'.join(_WORDS)}))(?!\w)|(?:{'|'.join(_GLUED)})", re.IGNORECASE)
_LOUD = re.compile(r"(?:EDIT(?:ED)?|UPDATED?|UPD|ADDENDUM)\Z")
# between a mark and its date or colon
_FILL = re.compile(
    r"(?:[\s*_~`\"'“”#.,;@/|]|[(（]|[:：]|\b(?:on|at|by|from|of|as|the|this|to|in|made|add(?:ed)?|last|my|our|again|note|admin|mods?|moderator|creator|op|author|"
    r"editor|staff|question|market|criteria|resolution|rules?|description|background|fine|print|text|date[ds]?|utc|et|am|vom|der|den|zum|du|le|la|de|del|el|"
    r"em|da|do|di|il|al|op|van|от|dnia|z|tarihli|den|no|nr|nº|mon|tue|wed|thu|fri|sat|sun)\b\.?(?!\s*\w+ed\b)|(?:#|no\.? ?)?\d{1,2}(?=\s*[:：\])]))*",
    re.IGNORECASE,
)
_STOP = re.compile(r"\s*(?:[:：\])】）]|[-–—]\s|\Z|\n)")
# what may stand between a date and the words of the edit
_AFTER_DATE = re.compile(
    r"(?:[\s,.;@*_]|[tT]?\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?\s*(?:[ap]\.?m\.?)?|\b(?:at|[ap]\.?m\.?|utc|gmt|z|[ecmp][sd]?t|cet|cest|bst|uhr|h|by|"
    r"admin|mods?|moderator|creator|op|author|editor|staff|update|edit)\b|\([^()]{0,60}\)|日|일)*",
    re.IGNORECASE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "【": "】", "（": "）", "「": "」"}
# where a mark may begin: a line, a sentence, a bracket, an item
_START = re.compile(
    r"(?:\A|\n|(?<=[.!?:;…])['\"”’)\]*_]*\s+|(?<=[。！？])|[(\[{【（「]|(?<=\s)[-–—|/•·*~>]+\s|\s{2,})[\s*_~`#>\"'“”•·|–—-]*(?:\d{1,2}[.)]\s+)?"
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_NEXT_HEADING = re.compile(r"\n[ \t]*(?:#{1,6}\s|={3,}|-{3,})")
_SIGNS = " \t\n:：-–—,.;*_~])】）"
_BRACKET = 4000  # characters of a bracket
_LONGEST = 60  # characters of a date
_WithoutYear = Callable[[int, int], date] | None
_HEADING = re.compile(r"[ \t]*(?:#{1,6}\s|={3,}|-{3,})")
_WIRE = re.compile(r"\s?\d+[-–]\w")  # a news agency's "UPDATE 1-Fed holds rates"


@dataclass(frozen=True, slots=True)
class EditBlock:
    """A mark with the stretch of text that it covers, and the day at the mark.

    ``day`` is None where no date that can be read stands there. ``bare`` marks follow what they mark: nothing comes after them in
    their paragraph.
    """

    start: int
    end: int
    day: date | None
    bare: bool = False


def later_edits(
    text: str, last: date, *, undated: bool = True, without_year: _WithoutYear = None
) -> Iterator[EditBlock]:
    """Yield the edits made after a day, in order; of nested ones only the outer."""
    passed = 0
    for match in _START.finditer(text):
        if match.end() < passed:
            continue
        block = _block_at(text, match.end(), without_year)
        if block is not None and (undated if block.day is None else block.day > last):
            passed = block.end
            yield block


def _block_at(text: str, start: int, without_year: _WithoutYear) -> EditBlock | None:
    earlier = _date_at(text, start, without_year) if text[start : start + 1].isalnum() else None
    place = start
    if earlier is not None:
        place = earlier.end
        while text[place : place + 1] in {*" \t,:;-–—*_/|()[]"} and text[place : place + 1]:
            place += 1
    match = _MARK.match(text, place)
    if match is None:
        return None
    word = match["word"] or match[0]
    end = match.end()
    if word.isupper() and _WIRE.match(text, end):
        return None
    filled = _FILL.match(text, end)
    after = end if filled is None else filled.end()
    dated = _date_at(text, after, without_year)
    marked = bool(
        dated
        or earlier
        or _STOP.match(text, end)
        or _STOP.match(text, after)
        or {*":："} & {*text[end:after]}
    )
    if not marked and not _LOUD.match(word):
        return None
    begins = after if dated is None else dated.end
    if continuation := _AFTER_DATE.match(text, begins):
        begins = continuation.end()
    day = dated.day if dated is not None else earlier.day if earlier is not None else None
    # a bracket behind the date is one of its own: "Before 2024 [edited on March 1, 2024: it fell]"
    opened = max((text.rfind(sign, start, place) for sign in "[("), default=-1)
    before = start if opened < 0 else opened + 1
    bracket = len(text[max(0, before - 8) : before].rstrip(" *_~`\"'“”"))
    bracket = max(0, before - 8) + bracket - 1
    if bracket >= 0 and text[bracket] in _CLOSING:
        close = _closing(text, bracket)
        if close is not None and text[begins:close].strip(_SIGNS):
            return EditBlock(bracket, close + 1, day)  # the bracket holds the edit
        start, begins = min(start, bracket), begins if close is None else max(begins, close + 1)
    while start and text[start - 1] in "*_~`#>":
        start -= 1
    line = text.rfind("\n", 0, start) + 1
    end = _block_end(text, start, begins, heading=_HEADING.match(text, line) is not None)
    return EditBlock(start, end, day, bare=not text[begins:end].strip(_SIGNS))


def _closing(text: str, start: int) -> int | None:
    opening, depth = text[start], 0
    closing = _CLOSING[opening]
    for place in range(start, min(len(text), start + _BRACKET)):
        if text[place] == opening:
            depth += 1
        elif text[place] == closing:
            depth -= 1
            if depth == 0:
                return place
    return None


def _block_end(text: str, start: int, begins: int, *, heading: bool) -> int:
    """Find the end of a block without brackets: its paragraph's, the next one's after a lone mark, a section's after a heading."""
    if heading:
        following = _NEXT_HEADING.search(text, begins)
        return following.start() if following else len(text)
    paragraph = _PARAGRAPH.search(text, begins)
    if paragraph is None:
        return len(text)
    before = text[text.rfind("\n\n", 0, start) + 1 : start]
    if (before + text[begins : paragraph.start()]).strip(_SIGNS + "#"):
        return paragraph.start()
    following = _PARAGRAPH.search(text, paragraph.end())
    return following.start() if following else len(text)


def _date_at(text: str, place: int, without_year: _WithoutYear) -> Mention | None:
    first = next(mentions(text[place : place + _LONGEST], without_year=without_year), None)
    return Mention(place, place + first.end, first.day) if first is not None and first.start == 0 else None
