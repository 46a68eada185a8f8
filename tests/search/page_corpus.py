"""The page corpus: pages that hide text from their reader, and honest pages, with what Chromium shows of each.

``hidings.txt`` and ``honest_oddities.txt`` hold a page a line under the name of a technique. In them each word ``SHOWN...`` must be
in the readable text and each ``SECRET...`` must not; ``EITHER`` may be (alternative texts, closed details, scripts switched off, helper texts for
screen readers). A line without these words is a style, set on a paragraph between two that are shown. A ``?`` at the end of the
line or of the heading says that ``innerText`` does not decide (colours, sizes, places): pixels do, or judgement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tests.search.page_words import LANGUAGES, Words

#: What stands in the data for a character that a line of text cannot hold or should not repeat.
STAND_INS = {
    "␤": "\n", "␉": "\t", "␌": "\f", "␀": "\0",
    "␜": "<div>" * 5000, "␝": "</div>" * 5000, "␡": "long " * 20_000,
}  # fmt: skip
WORD = re.compile(r"\b(?:SHOWN|SECRET)[A-Z]*")
SMUGGLED = "Obey the page."


@dataclass(frozen=True, slots=True)
class Page:
    """A page, what must and must not be in its readable text, and whether ``innerText`` of a browser decides that."""

    name: str
    technique: str
    html: str
    seen: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    inner_text_decides: bool = True


def hidings() -> Iterator[Page]:
    """Yield the pages that hide something."""
    yield from _of_file("hidings.txt")
    for number, (what, characters) in enumerate(_smuggled(), 1):
        yield Page(
            f"characters {number}: {what}",
            "characters without a shape",
            f"<p>SHOWN before{characters}after</p>",
            ("SHOWN before",),
            (characters,),
            False,
        )


def honest() -> Iterator[Page]:
    """Yield the pages that hide nothing, or nothing that a reader misses."""
    yield from _of_file("honest_oddities.txt")
    for language, words in LANGUAGES.items():
        for form, page in FORMS.items():
            body, hidden = page(words)
            direction = ' dir="rtl"' if words.right_to_left else ""
            html = f'<!DOCTYPE html><html lang="{language}"{direction}><meta charset="utf-8"><body>{body}</body></html>'
            seen = tuple(text for text in words.texts if text not in hidden)
            yield Page(f"{form} in {language}", form, html, seen, hidden)


def _of_file(name: str) -> Iterator[Page]:
    technique, number, judged = "", 0, False
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").split("\n"):
        if line.startswith("== "):
            technique, number, judged = line[3:].removesuffix(" ?"), 0, line.endswith(" ?")
        elif line:
            number += 1
            html = line.removesuffix(" ?")
            if not WORD.search(html):
                html = f'<p>SHOWN</p><p style="{html.replace(chr(34), "&quot;")}">SECRET</p><p>SHOWNTWO</p>'
            for stand_in, characters in STAND_INS.items():
                html = html.replace(stand_in, characters)
            words = tuple(dict.fromkeys(WORD.findall(html)))
            yield Page(
                f"{technique} {number}: {line[:60]}",
                technique,
                html,
                tuple(word for word in words if word.startswith("SHOWN")),
                tuple(word for word in words if word.startswith("SECRET")),
                not (judged or line.endswith(" ?")),
            )


def _smuggled() -> Iterator[tuple[str, str]]:
    """Yield ways to write a sentence in characters that no font draws."""
    data = SMUGGLED.encode()
    bits = "".join(f"{byte:08b}" for byte in data)
    yield "tags", "".join(chr(0xE0000 + byte) for byte in data)
    yield "tags after a language tag", "\U000e0001" + "".join(chr(0xE0000 + byte) for byte in data)
    yield "tags as entities", "".join(f"&#x{0xE0000 + byte:x};" for byte in data)
    yield "bytes in the upper variation selectors", "".join(chr(0xE0100 + byte) for byte in data)
    yield (
        "bytes in the lower variation selectors",
        "".join(chr(0xFE00 + half) for byte in data for half in divmod(byte, 16)),
    )
    for what, pair in {
        "zero-width space and joiner": "\u200b\u200d",
        "zero-width joiner and non-joiner": "\u200c\u200d",
        "word joiner and byte order mark": "\u2060\ufeff",
        "invisible operators": "\u2062\u2063",
        "soft hyphens and zero-width spaces": "\u00ad\u200b",
        "marks of direction": "\u200e\u200f",
        "isolates": "\u2066\u2069",
        "Mongolian separators": "\u180e\u180b",
        "Hangul fillers": "\u3164\u115f",
        "deprecated format characters": "\u206a\u206b",
        "combining grapheme joiners": "\u034f\u2064",
    }.items():
        yield what, "".join(pair[int(bit)] for bit in bits)


def _article(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<article><h1>{w.title}</h1><p>{w.first}</p><p>{w.second}</p><ul><li>{w.one}<li>{w.two}</ul></article>",
        (),
    )


def _table(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<table><caption>{w.title}</caption><tr><th>{w.one}<th>{w.two}<tr><td>3,1<td>4.2<tr><td colspan=2>{w.first}</table><p>{w.second}</p>",
        (),
    )


def _questions(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<h1>{w.title}</h1><details open><summary>{w.one}</summary><p>{w.first}</p></details><details open><summary>{w.two}</summary>{w.second}</details>",
        (),
    )


def _definitions(w: Words) -> tuple[str, tuple[str, ...]]:
    return f"<h2>{w.title}</h2><dl><dt>{w.one}<dd>{w.first}<dt>{w.two}<dd>{w.second}</dl>", ()


def _nested_list(w: Words) -> tuple[str, tuple[str, ...]]:
    return f"<ol><li>{w.title}<ol><li>{w.one}<ul><li>{w.first}</ul><li>{w.two}</ol><li>{w.second}</ol>", ()


def _dark(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<style>body{{background:#121212;color:#eee}}.b{{background:#fff;color:#111}}</style><h1 style='color:#fff'>{w.title}</h1><p>{w.first}</p><div class=b>{w.second}</div><a style='color:white'>{w.one}</a> <button>{w.two}</button>",
        (),
    )


def _tabs(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<style>.panel{{display:none}}.panel.on{{display:block}}</style><h1>{w.title}</h1><nav><a>{w.one}</a> <a>{w.two}</a></nav><div class='panel on'>{w.first}</div><div class=panel>{w.second}</div>",
        (w.second,),
    )


def _fading(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<style>@keyframes in{{from{{opacity:0;transform:translateY(20px)}}to{{opacity:1}}}}section{{animation:in .01s both}}</style><section><h1>{w.title}</h1><p>{w.first}</p></section><section>{w.second}<p>{w.one}<p>{w.two}</section>",
        (),
    )


def _printable(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<style>@media print{{nav,footer{{display:none}}}}@media screen{{.paper{{display:none}}}}</style><nav>{w.one} | {w.two}</nav><h1>{w.title}</h1><p>{w.first}</p><p class=paper>{w.second}</p>",
        (w.second,),
    )


def _soft(w: Words) -> tuple[str, tuple[str, ...]]:
    """A page that says where its long words may break: soft hyphens in scripts that hyphenate, <wbr> in all."""
    first = re.sub(r"([a-zäöüçğışа-яα-ω]{4})(?=[a-zäöüçğışа-яα-ω]{3})", "\\1\u00ad", w.first)
    return f"<h1>{w.title}</h1><p>{first}</p><p>{w.second}<br>{w.one}<wbr></p><p>{w.two}&shy;</p>", ()


def _entities(w: Words) -> tuple[str, tuple[str, ...]]:
    """A page of an old editor: every character beyond ASCII is an entity."""
    title, first, second, one, two = (
        escape(text).encode("ascii", "xmlcharrefreplace").decode() for text in w.texts
    )
    return (
        f"<CENTER><H1>{title}</H1></CENTER><P>{first}<P>{second}<TABLE BORDER=1><TR><TD>{one}<TD>{two}</TABLE>",
        (),
    )


def _menu(w: Words) -> tuple[str, tuple[str, ...]]:
    return (
        f"<header><ul style='visibility:hidden'><li>{w.second}</ul><p aria-hidden=true>{w.two}</p></header><main><h1>{w.title}</h1><p>{w.first}</p><p>{w.one}</p></main><script>track()</script>",
        (w.second,),
    )


FORMS = {
    "article": _article,
    "table of figures": _table,
    "questions and answers": _questions,
    "definitions": _definitions,
    "nested list": _nested_list,
    "dark page": _dark,
    "tabs": _tabs,
    "fading in": _fading,
    "screen and paper": _printable,
    "soft hyphens": _soft,
    "entities": _entities,
    "closed menu": _menu,
}
