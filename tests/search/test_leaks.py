"""The leak corpus through the four layers: what each removes alone, all together, and the rest where one is off (docs/trust/search.md).

The real broker is asked over an emulated engine. A result counts as removed when its late fact no longer reaches the agent, whether
the result or the sentence went. No layer is tuned per result.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from proxies.asof import row_texts
from proxies.asof.clock import Cutoff
from tests.fakes.web_upstream import FakeWeb, WebDesk, WebPage
from tests.pages import between, write_between
from tests.search.conftest import ScriptedReader
from tests.search.corpus import CUTOFF, QUESTION, Case, corpus, held_out
from workbench.models.base import ModelRequest, NodeRef
from workbench.search.base import FoundPage
from workbench.search.leaf_web import open_web
from workbench.search.web_options import WebOptions

DOCS = Path(__file__).resolve().parents[2] / "docs/trust/search.md"
FIRST, HELD_OUT = corpus(), held_out()
CASES = [*FIRST, *HELD_OUT]
#: The layers by the names of docs/trust/search.md: 1 dates and words are the broker's, 2 rules and model and 4 blocking the desk's.
DATES, WORDS, RULES, MODEL, BLOCKING = "dates", "words", "rules", "model", "blocking"
BY_RULE = (DATES, WORDS, RULES, BLOCKING)
_BATCH = 25


def worded(case: Case, by_words: bool) -> WebPage | None:
    """The page as the engine gives it; with ``by_words`` what the broker's look at its words alone would leave of it."""
    row = {"url": case.url, "title": case.title, "text": case.text}
    why = None
    if by_words:
        row, why = row_texts.cut_page(row, Cutoff.parse(CUTOFF), ("url", "title", "text"))
    return None if why else WebPage(row["url"], row["title"], case.published, row["text"])


async def passed(
    cases: list[Case], on: Iterable[str], *, judge: Callable[[ModelRequest], str] | None = None
) -> dict[str, FoundPage]:
    """What of the cases reaches an agent with some layers on, by address."""
    on = set(on)
    shown: dict[str, FoundPage] = {}
    with pytest.MonkeyPatch.context() as patch:
        if WORDS not in on:
            patch.setattr(row_texts, "cut_page", lambda row, cutoff, fields: (row, None))
        for start in range(0, len(cases), _BATCH):
            batch = cases[start : start + _BATCH]
            # without its dates the broker gives what a live call gives
            pages = [page for case in batch if (page := worded(case, WORDS in on and DATES not in on))]
            desk = WebDesk(FakeWeb(pages), CUTOFF if DATES in on else "now", sources=("brave",))
            ask = ScriptedReader(*[judge] * 9) if judge else None
            web = open_web(
                call_api=desk, ask=ask, node=NodeRef(id="P1", statement=QUESTION), cutoff=Cutoff.parse(CUTOFF),
                options=WebOptions(engines=("brave",), layers=frozenset(on & {RULES, MODEL, BLOCKING}), snippet_characters=6000),
            )  # fmt: skip
            answer = await web.search("events of 2024", step=0, k=_BATCH)
            shown |= {result.url: result for result in answer.results}
            await desk.broker.aclose()
    return shown


def is_told(case: Case, shown: dict[str, FoundPage]) -> bool:
    result = shown.get(case.url)
    return result is not None and (
        case.fact.casefold() in f"{result.title}\n{result.url}\n{result.text}".casefold()
    )


def is_hurt(case: Case, shown: dict[str, FoundPage]) -> bool:
    """Whether an honest result is gone or has lost a sentence."""
    result = shown.get(case.url)
    return result is None or result.text != case.text


def removed(shown: dict[str, FoundPage]) -> Counter[str]:
    """By kind: late facts that do not reach an agent, or honest results that are gone or cut."""
    return Counter(
        case.kind for case in CASES if (not is_told(case, shown) if case.fact else is_hurt(case, shown))
    )


def scripted_judge(request: ModelRequest) -> str:
    """A reader of flesh and blood's stand-in: it knows the answers, misses one in eight and doubts one in twenty by a fixed draw."""
    facts = [case.fact for case in CASES if case.fact]
    lines = []
    for number, part in enumerate(request.messages[-1].content.split("[begin result ")[1:], 1):
        draw = hashlib.sha256(part.encode()).digest()[0]
        is_late = any(fact.casefold() in part.casefold() for fact in facts)
        drop = draw >= 32 if is_late else draw < 13
        lines.append(f"{number}: {'DROP' if drop else 'KEEP'} - by the script")
    return "\n".join(lines)


async def table() -> str:
    columns: dict[str, Counter[str]] = {}
    for name in BY_RULE:
        columns[name] = removed(await passed(CASES, [name]))
    columns["all by rule"] = removed(await passed(CASES, BY_RULE))
    total = Counter(case.kind for case in CASES)
    kinds = list(dict.fromkeys(case.kind for case in CASES))
    honest = [kind for kind in kinds if kind.startswith("honest")]
    later = [kind for kind in kinds if kind.startswith("held out")]
    late = [kind for kind in kinds if kind not in (*honest, *later)]
    head = ["| result | number | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 2) + "|"]

    def row(name: str, members: list[str]) -> str:
        count = sum(total[kind] for kind in members)
        cells = [
            f"{100 * sum(column[kind] for kind in members) / count:.0f} %" for column in columns.values()
        ]
        return f"| {name} | {count} | " + " | ".join(cells) + " |"

    lines = [*head, *(row(kind, [kind]) for kind in late), row("**all late**", late)]
    lines += [row(f"{kind} (removed or cut: a loss)", [kind]) for kind in honest]
    lines += [row(f"{kind}{' (a loss)' if 'honest' in kind else ''}", [kind]) for kind in later]
    rest = ["", "| off | late facts that the rest removes |", "| --- | --- |"]
    count = sum(total[kind] for kind in late)
    for name in BY_RULE:
        other = removed(await passed(CASES, [layer for layer in BY_RULE if layer != name]))
        rest.append(f"| {name} | {100 * sum(other[kind] for kind in late) / count:.0f} % |")
    both = await passed(CASES, [*BY_RULE, MODEL], judge=scripted_judge)
    alone = await passed(CASES, [MODEL], judge=scripted_judge)
    plumbing = [
        "",
        "| scripted model, plumbing only | late facts removed | honest results lost |",
        "| --- | --- | --- |",
    ]
    for name, shown in (("alone", alone), ("with all by rule", both)):
        gone = removed(shown)
        lost = sum(gone[kind] for kind in honest[:1]) / total[honest[0]]
        plumbing.append(
            f"| {name} | {100 * sum(gone[kind] for kind in late) / count:.0f} % | {100 * lost:.0f} % |"
        )
    return "\n".join([*lines, *rest, *plumbing])


@pytest.mark.long
async def test_the_documentation_prints_what_the_layers_do() -> None:
    start, end = "<!-- leak corpus -->\n", "\n<!-- end of the leak corpus -->"
    made = await table()
    if os.environ.get("WRITE_LEAK_TABLE"):
        write_between(DOCS, start, end, made)
    else:
        assert between(DOCS, start, end) == made, (
            "WRITE_LEAK_TABLE=1 pytest tests/search/test_leaks.py writes it anew"
        )
