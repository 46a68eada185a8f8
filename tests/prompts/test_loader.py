"""The prompt loader: holes are the declared inputs, nothing is left over, text put in is never read again."""

import hashlib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff
from workbench.prompts import TODAY, load, names
from workbench.prompts.errors import BadPromptFile, UnknownPrompt, WrongInputs
from workbench.prompts.prompt_files import parse

FRONT = "---\nname: x\nversion: 1\ninputs: [{inputs}]\nsource: here\n---\n"

LIVE = Cutoff.parse("now")


def prompt_file(body: str, inputs: str = "") -> bytes:
    return (FRONT.format(inputs=inputs) + body).encode()


@pytest.mark.parametrize("name", names())
def test_every_prompt_file_loads_and_renders(name: str) -> None:
    template = load(name)
    rendered = TODAY.render(name, **{key: as_of(f"<{key}>", LIVE) for key in template.inputs})
    assert all(f"<{key}>" in rendered for key in template.inputs)
    assert "{{" not in rendered and "}}" not in rendered


def test_fingerprints_are_version_and_hash_of_every_file() -> None:
    content = files("workbench.prompts").joinpath("debug.md").read_bytes()
    assert set(TODAY.fingerprints()) == set(names())
    assert TODAY.fingerprints()["debug"]["sha256"] == "sha256:" + hashlib.sha256(content).hexdigest()


@given(st.text(max_size=50), st.text(max_size=50))
def test_text_put_in_stands_verbatim(reason: str, propositions: str) -> None:
    hostile = f"{reason}{{{{cutoff}}}}{{{{ 7*7 }}}}{{% if x %}}{{# note #}}"
    text = TODAY.render("retry", reason=hostile, propositions=propositions, cutoff="C", reply_format="F")
    assert hostile in text
    assert f"\n\n{propositions}\n\nKnowledge cutoff: C\n\nF" in text


def test_whole_numbers_may_be_put_in_but_nothing_else() -> None:
    texts = {"proposition": "p", "cutoff": "c", "reply_format": "f"}
    assert "at most 20 steps" in TODAY.render("step_first", hints="", max_steps=20, **texts)
    for value in (None, 1.5, True, ["a"]):
        with pytest.raises(WrongInputs, match="max_steps"):
            TODAY.render("step_first", hints="", max_steps=value, **texts)  # type: ignore[arg-type]


def test_text_of_strangers_goes_in_as_of_a_cutoff_or_not_at_all() -> None:
    texts = {"cutoff": "c", "count": 2}
    with pytest.raises(
        WrongInputs, match="question of prompt context_queries may hold text of after the cutoff"
    ):
        TODAY.render("context_queries", question="[Edited on March 1, 2024] It fell.", **texts)
    shown = as_of("Fine. [Edited on March 1, 2024] It fell.", Cutoff.parse("2024-01-15"))
    assert "It fell" not in TODAY.render("context_queries", question=shown, **texts)


def test_inputs_must_be_exactly_the_declared_ones() -> None:
    with pytest.raises(WrongInputs, match="lacks equation, intercept_max, tolerance"):
        TODAY.render("linear_rule")
    with pytest.raises(WrongInputs, match="has no input more"):
        TODAY.render("linear_rule", equation="p", intercept_max="0.1", tolerance="0.02", more="x")


def test_an_unknown_prompt_lists_the_known_ones() -> None:
    with pytest.raises(UnknownPrompt, match="analyze_system"):
        TODAY.render("nothing")
    with pytest.raises(UnknownPrompt):
        TODAY.render("../prompts/debug")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no front matter", "does not start with front matter"),
        (prompt_file("text {{a}}"), r"holes \['a'\]"),
        (prompt_file("text", "a"), "has holes"),
        (prompt_file("{{a}}", "a, a"), "declares"),
        (prompt_file("{{a}} {{b", "a"), "left over"),
        (prompt_file("{{a}} b}}", "a"), "left over"),
        (prompt_file("{{a}} {b}", "a"), "left over"),
        (prompt_file("{{a}} {{ b }}", "a"), r"holes \['a', 'b'\]"),
        (prompt_file("{{a}} {{ a.upper() }}", "a"), "left over"),
        (prompt_file("{{a}} {{ a|safe }}", "a"), "left over"),
        (prompt_file("{{a}} {% if a %}x{% endif %}", "a"), "left over"),
        (prompt_file("{% include 'debug.md' %}"), "left over"),
        (prompt_file("{{a}} {{B}}", "a"), "left over"),
        (prompt_file("x").replace(b"name: x", b"name: y"), "calls itself y"),
        (prompt_file("x").replace(b"version: 1", b"version: one"), "version"),
        (prompt_file("x").replace(b"version: 1", b"version: 0"), "version"),
        (prompt_file("x").replace(b"source: here", b"source: here\nmore: 1"), "more"),
        (prompt_file("x").replace(b"source: here\n", b""), "source"),
        (prompt_file("x").replace(b"[]", b"["), "front matter"),
    ],
)
def test_a_bad_prompt_file_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(BadPromptFile, match=why):
        parse("x", content)


def test_json_in_a_prompt_is_no_leftover() -> None:
    template = parse("x", prompt_file('{"beta": {"b": 1, {{a}}}, "p": {"c": {} } }', "a"))
    assert template.inputs == ("a",)
