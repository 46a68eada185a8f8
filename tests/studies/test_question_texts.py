"""The law of two worlds at the model's own wire: what was written into a question after the cutoff never reaches a model.

Two downloads of the same questions, equal but for edits of later in every text field that a format knows; a logging server must get
the same bytes from both.
"""

import asyncio
import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxies.asof import later_text
from proxies.asof.clock import Cutoff
from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.questions.as_of import criteria_as_of, statement_as_of
from workbench.questions.formats.format_registry import FORMATS, read_file
from workbench.questions.question import events_of
from workbench.store import Store
from workbench.studies.leak_audit import audit_study
from workbench.studies.runner import StudyRunner
from workbench.studies.study_exam import joint_questions, known_context
from workbench.studies.study_file import study_of
from workbench.studies.study_plan import plan_study

pytestmark = pytest.mark.usefixtures("no_pictures")

CUTOFF = "2024-01-15"
CRITERIA = "Resolves Yes if the cabinet resigns by December 31, 2024."
TITLE = "Will the cabinet fall in 2024?"
EDITS = (
    " [Edited on March 1, 2024] The cabinet resigned on February 27, 2024; this counts.",
    "\nUpdate 12 Mar: the cabinet resigned.",
    "\n\n更新 2024年3月12日：内阁辞职。",
    " The cabinet resigned on February 27, 2024.",
    " EDIT: this market resolved Yes.",
)
#: Into what is asked nothing but a remark can be written.
TITLE_EDIT = " [Edited 2024-03-01: it fell]"


def metaculus(note: str, remark: str, answer: str) -> Any:
    question = {
        "id": 71, "type": "multiple_choice", "title": TITLE + remark, "options": ["Yes" + remark, "No"], "open_time": "2024-01-02T00:00:00Z",
        "scheduled_close_time": "2024-12-31T00:00:00Z", "description": CRITERIA + note, "resolution_criteria": CRITERIA + note,
        "fine_print": "A vote of no confidence counts." + note,
    }  # fmt: skip
    binary = {**question, "id": 72, "type": "binary", "resolution": answer}
    alone = {**question, "id": 73, "type": "binary", "fine_print": note.strip(), "resolution": answer}
    group = {"questions": [alone]}
    posts = [
        {"id": 8, "title": TITLE + remark, "question": binary},
        {"id": 9, "title": TITLE, "group_of_questions": group},
    ]
    return posts if answer else [{"id": 7, "title": TITLE + remark, "question": question}, *posts]


def forecastbench(note: str, remark: str, answer: str) -> Any:
    return {
        "forecast_due_date": "2024-01-15",
        "questions": [
            {
                "id": name, "source": source, "question": TITLE + remark, "background": CRITERIA + note, "url": "https://example.org/x",
                "resolution_criteria": CRITERIA + note, "market_info_resolution_criteria": "A vote counts." + note,
                "market_info_close_datetime": "2024-12-31T00:00:00+00:00", "freeze_datetime_value": "0.3", "resolution_dates": dates,
            }
            for name, source, dates in (("1", "manifold", "N/A"), ("2", "fred", ["2024-06-30", "2024-12-31"]))
        ],
    }  # fmt: skip


def prophet(note: str, remark: str, answer: str) -> Any:
    task = {
        "task_id": "t1", "title": TITLE + remark, "outcomes": ["Yes" + remark, "No"], "predict_by": "2024-01-15", "context": CRITERIA + note,
        "metadata": {"category": "politics"},
    }  # fmt: skip
    return json.dumps(task) + "\n"


def own(note: str, remark: str, answer: str) -> Any:
    entry = {
        "id": "o1", "title": TITLE + remark, "background": CRITERIA + note, "criteria": CRITERIA + note, "asked_on": "2024-01-15",
        "closes_on": "2024-12-31",
    }  # fmt: skip
    level = {**entry, "id": "o2", "kind": "threshold", "levels": [3.0], "unit": "cabinets" + remark}
    outcomes = {"o1": 1.0} if answer else {}
    return {
        "format": "analyst-workbench/questions/1",
        "questions": [{**entry, "outcomes": outcomes}, *([] if answer else [level])],
    }


def claims(note: str, remark: str, answer: str) -> Any:
    label = {"gold_label": True} if answer else {}
    published = {"published_date": {"year": 2024, "month": 1}}
    return [
        {"claim_id": "c1", "claim_text": "The alloy melted at 800 K" + remark, "metadata": published, **label}
    ]


def kalshi(note: str, remark: str, answer: str) -> Any:
    def market(name: str) -> dict[str, Any]:
        return {
            "ticker": name, "yes_sub_title": name + remark, "open_time": "2023-12-01T00:00:00Z", "close_time": "2024-12-31T15:00:00Z",
            "status": "active", "rules_primary": f"If {name} falls by December 31, 2024, Yes." + note, "last_price": 40,
        }  # fmt: skip

    event = {
        "event_ticker": "CAB",
        "series_ticker": "CAB",
        "title": TITLE + remark,
        "sub_title": "",
        "category": "Politics",
    }
    return {"events": [{**event, "markets": [market("Ann"), market("Bo")], "mutually_exclusive": True}]}


def polymarket(note: str, remark: str, answer: str) -> Any:
    def market(number: int) -> dict[str, Any]:
        return {
            "id": str(number), "question": TITLE + remark, "groupItemTitle": f"Option {number}" + remark, "outcomes": '["Yes","No"]', "closed": False,
            "endDate": "2024-12-31T00:00:00Z",
        }  # fmt: skip

    event = {
        "id": "1",
        "slug": f"cabinet{'-resigned-2024-02-27' if remark else ''}",
        "title": TITLE + remark,
        "description": CRITERIA + note,
        "endDate": "2024-12-31T00:00:00Z",
    }
    return [{**event, "markets": [market(1), market(2)]}]


def table(note: str, remark: str, answer: str) -> Any:
    columns = {
        "id": "s1",
        "title": TITLE + remark,
        "background": CRITERIA + note,
        "criteria": CRITERIA + note,
        "asked_on": "2024-01-15",
    }
    return _csv(
        {**columns, "closes_on": "2024-12-31", "kind": "binary", **({"answer": "yes"} if answer else {})}
    )


def events(note: str, remark: str, answer: str) -> Any:
    columns = {
        "event_id": "e1",
        "question_key": "e1",
        "source": "x",
        "question_type": "market",
        "forecast_due_date": "2024-01-15",
    }
    return _csv(
        {
            **columns,
            "resolution_date": "2024-12-31",
            "outcome": "1" if answer else "",
            "question": TITLE + remark,
        }
    )


def _csv(columns: Mapping[str, str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([list(columns), list(columns.values())])
    return out.getvalue()


MAKERS = {
    "metaculus": metaculus, "forecastbench": forecastbench, "prophet": prophet, "json": own, "matter-of-fact": claims, "kalshi": kalshi,
    "polymarket": polymarket, "csv": table, "events": events, "aibq2": metaculus,
}  # fmt: skip


def write(folder: Path, form: str, note: str, remark: str, answer: str = "") -> Path:
    text = MAKERS[form](note, remark, answer)
    path = folder / f"{form}.txt"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def shown(path: Path, form: str) -> list[str]:
    """All that models may be told of a file's questions."""
    cutoff, lines = Cutoff.parse(CUTOFF), []
    questions = read_file(path, form)[0].questions
    for question in questions:
        lines.append(known_context(question, "", cutoff).lines().text)
        lines.append(criteria_as_of(question, cutoff).text)
        lines += [statement_as_of(question, event, cutoff).text for event in events_of(question)]
    for joint in joint_questions(questions).values():
        known = joint.as_of(cutoff)
        lines += [known.title, *known.names.values(), known.fault]
    return lines


def sent(server: OpenAIServer) -> list[str]:
    """What the models were sent, in an order of its own."""
    return sorted(asked.everything for asked in server.asked)


@pytest.mark.parametrize("form", FORMATS)
def test_every_text_of_every_format_is_the_same_in_both_worlds(form: str, tmp_path: Path) -> None:
    plain = shown(write(tmp_path, form, "", ""), form)
    assert any("cabinet" in line or "alloy" in line or "falls" in line for line in plain)
    for note in EDITS:
        assert shown(write(tmp_path, form, note, TITLE_EDIT), form) == plain, note


def night(
    folder: Path, notes: Sequence[str], remark: str, *, forecast: bool = False
) -> tuple[list[str], str]:
    """What a night sends and says; ``forecast`` finishes one whose budget was too small for any of its questions."""
    folder.mkdir()
    for number, form in enumerate(("kalshi", "polymarket", "prophet")):
        path = write(folder, form, notes[number % len(notes)], remark)
        run_ok(folder, "questions", "import", str(path), "--as", "s")
    settings = (f"cutoff={CUTOFF}", "quick=zero-shot", "price=openai/x=100,200")
    words = ("tournament", "run", "s", "--contexts", "none", "--until", "quick", "--trials", "1", "--promote", "0", "--model", "openai/x")  # fmt: skip
    with OpenAIServer(Policy()) as server:
        named = [word for each in (*settings, f"api_base={server.url}") for word in ("--set", each)]
        if forecast:
            begun = run_cli(folder, *words, *named, "--budget-usd", "0.001", OPENAI_API_KEY="none")
            assert begun.returncode == 3 and not server.asked, begun.stderr
            said = run_ok(folder, "forecast", "s", "--budget-usd", "50", OPENAI_API_KEY="none")
        else:
            said = run_ok(folder, *words, *named, OPENAI_API_KEY="none")
        return sent(server), said


@pytest.mark.parametrize("forecast", [False, True])
def test_a_night_sends_the_same_bytes_whatever_was_edited_later(forecast: bool, tmp_path: Path) -> None:
    plain, quiet = night(tmp_path / "plain", [""], "", forecast=forecast)
    assert plain and "leak audit" not in quiet
    assert sum(CRITERIA in text for text in plain) >= 2  # what resolves the question is told
    edited, said = night(tmp_path / "edited", EDITS, TITLE_EDIT, forecast=forecast)
    assert edited == plain
    assert forecast or ("leak audit:" in said and "pieces were cut" in said)


def test_without_the_cut_the_worlds_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = shown(write(tmp_path, "metaculus", "", ""), "metaculus")
    uncut(monkeypatch)
    assert shown(write(tmp_path, "metaculus", EDITS[0], TITLE_EDIT), "metaculus") != plain


def study(folder: Path, exam: Path) -> tuple[list[str], str]:
    """What a study of these questions sends, and its report."""
    with OpenAIServer(Policy()) as server:
        model = {"model": "openai/x", "api_base": server.url}
        arms = ["random", {"arm": "zero-shot", **model}, {"arm": "prophet", **model}]
        document = {"name": "s", "exam": {"questions": exam.name}, "reference": "random", "cutoffs": "per-question", "arms": arms}  # fmt: skip
        (folder / "s.yaml").write_text(json.dumps(document))
        run_ok(folder, "experiment", "run", "s.yaml", OPENAI_API_KEY="none")
        return sent(server), (folder / "home" / "studies" / "s" / "report.html").read_text()


def test_a_study_sends_the_same_bytes_and_its_audit_says_what_was_cut(tmp_path: Path) -> None:
    plain, _ = study(tmp_path, write(tmp_path, "metaculus", "", "", "yes"))
    (other := tmp_path / "b").mkdir()
    edited, report = study(other, write(other, "metaculus", EDITS[0], TITLE_EDIT, "yes"))
    assert plain and plain == edited
    assert "pieces were cut from the texts" in report


def test_a_text_that_is_cut_to_nothing_stops_its_question(tmp_path: Path) -> None:
    entry = {"id": "o1", "title": TITLE, "criteria": "EDIT: the cabinet resigned.", "asked_on": CUTOFF, "outcomes": {"o1": 1.0}}  # fmt: skip
    other = {**entry, "id": "o2", "criteria": CRITERIA, "outcomes": {"o2": 0.0}}
    questions = {"format": "analyst-workbench/questions/1", "questions": [entry, other]}
    (tmp_path / "q.json").write_text(json.dumps(questions))
    asked, report = study(tmp_path, tmp_path / "q.json")
    assert len(asked) == 2  # by two arms, of the other question
    assert "1 events are asked of nobody: the criteria of o1" in report


def uncut(patch: pytest.MonkeyPatch) -> None:
    """The doors as they were before texts were cut: what is planted into a question reaches the recorded prompts."""
    patch.setattr(later_text, "later_parts", lambda *_, **__: [])


@pytest.mark.parametrize("planted", [True, False])
def test_the_audit_of_a_study_finds_a_later_sentence_in_recorded_prompts(
    planted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "metaculus", EDITS[0] * planted, "", "yes")
    with closing(Store(tmp_path / "home")) as store, OpenAIServer(Policy()) as server:
        with monkeypatch.context() as patch:
            uncut(patch)
            arms = ["random", {"arm": "zero-shot", "model": "openai/x", "api_base": server.url}]
            document = {"name": "s", "exam": {"questions": "metaculus.txt"}, "reference": "random", "cutoffs": "per-question", "arms": arms}  # fmt: skip
            plan = plan_study(store, study_of(document, tmp_path))
            environ = {"OPENAI_API_KEY": "none"}
            state = asyncio.run(StudyRunner(store, plan, environ=environ).work())
        assert any("this counts" in text for text in sent(server)) == planted
        audited = audit_study(store, plan, state).audited
    assert audited is not None
    found = [line for line in audited.findings if line.startswith("warn: prompts")]
    assert len(found) == planted and all("[Edited on March 1, 2024]" in line for line in found)


@pytest.mark.parametrize("planted", [True, False])
def test_the_audit_of_a_round_finds_a_later_sentence_in_recorded_prompts(
    planted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        uncut(patch)
        asked, _ = night(tmp_path / "n", [EDITS[0] * planted], "")
    assert any("this counts" in text for text in asked) == planted
    leaks = run_json(tmp_path / "n", "tournament", "show", "s.1")["leaks"]
    found = [line for line in leaks if "recorded prompts" in line]
    assert len(found) == planted and all("[Edited on March 1, 2024]" in line for line in found)
