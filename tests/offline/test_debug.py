"""What the offline analyst does about a cell that failed."""

import warnings
from datetime import date

import pytest

from tests.offline.embedded import visible_rows
from tests.offline.inprocess import Kernel, analyst
from workbench.agents.replies.stage_replies import parse_debug, parse_step
from workbench.models.base import Message, ModelRequest, NodeRef
from workbench.offline.notebook_cells import notebook
from workbench.questions.grammar import read_claim

NODE = NodeRef(id="P1", statement="The S&P 500 closes higher on 2018-12-31 than on 2018-06-29")
LAST = date(2018, 6, 29)


def steps() -> list[list[str]]:
    cells = notebook(read_claim(NODE.statement), statement=NODE.statement, cutoff="2018-06-30", last_day=LAST)
    return [[cell.source for cell in step if cell.kind == "python"] for step in cells]


def failing(source: str, error: str) -> str:
    return f"A cell failed. Its source:\n\n```python\n{source}\n```\n\nWhat it gave:\n\n{error}\n\nKnowledge cutoff: 2018-06-30\n\n<python_cell>"


async def corrected(source: str, error: str) -> str:
    request = ModelRequest(
        messages=(Message(role="user", content=failing(source, error)),),
        stage="debug",
        cutoff="2018-06-30",
        nodes=(NODE,),
    )
    return parse_debug((await analyst().complete(request)).text)


@pytest.mark.parametrize(
    "error",
    [
        "ApiUnavailable: the source is away",
        "ApiRefused: not listed",
        "AssertionError: 2018-07-02 lies after the cutoff",
    ],
)
async def test_a_data_cell_is_asked_again_as_it_was_never_bent(error: str) -> None:
    fetch = steps()[0][0]
    assert await corrected(fetch, error) == fetch


async def test_an_estimate_is_sent_again_as_it_was_meant() -> None:
    estimate = next(source for step in steps() for source in step if "forecast_reading(claim" in source)
    assert await corrected(estimate, "MemoryError: no room") == estimate


async def test_a_failed_figure_becomes_a_plain_one_that_runs() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = next(source for step in steps() for source in step if "figure = proof_figure" in source)
    plain = await corrected(figure, "ValueError: bad label")
    kernel = Kernel(visible_rows, LAST)
    for source in [source for step in steps()[:2] for source in step]:
        exec(source, kernel.namespace)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*non-interactive.*")
        exec(plain, kernel.namespace)
    assert plt.gca().get_title().startswith(NODE.statement)
    plt.close("all")


async def test_a_cell_it_does_not_know_comes_back_unchanged_when_nothing_is_known_to_help() -> None:
    own = Message(role="assistant", content="<python_cell>\n1 / 0\n</python_cell>")
    asked = Message(role="user", content="It failed: ZeroDivisionError")
    request = ModelRequest(messages=(own, asked), stage="debug", cutoff="2018-06-30", nodes=(NODE,))
    assert parse_debug((await analyst().complete(request)).text) == "1 / 0"


async def test_steps_follow_the_dialogue_and_end() -> None:
    model = analyst()
    messages: list[Message] = [Message(role="user", content="go")]
    seen = []
    for _ in range(4):
        reply = await model.complete(
            ModelRequest(messages=tuple(messages), stage="step", cutoff="2018-06-30", nodes=(NODE,))
        )
        seen.append(parse_step(reply.text, first=not seen))
        messages += [Message(role="assistant", content=reply.text), Message(role="user", content="outputs")]
    assert [step.end for step in seen] == [False, False, False, True]
    assert not seen[3].cells
    assert all(step.cells[0].kind == "markdown" for step in seen[:3])
