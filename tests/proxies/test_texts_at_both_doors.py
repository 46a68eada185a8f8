"""Texts that others go on editing: the broker and the door of questions cut them by one function, from one list of fields.

Days come in the digits of many scripts, in many forms and without a year; most of the inputs are made here and stand in no report.
"""

import json
import unicodedata
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.asof.row_texts import MARKET_TEXTS, cut_market, cut_page
from tests.proxies.worlds import EASY
from workbench.questions.as_of import criteria_as_of, statement_as_of
from workbench.questions.formats.venues import kalshi_events, read_kalshi
from workbench.questions.question import Question, events_of
from workbench.studies.study_exam import joint_questions

MANY = settings(EASY, max_examples=2 * EASY.max_examples)
CUTOFF = Cutoff.parse("2024-01-15")
OPENED = "2023-12-01T00:00:00Z"
RULES = "If the cabinet falls, Yes."
_ZEROS = [chr(code) for code in range(128, 0x1FBFA) if unicodedata.decimal(chr(code), None) == 0]
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
FORMS = (
    lambda day: day.isoformat(), lambda day: f"{day:%d %B %Y}", lambda day: f"{day:%B} {day.day}, {day.year}", lambda day: f"{day:%d.%m.%Y}",
    lambda day: "{}-W{:02}".format(*day.isocalendar()), lambda day: f"{day.day}.{_ROMAN[day.month - 1]}.{day.year}",
    lambda day: f"{day.year}年{day.month}月{day.day}日",
)  # fmt: skip


def in_script(text: str, zero: str) -> str:
    """A text with its digits in the script of a zero."""
    return text.translate({ord(str(digit)): chr(ord(zero) + digit) for digit in range(10)})


@MANY
@given(
    days=st.integers(40, 600),
    form=st.sampled_from(FORMS),
    zero=st.sampled_from(["0", *_ZEROS]),
    unseen=st.sampled_from(["", "\u200b", "\u00ad", "\u200f"]),
    words=st.sampled_from(
        ["Update {}: the cabinet resigned.", "[Edited on {}: it resigned]", "The cabinet resigned on {}.", "({}: it resigned.)",
         "The cabinet, which will be replaced, resigned on {}."]
    ),
    field=st.sampled_from(sorted(name for name, kind in MARKET_TEXTS.items() if kind == "text")),
)  # fmt: skip
def test_a_later_day_is_cut_in_any_script_and_an_earlier_one_stays(
    days: int, form: Any, zero: str, unseen: str, words: str, field: str
) -> None:
    def told(day: date) -> str:
        written = in_script(form(day), zero)
        text = words.format(written[:2] + unseen + written[2:])
        row = {"created_time": OPENED, field: f"{RULES} {text}"}
        return str(cut_market(row, CUTOFF)[field])

    assert told(date(2024, 1, 15) + timedelta(days)) == RULES
    assert "resigned" in told(date(2024, 1, 6) - timedelta(days))


@pytest.mark.parametrize(
    "field, text, left",
    [
        ("title", "Will it fall? [Edited on March 1, 2024: it resigned]", "Will it fall?"),
        ("title", "Will it fall? - resigned 27 Feb 2024", "Will it fall?"),
        ("title", "Will it fall before March 1, 2024?", None),
        ("title", "Fed decision in March 2024", None),
        ("question", "Did it fall on February 27, 2024?", None),
        ("rules_primary", f"{RULES} UPDATE (Feb 27): it resigned; settled Yes.", RULES),
        ("rules_primary", f"{RULES} UPDATE (Dec 20): a caretaker counts.", None),
        ("rules_primary", f"{RULES} Note 1709000000: it resigned.", RULES),
        ("rules_primary", f"{RULES} The debt is above 1709000000 dollars.", None),
        ("rules_primary", f"{RULES} In February twenty twenty-four it resigned.", RULES),
        ("rules_secondary", "Update 2024-02-28: settled early.", ""),
        ("outcomes", '["Yes (resigned 2024-02-27)","No"]', '["Yes", "No"]'),
        ("outcomes", '["Before March 2024","Later"]', '["Before March 2024", "Later"]'),
        ("outcomes", '["Resigned by Feb 27, 2024", "March 20 meeting"]', None),
        ("outcomes", '["Resigned on Feb 27, 2024","No"]', '["", "No"]'),
    ],
)
def test_each_text_of_a_market_is_cut_as_what_it_is(field: str, text: str, left: str | None) -> None:
    assert cut_market({"open_time": OPENED, field: text}, CUTOFF)[field] == (
        text if left is None else left or None
    )


def kalshi(edit: str) -> dict[str, Any]:
    market = {"ticker": "CAB-T", "event_ticker": "CAB", "yes_sub_title": f"Anna {edit}", "open_time": OPENED, "created_time": OPENED,
              "close_time": "2024-12-31T00:00:00Z", "rules_primary": f"{RULES} {edit}"}  # fmt: skip
    other = {**market, "ticker": "CAB-U", "yes_sub_title": "Bert", "rules_primary": RULES}
    return {
        "event": {
            "event_ticker": "CAB",
            "title": f"Who falls? {edit}",
            "sub_title": "",
            "markets": [market, other],
        }
    }


def asked(document: Any) -> Question:
    """The question of an event as the door of questions reads it."""
    (question,) = read_kalshi(kalshi_events(document) or []).questions
    return question


def read_by_model(question: Question) -> str:
    """What is shown of a question: each of its events, and how it resolves."""
    texts = [statement_as_of(question, event, CUTOFF).text for event in events_of(question)]
    return "\n".join([*texts, criteria_as_of(question, CUTOFF).text])


@MANY
@given(
    day=st.dates(date(2024, 1, 20), date(2025, 6, 1)),
    zero=st.sampled_from(["0", *_ZEROS]),
    form=st.sampled_from(FORMS[:4]),
    word=st.sampled_from(["Edited on", "update", "Corrected", "Nachtrag", "更新"]),
)
def test_the_broker_and_the_door_of_questions_tell_the_same_of_one_market(
    day: date, zero: str, form: Any, word: str
) -> None:
    edit = f"[{word} {in_script(form(day), zero)}: Anna resigned]"
    event = cut_market(kalshi(edit), CUTOFF)["event"]
    question = asked(kalshi(edit))
    shown = read_by_model(question)
    assert shown == read_by_model(asked(kalshi("")))
    assert all(text in shown for text in (event["title"], "Anna", RULES))
    assert "resigned" not in json.dumps(event)


@pytest.mark.parametrize("label", ["Anna (resigned on Feb 27, 2024)", "Anna - settled yes on 3 March 2024", "Resigned on Feb 27, 2024"])  # fmt: skip
def test_what_an_option_was_called_later_reaches_no_model(label: str) -> None:
    document = kalshi("")
    document["event"]["markets"][0]["yes_sub_title"] = label
    question = asked(document)
    known = next(iter(joint_questions([question]).values())).as_of(CUTOFF)
    first, *rest = [statement_as_of(question, event, CUTOFF) for event in events_of(question)]
    if label.startswith("Anna"):
        assert read_by_model(question) == read_by_model(asked(kalshi("")))
        assert "Anna" in known.names.values() and not known.fault
    else:
        assert first.emptied and known.fault and not any(text.emptied for text in rest)


LISTS = {"exa/search/search": "highlights", "brave/web": "extra_snippets"}


@MANY
@given(
    before=st.lists(st.sampled_from(["Talks go on.", "A vote is near.", "It met on 2 January 2024."]), max_size=3),
    later=st.lists(st.sampled_from(["Update February 27, 2024: it fell.", "On 3 May 2024 it ended."]), max_size=3),
    field=st.sampled_from(sorted(LISTS.values())),
)  # fmt: skip
def test_a_list_that_the_cut_shortens_keeps_no_empty_place(
    before: list[str], later: list[str], field: str
) -> None:
    fields = ("text", field, "url")
    row = {"text": "Talks go on.", "url": "https://a.example/x"}
    known = cut_page({**row, field: before}, CUTOFF, fields)
    assert cut_page({**row, field: [*later, *before]}, CUTOFF, fields) == known
    assert before or known == cut_page(row, CUTOFF, fields), "like a page that never had one"
