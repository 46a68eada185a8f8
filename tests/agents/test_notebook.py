"""The notebook grounder: steps, debugging, documentation, limits, conclusion, resume."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from proxies.errors import Refused
from sandbox.errors import IsolationUnavailable, KernelDied
from sandbox.types import CellResult, JournalCell
from tests.agents.scripted import (
    LEAF,
    LedgerAsker,
    ScriptedAsker,
    doc_call,
    fake_session,
    leaf_task,
    search_call,
    texts,
)
from tests.fakes.leaf import FakeGuide
from tests.fakes.model_policy import cells, conclusion
from tests.fakes.sandbox import PNG, FakeSession, died, printed, raised, timed_out
from workbench.agents.base import Grounding, GroundingFailure
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.models.errors import ModelUnavailable

END = "<TERMINATE_NOTEBOOK>"
END_TEXT = conclusion(0.63, "P1.2")


def py(source: str) -> str:
    return cells(("python", source))


async def ground(ask: Any, session: Any, **settings: Any) -> Grounding | GroundingFailure:
    return await NotebookGrounder().ground(leaf_task(ask, session, **settings))


async def grounded(ask: Any, session: Any, **settings: Any) -> Grounding:
    result = await ground(ask, session, **settings)
    assert isinstance(result, Grounding), result
    return result


async def failed(ask: Any, session: Any, **settings: Any) -> GroundingFailure:
    result = await ground(ask, session, **settings)
    assert isinstance(result, GroundingFailure), result
    return result


def sources(session: FakeSession) -> list[str]:
    return [cell.source for cell in session.cells]


async def test_cells_run_in_order_and_the_belief_comes_from_the_conclusion() -> None:
    session = fake_session(printed("rows 250"), printed("p 0.63", image=True))
    ask = ScriptedAsker(
        cells(("markdown", "# Plan"), ("python", "a = 1"), ("markdown", "And now"), ("python", "print(a)")),
        END,
        END_TEXT,
    )
    result = await grounded(ask, session)
    assert sources(session) == ["# Plan", "a = 1", "And now", "print(a)"]
    assert (result.belief.p, result.belief.key_factor) == (0.63, "key of P1.2")
    assert result.belief.report == "Report on P1.2: weighed as the numbers say."
    assert dict(result.trace) == {"steps": 1, "failed_cells": 0}
    assert ask.addresses == [("step", 0, 0), ("step", 1, 0), ("conclude", 2, 0)]
    assert session.script == []


async def test_a_model_that_took_call_api_is_told_and_no_correction_is_spent() -> None:
    taken = replace(printed("ok"), replaced=("CALL_API",))
    ask = ScriptedAsker(py("def CALL_API(path): ..."), py("print(CALL_API('x'))"), END, END_TEXT)
    session = fake_session(taken, printed("1.5"))
    result = await grounded(ask, session)
    assert "Python cell 1 replaced or deleted CALL_API. The kernel has put it back" in ask.calls[1].last_user
    assert "replaced or deleted" not in ask.calls[2].last_user, "told once, with the cell's own outputs"
    assert (
        dict(result.trace) == {"steps": 2, "failed_cells": 0}
        and sources(session)[1] == "print(CALL_API('x'))"
    )
    # also where the cell failed: the correction is told of with what it gave
    failing = replace(raised("NameError", "no x"), replaced=("CALL_API",))
    ask = ScriptedAsker(py("del CALL_API; x"), py("1"), END, END_TEXT)
    await grounded(ask, fake_session(failing, printed("1")))
    assert "Python cell 1 replaced or deleted CALL_API" in ask.calls[2].last_user


async def test_a_resumed_leaf_is_told_again_in_the_same_words() -> None:
    """The finding stands in the recorded result, so the next prompt is the one whose reply is on the ledger."""
    taken = replace(printed("ok"), replaced=("CALL_API", "ApiRefused"))
    ledger = LedgerAsker(ScriptedAsker(py("%reset -f"), END, END_TEXT))
    session = fake_session(taken)
    first = await grounded(ledger, session)
    again = fake_session()
    again.cells = session.cells
    assert await grounded(ledger, again) == first and ledger.asked_on == 3


async def test_outputs_and_pictures_go_back_and_replies_stay_verbatim() -> None:
    session = fake_session(printed("rows 250"), printed("", image=True))
    first = "I begin.\n" + cells(("python", "a"), ("python", "b")) + "\nLet us see."
    ask = ScriptedAsker(first, END, END_TEXT)
    await grounded(ask, session)
    turns = ask.calls[2].request.messages
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert turns[2].content == first
    assert (
        "Python cell 1 gave:\n| rows 250\n\nPython cell 2 gave:\n| <Figure>\n| [image/png" in turns[3].content
    )
    assert turns[3].images == (PNG,)
    assert turns[5].images == ()


async def test_a_flood_of_pictures_is_cut_and_said() -> None:
    many = printed("", image=True)
    many = replace(many, outputs=(many.outputs[1],) * 11)
    ask = ScriptedAsker(py("plots"), END, END_TEXT)
    await grounded(ask, fake_session(many))
    assert len(ask.calls[1].request.messages[-1].images) == 8
    assert "(3 more pictures of Python cell 1 are not shown here.)" in ask.calls[1].last_user


async def test_only_the_failing_cell_is_corrected_and_the_waiting_ones_follow() -> None:
    session = fake_session(
        printed("one"), raised("NameError", "no b"), raised("KeyError", "c"), printed("two"), printed("three")
    )
    ask = ScriptedAsker(
        cells(("python", "a"), ("python", "b"), ("python", "z")),
        "A slip.\n" + py("b = 1"),
        py("b = 2"),
        END,
        END_TEXT,
    )
    result = await grounded(ask, session)
    assert sources(session) == ["a", "b", "b = 1", "b = 2", "z"]
    assert [cell.superseded for cell in session.cells] == [False, True, True, False, False]
    assert dict(result.trace) == {"steps": 1, "failed_cells": 2}
    assert ask.addresses == [
        ("step", 0, 0), ("debug", 1, 0), ("debug", 2, 0), ("step", 3, 0), ("conclude", 4, 0),
    ]  # fmt: skip
    debug = ask.calls[1].last_user
    assert "Python cell 2 of the notebook failed" in debug
    assert "```python\nb\n```" in debug
    assert "NameError: no b" in debug
    assert "this one included: 5." in debug
    assert "this one included: 4." in ask.calls[2].last_user
    after = ask.calls[3].last_user
    assert "Python cell 2 failed; its correction, cell 4, works." in after
    assert "Python cell 1 gave:\n| one\n\nPython cell 4 gave:\n| two\n\nPython cell 5 gave:\n| three" in after


async def test_the_whole_dialogue_with_its_debugging_stays_unless_truncated() -> None:
    def script() -> ScriptedAsker:
        return ScriptedAsker(py("b"), "My slip.\n" + py("b = 1"), END, END_TEXT)

    whole, short = script(), script()
    await grounded(whole, fake_session(raised("NameError", "no b"), printed("two")))
    await grounded(short, fake_session(raised("NameError", "no b"), printed("two")), truncate_debug=True)
    assert "My slip." in texts(whole.calls[2:3])
    assert "My slip." not in texts(short.calls[2:3])
    assert short.addresses == whole.addresses
    summary = short.calls[2].last_user
    assert "Python cell 1 failed" in summary
    assert "NameError: no b" in summary
    assert "```python\nb = 1\n```" in summary


@pytest.mark.parametrize(("result", "word"), [(timed_out(), "ran longer"), (died(), "kernel died")])
async def test_timeouts_and_deaths_are_debugged_too(result: CellResult, word: str) -> None:
    ask = ScriptedAsker(py("slow"), py("fast"), END, END_TEXT)
    done = await grounded(ask, fake_session(result, printed("ok")))
    assert done.trace["failed_cells"] == 1
    assert word in ask.calls[1].last_user


async def test_a_cell_that_stays_broken_fails_the_leaf_as_a_value() -> None:
    session = fake_session(*[raised("ValueError", f"try {n}") for n in range(6)])
    ask = ScriptedAsker(py("bad"), *[py(f"bad {n}") for n in range(5)])
    result = await failed(ask, session)
    assert result.retryable
    assert result.reason == "a Python cell still failed after 5 corrections: ValueError: try 5"
    assert len(session.cells) == 6
    assert [stage for stage, _, _ in ask.addresses] == ["step"] + ["debug"] * 5


async def test_without_corrections_the_first_failure_is_the_last() -> None:
    ask = ScriptedAsker(py("bad"))
    result = await failed(ask, fake_session(raised("ValueError", "x")), debug_max_retries=0)
    assert "after 0 corrections" in result.reason


async def test_an_early_end_is_asked_again_and_a_late_one_beside_code_is_ignored() -> None:
    session = fake_session(printed("one"), printed("two"))
    ask = ScriptedAsker(END, py("a"), py("b") + "\n" + END, END, END_TEXT)
    result = await grounded(ask, session)
    assert ask.addresses[:2] == [("step", 0, 0), ("step", 0, 1)]
    assert "not allowed before any cell" in ask.calls[1].last_user
    assert sources(session) == ["a", "b"]
    assert "the request was ignored" in ask.calls[3].last_user
    assert result.trace["steps"] == 2


async def test_text_beside_the_end_tag_is_kept() -> None:
    session = fake_session(printed("one"))
    ask = ScriptedAsker(py("a"), cells(("markdown", "Summary")) + "\n" + END, END_TEXT)
    await grounded(ask, session)
    assert sources(session) == ["a", "Summary"]


async def test_the_step_limit_leads_to_a_conclusion_that_shows_the_last_outputs() -> None:
    session = fake_session(printed("one"), printed("two", image=True))
    ask = ScriptedAsker(py("a"), py("b"), END_TEXT)
    result = await grounded(ask, session, max_proof_steps=2)
    assert result.trace["steps"] == 2
    assert [stage for stage, _, _ in ask.addresses] == ["step", "step", "conclude"]
    assert "Steps left: 1." in ask.calls[1].last_user
    assert "The limit of 2 steps is reached" in ask.calls[2].last_user
    assert "Python cell 2 gave:\n| two" in ask.calls[2].last_user
    assert ask.calls[2].request.messages[-1].images == (PNG,)


async def test_a_step_of_text_only_counts_and_runs_nothing() -> None:
    session = fake_session(printed("one"))
    ask = ScriptedAsker(cells(("markdown", "Plan")), py("a"), END, END_TEXT)
    assert (await grounded(ask, session)).trace["steps"] == 2
    assert "(no Python cell in this step)" in ask.calls[1].last_user


@pytest.mark.parametrize("bad", ['{"p_true": 1.2, "key_factor": "k"}', '{"p_true": 0.5}', "{"])
async def test_a_conclusion_out_of_bounds_is_asked_again(bad: str) -> None:
    ask = ScriptedAsker(py("a"), END, f"```json\n{bad}\n```", END_TEXT)
    result = await grounded(ask, fake_session(printed("one")))
    assert result.belief.p == 0.63
    assert ask.addresses[2:] == [("conclude", 2, 0), ("conclude", 2, 1)]


async def test_unusable_replies_fail_the_leaf_as_a_value() -> None:
    ask = ScriptedAsker("a", "b", "c")
    result = await failed(ask, fake_session())
    assert not result.retryable, "a new attempt would buy the notebook again"
    assert "step reply stayed unusable" in result.reason
    # the paper asks three more times, and then in a new attempt
    result = await failed(ScriptedAsker("a", "b", "c", "d"), fake_session(), extra_ask_share=None)
    assert result.retryable


async def test_a_later_sitting_goes_on_at_the_request_that_got_no_usable_reply() -> None:
    session = fake_session(printed("rows 250"))
    ledger = LedgerAsker(ScriptedAsker(py("a"), END, "no", "I would not say", "never"))
    failure = await failed(ledger, session)
    assert failure.gave_up == (2, 3) and not failure.retryable
    # The replies before come from the ledger, the cells from the journal; the conclusion alone is asked, at a place of its own.
    ledger.then = ScriptedAsker("still not", END_TEXT)
    task = leaf_task(ledger, session)
    result = await NotebookGrounder().ground(replace(task, gave_up=[failure.gave_up]))
    assert isinstance(result, Grounding) and result.belief.p == 0.63
    assert ledger.then.addresses == [("conclude", 2, 3), ("conclude", 2, 4)]
    assert sources(session) == ["a"]


# -- documentation


async def test_documentation_is_a_tool_and_costs_no_step() -> None:
    ask = ScriptedAsker(doc_call("a/b", "c/d"), py("a"), END, END_TEXT)
    result = await grounded(ask, fake_session(printed("one")))
    assert result.trace["steps"] == 1
    assert ask.addresses == [("step", 0, 0), ("step", 1, 0), ("step", 2, 0), ("conclude", 3, 0)]
    turns = ask.calls[1].request.messages
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "tool"]
    assert turns[3].content == "docs of a/b, c/d"
    assert [tool.name for tool in ask.calls[0].request.tools] == ["retrieve_api_doc"]
    # a dialogue that shows tool calls keeps offering the tool, as some providers demand
    assert ask.calls[3].request.tools


async def test_tools_are_the_same_in_every_request_and_closed_at_the_conclusion() -> None:
    ask = ScriptedAsker(py("a"), END, doc_call("a/b"), END_TEXT, told=False)
    await grounded(ask, fake_session(printed("one")))
    assert [[tool.name for tool in call.request.tools] for call in ask.calls] == [["retrieve_api_doc"]] * 4
    assert [call.request.choice for call in ask.calls] == ["auto", "auto", "none", "none"]
    # a model that calls one all the same is told so, and concludes
    assert ask.calls[3].request.messages[-2].content == "Not answered: no tool is called any more."
    assert "none is called any more" in ask.calls[3].last_user


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (doc_call(), "takes 1 to 25 paths in one call, not 0"),
        (doc_call(*[f"p/{n}" for n in range(26)]), "not 26"),
        (doc_call("a/b", extra=1), 'takes "full_paths"'),
        (doc_call("a/b", search=7), 'takes "full_paths"'),
        (doc_call("a/b", search="x" * 201), 'takes "full_paths"'),
        (doc_call("a/b", search=""), "endpoints for \ndocs of a/b"),
        (search_call("treasury yields"), "endpoints for treasury yields"),
        (search_call(), 'takes "full_paths"'),
        (doc_call("a/unknown"), "No documentation: no path a/unknown"),
        (doc_call(*["a/b"] * 30), "docs of a/b"),
    ],
)
async def test_wrong_documentation_calls_are_answered_in_words(call: Any, answer: str) -> None:
    class Guide(FakeGuide):
        def document(self, paths: list[str]) -> str:
            if "a/unknown" in paths:
                raise Refused("no path a/unknown")
            return super().document(paths)

    ask = ScriptedAsker(call, py("a"), END, END_TEXT)
    task = replace(leaf_task(ask, fake_session(printed("one"))), data=Guide())
    assert isinstance(await NotebookGrounder().ground(task), Grounding)
    assert answer in ask.calls[1].request.messages[-1].content


async def test_endless_documentation_requests_end_the_leaf() -> None:
    calls = [doc_call(f"a/{n}", call_id=f"d{n}") for n in range(5)]
    result = await failed(ScriptedAsker(*calls), fake_session(), max_interrupt_times=2, max_exception_retry=2)
    assert "only 2 documentation requests" in result.reason


# -- machinery


async def test_model_errors_pass() -> None:
    with pytest.raises(ModelUnavailable):
        await ground(ScriptedAsker(ModelUnavailable("down")), fake_session())


def breaks(error: Exception) -> Any:
    def run(session: FakeSession, source: str) -> CellResult:
        raise error

    return run


async def test_a_dead_kernel_is_a_retryable_failure_and_a_missing_sandbox_is_not_hidden() -> None:
    result = await failed(ScriptedAsker(py("a")), fake_session(breaks(KernelDied("gone"))))
    assert (result.retryable, result.reason) == (True, "the sandbox failed: gone")
    with pytest.raises(IsolationUnavailable):
        await ground(ScriptedAsker(py("a")), fake_session(breaks(IsolationUnavailable("no"))))


async def test_requests_name_the_leaf_and_its_cutoff_and_no_other_node() -> None:
    ask = ScriptedAsker(py("b"), py("b = 1"), END, "no", END_TEXT)
    await grounded(ask, fake_session(raised("NameError", "b"), printed("ok")))
    for call in ask.calls:
        assert call.request.nodes == (LEAF,)
        assert call.request.cutoff == "2018-06-30"
        assert f"P1.2: {LEAF.statement}\n" in call.last_user
    system = ask.calls[0].request.messages[0].content
    assert "embedded: seven daily and monthly series" in system
    # What the day is comes before each request on its way to the model, behind this asker.
    assert "Knowledge cutoff: 2018-06-30" in system


# -- resume


SCRIPT = (
    cells(("markdown", "# Plan"), ("python", "a"), ("python", "b")),
    doc_call("a/b"),
    cells(("python", "b = 1")),
    "no cell here",
    py("a"),  # the same source a second time
    END,
    END_TEXT,
)


def results() -> list[Any]:
    return [printed("one"), raised("NameError", "b"), printed("two"), printed("three", image=True)]


async def full_run() -> tuple[LedgerAsker, list[JournalCell], Grounding]:
    ledger = LedgerAsker(ScriptedAsker(*SCRIPT))
    session = fake_session(*results())
    result = await grounded(ledger, session)
    return ledger, list(session.cells), result


def resumed(cells_left: Sequence[JournalCell], *script: Any) -> FakeSession:
    session = fake_session(*script)
    session.cells = list(cells_left)
    return session


async def test_a_resumed_leaf_asks_and_runs_nothing_again() -> None:
    ledger, journal, before = await full_run()
    ledger.asked_on = 0
    session = resumed(journal)
    assert await grounded(ledger, session) == before
    assert ledger.asked_on == 0
    assert list(session.cells) == journal


@pytest.mark.parametrize("kept", range(6))
async def test_a_leaf_resumes_after_any_cell(kept: int) -> None:
    ledger, journal, before = await full_run()
    done = sum(cell.kind == "code" for cell in journal[:kept])
    session = resumed(journal[:kept], *results()[done:])
    assert await grounded(ledger, session) == before
    assert sources(session) == [cell.source for cell in journal]
    assert session.script == []


async def test_a_cell_that_never_finished_is_run_again() -> None:
    ledger, journal, before = await full_run()
    started = JournalCell(id="c1", kind="code", source="a")
    session = resumed([journal[0], started], *results())
    assert await grounded(ledger, session) == before
    # and once more, from a journal that holds the unfinished cell and its second run
    assert await grounded(ledger, resumed(session.cells)) == before


async def test_a_journal_of_another_dialogue_is_a_retryable_failure() -> None:
    ledger, journal, _ = await full_run()
    other = [journal[0], JournalCell(id="c1", kind="code", source="something else")]
    result = await failed(ledger, resumed(other))
    assert result.retryable
    assert "journal holds another code cell (c1)" in result.reason
