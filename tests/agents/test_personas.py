"""Every way in which a provider may answer ends as tests/fakes/personas.md says; ``python -m tests.agents.test_personas`` writes the table."""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

import pytest

from tests.fakes.persona_run import Ending, require_right, run
from tests.fakes.personas import PERSONAS, PersonaServer
from tests.pages import between, write_between
from workbench.models.model_options import THINKING

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[1] / "fakes" / "personas.md"
BEGIN, END = "<!-- personas: begin -->", "<!-- personas: end -->"
#: Calls of a leaf of the smooth run: two steps, the end, the conclusion.
SMOOTH = 4
#: Personas whose extra calls are a provider's outage, which the bound leaves out.
OUTAGES = {
    "429short", "429ms", "429long", "tpm", "5xx", "html502", "reset", "halfbody", "nochoices", "err200", "quota", "outage",
    "hang", "hangonce", "streamcut",
}  # fmt: skip


def table() -> dict[str, tuple[str, str, str]]:
    """The rows of the page: persona -> (ending, words of the cause, calls)."""
    text = between(PAGE, BEGIN, END)
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.+?) \| (\d+) \|$", text, re.MULTILINE)
    return {name: (*ending.partition(": ")[::2], calls) for name, ending, calls in rows}  # type: ignore[misc]


def test_the_table_has_a_row_for_every_persona() -> None:
    assert set(table()) == set(PERSONAS)


@pytest.mark.parametrize("name", PERSONAS)
async def test_a_persona_ends_as_the_table_says_and_is_resumed_once_its_server_behaves(
    name: str, tmp_path: Path
) -> None:
    ending, state, server = await run(name, tmp_path, resume_well=True)
    kind, cause, calls = table()[name]
    assert ending.kind == kind, ending.cause
    assert cause in ending.cause
    assert not any("thought" in source for source in ending.cells), "a thought was run as a cell"
    if name not in OUTAGES:
        assert ending.calls <= int(calls) <= max(SMOOTH + 2, SMOOTH * 3 // 2)
        keys = [asked.key() for asked in server.asked[: server.before or None]]
        # What a 400 teaches is asked again without it, and a second model gets what the first declined.
        refused = name.startswith(("no", "ctx", "fallback"))
        assert refused or len(keys) == len(set(keys)), "a request was sent twice"
    if kind != "right":
        assert state.finished
        require_right(state)
        assert bought_again(server) == []


async def test_a_resumed_leaf_keeps_what_was_sampled_in_another_way_and_its_number_of_steps(
    tmp_path: Path,
) -> None:
    changes = {"temperature": 0.7, "effort": "high", "max_tokens": 900, "max_proof_steps": 1}
    _, state, server = await run("refusetext", tmp_path, resume_well=True, changes=changes)
    require_right(state)
    after = [asked for asked in server.asked[server.before :] if asked.node != "P0"]
    assert [asked.stage for asked in after] == ["conclude", "conclude"]
    for asked in after:
        assert (asked.body["temperature"], asked.body["max_tokens"]) == (0.7, 900 + THINKING["high"])
        assert asked.body["reasoning_effort"] == "high"
    bounds = state.settings.agent
    assert (bounds.temperature, bounds.effort, bounds.max_tokens, bounds.max_proof_steps) == (
        0.7,
        "high",
        900,
        1,
    )


def bought_again(server: PersonaServer) -> list[str]:
    """What a resumed run asked although it had the reply: all but the request at which each leaf had come to its end."""
    before, after = server.asked[: server.before], server.asked[server.before :]
    last = {asked.node: asked.stage for asked in before}
    answered = {asked.key() for asked in before if asked.stage != last[asked.node]}
    return [f"{asked.node} {asked.stage}" for asked in after if asked.key() in answered]


def drawn_table(endings: dict[str, Ending]) -> str:
    lines = ["| persona | the server or model ... | ends in | calls of a leaf |", "| --- | --- | --- | --- |"]
    for name, (about, _) in PERSONAS.items():
        ending = endings[name]
        # Without the address, which another run has not.
        first = re.sub(r" at http\S+.*", "", ending.cause.split("; ")[0])
        cause = f": {first}" if first else ""
        lines.append(f"| `{name}` | {about} | {ending.kind}{cause[:110]} | {ending.calls} |")
    return "\n".join(lines)


if __name__ == "__main__":
    names = sys.argv[1:] or list(PERSONAS)
    results: dict[str, Ending] = {}
    for persona in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results[persona] = asyncio.run(run(persona, Path(folder)))[0]
            except AssertionError as error:
                results[persona] = Ending("WRONG", str(error)[:100], 99, ())
        print(
            persona, results[persona].kind, results[persona].calls, results[persona].cause[:200], flush=True
        )
    if len(names) == len(PERSONAS):
        write_between(PAGE, BEGIN, END, f"\n\n{drawn_table(results)}\n\n")
