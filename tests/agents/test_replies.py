"""Reply parsers: what they accept, what they send back, and that they never do anything else."""

import json
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.fakes.model_policy import analysis_block, cells, fenced
from workbench.agents.errors import MalformedReply
from workbench.agents.replies import analysis_reply as reply_analysis
from workbench.agents.replies import stage_replies as replies
from workbench.propositions import Polarity

PARSERS = (
    reply_analysis.parse_analysis,
    replies.parse_step,
    replies.parse_debug,
    replies.parse_conclusion,
    replies.LinearReply.read,
    replies.NoisyOrReply.read,
    replies.LogicReply.read,
)
unit = st.floats(0, 1)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
ids = st.lists(st.integers(1, 30).map(lambda n: f"P{n}"), min_size=1, max_size=7, unique=True)
GOOD = '{"p_true": 0.6, "key_factor": "k"}'


def block(text: str) -> str:
    return f"Some prose.\n\n```json\n{text}\n```"


# -- any text at all

SNIPPETS = st.sampled_from(
    [
        "```json", "```", "\n", "{", "}", "[", "]", '"p_true"', ":", ",", "0.5", "1e999", "NaN", '"beta"', "null",
        "<python_cell>", "</python_cell>", "<markdown_cell>", "</markdown_cell>", "<TERMINATE_NOTEBOOK>", "'''", '"""',
        "<END_OF_ANALYSIS>", "<think>", "</think>", "\r\n", "\x00", "print(1)", " ", "\\", '"P1"', "`", "\ud800",
        '{"p_true": 0.5, "key_factor": ""}', '[{"parent": "P0", "children": {"P1": "a"}, "causality": "P1, Positive"}]',
    ]
)  # fmt: skip


@given(st.lists(SNIPPETS | st.text(max_size=5), max_size=40).map("".join))
@example("```json\n" + "[" * 100_000 + "\n```")
@example("```json\n" + '{"p_true": ' + "9" * 10_000 + "}\n```")
@example("<python_cell>" + "(" * 10_000 + "</python_cell>")
@example("<python_cell>\n" + "</python_cell>\n" * 2_000)
@settings(deadline=None, max_examples=300)
def test_any_text_is_read_or_sent_back(text: str) -> None:
    for parse in PARSERS:
        try:
            parse(text)
        except MalformedReply as malformed:
            assert malformed.reason.strip()
            assert "\n" not in malformed.reason


# -- round trips


@given(p=unit, key=words, before=words)
def test_conclusion_round_trip(p: float, key: str, before: str) -> None:
    text = f"{before}\n\n{fenced({'p_true': p, 'key_factor': key})}\n"
    assume("<think>" not in before and not before.lstrip().startswith("```"))
    read = replies.parse_conclusion(text)
    assert (read.p, read.key_factor, read.report) == (p, key.strip(), before.strip())


@given(ids, st.data())
def test_linear_round_trip(children: list[str], data: st.DataObject) -> None:
    weights = {child: data.draw(st.floats(-1, 1)) for child in children}
    b0, p = data.draw(st.floats(-0.1, 0.1)), data.draw(unit)
    text = fenced({"beta": {"beta_0": b0, **weights}, "p_true": p, "key_factor": "k"})
    read = replies.LinearReply.read(text.replace("\n", "\r\n"))
    assert (read.intercept, dict(read.weights), read.conclusion.p) == (b0, weights, p)


@given(ids, st.data())
def test_noisy_or_round_trip(children: list[str], data: st.DataObject) -> None:
    sides = {child: data.draw(st.booleans()) for child in children}
    weights = {child: data.draw(unit) for child in children if sides[child]}
    inhibitors = {child: data.draw(unit) for child in children if not sides[child]}
    shape = {"leak": 0.02, "weights": weights, "inhibitors": inhibitors, "p_true": 0.4, "key_factor": "k"}
    read = replies.NoisyOrReply.read(fenced(shape))
    assert (dict(read.weights), dict(read.inhibitors), read.leak) == (weights, inhibitors, 0.02)


@given(ids, st.data())
def test_analysis_round_trip(children: list[str], data: st.DataObject) -> None:
    signs = {child: data.draw(st.sampled_from(["Positive", "Negative"])) for child in children}
    group = {child: (f"statement {child}", signs[child]) for child in children}
    read = reply_analysis.parse_analysis("Thoughts.\n" + analysis_block({"P0": group}))
    (expansion,) = read.expansions
    assert dict(expansion.children) == {child: f"statement {child}" for child in children}
    assert dict(expansion.polarities) == {child: Polarity(sign) for child, sign in signs.items()}


def test_logic_reply_with_and_without_assumption() -> None:
    with_pa = '{"formula": "P1 OR PA", "assumption": {"detail": "d", "probability": 0.1}, "key_factor": "k"}'
    read = replies.LogicReply.read(block(with_pa))
    assert read.assumption is not None
    assert (read.formula, read.assumption.detail, read.prose) == ("P1 OR PA", "d", "Some prose.")
    without = block('{"formula": "NOT P1", "assumption": null, "key_factor": "k"}')
    assert replies.LogicReply.read(without).assumption is None


# -- JSON that is sent back, and why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I am fairly sure.", "no ```json block"),
        (
            block(GOOD) + "\n" + block(GOOD.replace("0.6", "0.5")),
            "different things (p_true 0.6, 0.5); send exactly one",
        ),
        (GOOD + " or rather " + GOOD.replace("0.6", "0.9"), "different things (p_true 0.6, 0.9)"),
        ("```json\n" + GOOD[:-3], "not closed"),
        (block('{"p_true": 62, "key_factor": "k"}'), '"p_true": input should be less than or equal to 1'),
        (block('{"p_true": "about 0.6", "key_factor": "k"}'), '"p_true": input should be a valid number'),
        (block('{"p_true": 0.6, "key_factor": }'), "line 2 column"),
        (block('{"p_true": 1.2, "key_factor": "k"}'), '"p_true": input should be less than or equal to 1'),
        (block('{"p_true": true, "key_factor": "k"}'), '"p_true"'),
        (block('{"p_true": NaN, "key_factor": "k"}'), "NaN"),
        (block('{"p_true": 0.6}'), '"key_factor": field required'),
        (block('{"p_true": 0.6, "p_true": 0.7, "key_factor": "k"}'), '"p_true" twice'),
        (block("[0.6]"), "must be an object, not a list"),
    ],
)
def test_bad_conclusions_say_what_to_mend(text: str, why: str) -> None:
    with pytest.raises(MalformedReply) as caught:
        replies.parse_conclusion(text)
    assert why in caught.value.reason


CONCLUSION = {"p_true": 0.62, "key_factor": "k"}


@pytest.mark.parametrize(
    "text",
    [
        '{"p_true": 0.62, "key_factor": "k"}',
        'So: {"p_true": 0.62, "key_factor": "k"}. That is all.',
        'Report.\n```\n{"p_true": 0.62, "key_factor": "k"}\n```',
        'Report.\n```javascript\n{"p_true": 0.62, "key_factor": "k"}\n```',
        'Report.\n> ```json\n> {"p_true": 0.62, "key_factor": "k"}\n> ```',
        'Report.\n```json\n{"p_true": 0.62, "key_factor": "k"}',
        block('{"p_true": 0.62, "key_factor": "k"}') + "\n" + block('{"key_factor": "k", "p_true": 0.62}'),
        block('{"p_true": 0.61, "key_factor": "a draft"}')
        + "\n"
        + block('{"p_true": 0.62, "key_factor": "k"}'),
        block('{"p_true": 0.62, // about\n "key_factor": "k",\n}'),
        block('{"p_true": 0.62, /* from cell 3 */ "key_factor": "k"} # end'),
        block('{"p_true": .62, "key_factor": "k"}'),
        block('{"p_true": +0.62, "key_factor": "k"}'),
        block('{"p_true": "0.62", "key_factor": "k"}'),
        block('{"p_true": 62%, "key_factor": "k"}'),
        block('{"p_true": "62 %", "key_factor": "k"}'),
        block("{'p_true': 0.62, 'key_factor': 'k'}"),
        block("{“p_true”: 0.62, “key_factor”: “k”}"),
        block('{"p_true": 0.62, "key_factor": "k", "confidence": "high"}'),
        block('{"p_true": 0.62, "p_true": 0.62, "key_factor": "k"}'),
        "Not [0.5, 0.9] and not {this}. " + block('{"p_true": 0.62, "key_factor": "k"}'),
        '{"report": "R", "p_true": 0.62, "key_factor": "k"}',
        'first I try\n```json\n{"p_true": 0.9, "key_factor": "t"}\n```\n</think>\n'
        + block('{"p_true": 0.62, "key_factor": "k"}'),
        '<thinking>\n```json\n{"p_true": 0.9, "key_factor": "t"}\n```\n</thinking>\n'
        + block('{"p_true": 0.62, "key_factor": "k"}'),
    ],
)
def test_every_form_of_a_conclusion_that_leaves_no_doubt_is_read(text: str) -> None:
    read = replies.parse_conclusion(text)
    assert (read.p, read.key_factor) == (0.62, "k")
    assert "p_true" not in read.report


def test_a_raw_line_end_in_a_text_does_no_harm() -> None:
    assert (
        replies.parse_conclusion(block('{"p_true": 0.62, "key_factor": "two\nlines"}')).key_factor
        == "two\nlines"
    )


def test_a_key_nobody_asked_for_is_noted() -> None:
    read = replies.parse_conclusion(block('{"p_true": 0.6, "key_factor": "k", "confidence": 1}'))
    assert read.notes == ("key 'confidence' passed over",)


@given(p=unit, other=unit)
def test_two_conclusions_count_as_one_only_if_they_agree(p: float, other: float) -> None:
    text = block(f'{{"p_true": {p!r}, "key_factor": "a"}}') + block(
        f'{{"p_true": {other!r}, "key_factor": "b"}}'
    )
    if abs(p - other) <= 0.02:
        assert replies.parse_conclusion(text).p == other
    else:
        with pytest.raises(MalformedReply, match="different things"):
            replies.parse_conclusion(text)


def test_two_rules_with_other_weights_are_ambiguous_though_they_state_one_p() -> None:
    rule = '{"beta": {"beta_0": 0, "P1": %s}, "p_true": 0.3, "key_factor": "k"}'
    with pytest.raises(MalformedReply, match="different things"):
        replies.LinearReply.read(block(rule % "0.5") + block(rule % "0.6"))
    assert dict(replies.LinearReply.read(block(rule % '"50%"')).weights) == {"P1": 0.5}


def test_a_reply_that_is_one_json_object_has_its_report_in_a_field() -> None:
    read = replies.parse_conclusion('{"report": "Because.", "p_true": 0.6, "key_factor": "k"}')
    assert read.report == "Because."


def test_report_is_the_prose_without_the_block() -> None:
    read = replies.parse_conclusion("First.\n\n```python\nx = 1\n```\n\n" + f"```json\n{GOOD}\n```\nLast.\n")
    assert read.report == "First.\n\n```python\nx = 1\n```\n\nLast."


def test_linear_without_intercept_is_sent_back() -> None:
    with pytest.raises(MalformedReply, match="beta_0"):
        replies.LinearReply.read(block('{"beta": {"P1": 0.5}, "p_true": 0.3, "key_factor": "k"}'))


def test_a_child_on_both_sides_of_noisy_or_is_sent_back() -> None:
    shape = '{"leak": 0, "weights": {"P1": 0.5}, "inhibitors": {"P1": 0.5}, "p_true": 0.3, "key_factor": "k"}'
    with pytest.raises(MalformedReply, match="both"):
        replies.NoisyOrReply.read(block(shape))


# -- analyzer


def group(parent: str, causality: str, **children: str) -> dict[str, Any]:
    return {
        "parent": parent,
        "children": {k.replace("_", "."): v for k, v in children.items()},
        "causality": causality,
    }


@pytest.mark.parametrize(
    "note",
    [
        "Demand drives it (P1, Positive), but rates weigh (P1.1, Negative). (P10, Negative)",
        "P1, Positive; P1.1, Negative; P10, Negative",
        "P10: negative\nP1.1: negative\nP1: positive",
        "GDP1, Negative, is another matter. P1, Positive. P1.1, Negative; 4.P10, Positive? No: P10, Negative",
        "P1 (Positive), P1.1 (Negative), P10 = Negative",
        "**P1**, **Positive** and `P1.1`, Negative; 'P10', Negative",
    ],
)
def test_polarities_are_read_for_the_right_child(note: str) -> None:
    data = [group("P0", note, P1="a", P1_1="b", P10="c")]
    (expansion,) = reply_analysis.parse_analysis(fenced(data)).expansions
    negative = Polarity.NEGATIVE
    assert expansion.polarities == {"P1": Polarity.POSITIVE, "P1.1": negative, "P10": negative}


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("P1 matters", "gives no polarity for P1, P2"),
        ("P1, Positive", "gives no polarity for P2"),
        ("P10, Positive; P2, Positive", "gives no polarity for P1"),
        ("P1, Positive; later P1, Negative; P2, Positive", "P1 both Positive and Negative"),
        ("P1 is not negative. P2 is positive.", "gives no polarity for P1"),
        ("P1 may be positive or negative. P2 is positive.", "gives no polarity for P1"),
    ],
)
def test_missing_or_double_polarity_is_sent_back(note: str, why: str) -> None:
    with pytest.raises(MalformedReply) as caught:
        reply_analysis.parse_analysis(fenced([group("P0", note, P1="a", P2="b")]))
    assert why in caught.value.reason


@pytest.mark.parametrize(
    "note",
    [
        "P1 — Positive; P2 — Negative",
        "P1: strongly positive. P2: clearly negative.",
        "P1 → Positive, P2 -> Negative",
        "P1 has Positive polarity. P2 has Negative polarity.",
        "P1 is a positive driver: the parent gets likelier. P2 pushes negatively.",
    ],
)
def test_polarities_are_read_as_models_write_them(note: str) -> None:
    (expansion,) = reply_analysis.parse_analysis(fenced([group("P0", note, P1="a", P2="b")])).expansions
    assert expansion.polarities == {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE}


@pytest.mark.parametrize(
    "data",
    [
        {"parent": "P0", "children": {"P1": "a", "P2": "b"}, "causality": "P1, Positive; P2, Negative"},
        [{"parent": "P0", "children": {"P1": "a", "P2": "b"}, "polarity": {"P1": "+", "P2": "-"}}],
        [{"parent": "P0", "children": {"A": "a", "B": "b"}, "causality": "A, Positive; B, Negative"}],
        [{"parent": "P0", "children": {"P0.1": "a", "P0.2": "b"}, "causality": "P0.1, Positive; P0.2, Negative"}],
        [{"parent": "P0", "children": [{"statement": "a", "polarity": "Positive"}, {"statement": "b", "polarity": "negative"}]}],
        {"expansions": [{"parent": "P0", "children": [{"statement": "a", "polarity": "Positive"}, {"statement": "b", "polarity": "Negative"}], "causality": "c"}], "end": False},
        [{"parent": "P0", "children": {"P1": {"statement": "a", "polarity": "Positive"}, "P2": {"statement": "b", "polarity": "Negative"}}}],
    ],
)  # fmt: skip
def test_every_form_of_an_expansion_that_leaves_no_doubt_is_read(data: Any) -> None:
    for text in (fenced(data), f"I expand.\n\n{json.dumps(data)}\n"):
        (expansion,) = reply_analysis.parse_analysis(text).expansions
        assert (expansion.parent, dict(expansion.children)) == ("P0", {"P1": "a", "P2": "b"})
        assert expansion.polarities == {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE}


def test_one_block_per_parent_is_one_analysis_and_two_of_one_parent_are_not() -> None:
    first, second = [group("P0", "P1, Positive", P1="a")], [group("P1", "P1.1, Positive", P1_1="b")]
    read = reply_analysis.parse_analysis(fenced(second) + "\n" + fenced(first))
    assert [one.parent for one in read.expansions] == ["P0", "P1"]
    other = [group("P0", "P1, Positive", P1="c")]
    with pytest.raises(MalformedReply, match="two different expansions of P0"):
        reply_analysis.parse_analysis(fenced(first) + "\n" + fenced(other))


def test_an_end_may_be_said_in_json() -> None:
    assert reply_analysis.parse_analysis('{"expansions": [], "end": true}').end


def test_polarity_may_be_left_out_where_the_rule_does_not_need_it() -> None:
    read = reply_analysis.parse_analysis(fenced([group("P0", "", P1="a")]), require_polarity=False)
    assert read.expansions[0].polarities == {}


def test_parents_come_before_their_children_whatever_the_order_written() -> None:
    data = [group("P1", "P1.1, Positive", P1_1="b"), group("P0", "P1, Positive", P1="a")]
    assert [one.parent for one in reply_analysis.parse_analysis(fenced(data)).expansions] == ["P0", "P1"]


@pytest.mark.parametrize(
    "data", ["[]", "{}", '["P1"]', '[{"parent": "P0", "children": {}, "causality": ""}]', "3", "null", '"P0"']
)
def test_analysis_of_the_wrong_shape_is_sent_back(data: str) -> None:
    with pytest.raises(MalformedReply):
        reply_analysis.parse_analysis(block(data))


def test_empty_statement_is_sent_back() -> None:
    with pytest.raises(MalformedReply, match="P1 has no statement"):
        reply_analysis.parse_analysis(fenced([group("P0", "P1, Positive", P1="  ")]))


def test_the_end_of_an_analysis() -> None:
    assert reply_analysis.parse_analysis("Done. <END_OF_ANALYSIS>").end
    both = reply_analysis.parse_analysis(
        fenced([group("P0", "P1, Positive", P1="a")]) + "\n<END_OF_ANALYSIS>"
    )
    assert (both.end, both.end_ignored) == (False, True)
    inside = reply_analysis.parse_analysis(fenced([group("P0", "P1, Positive <END_OF_ANALYSIS>", P1="a")]))
    assert not inside.end_ignored


# -- notebook


def python(text: str) -> list[str]:
    return [cell.source for cell in replies.parse_step(text).cells if cell.kind == "code"]


def test_cells_come_in_the_order_written() -> None:
    text = "Plan.\n" + cells(
        ("markdown", "# A"), ("python", "x = 1\nprint(x)"), ("markdown", "B"), ("python", "y")
    )
    read = replies.parse_step(text)
    assert [(cell.kind, cell.source) for cell in read.cells] == [
        ("markdown", "# A"),
        ("code", "x = 1\nprint(x)"),
        ("markdown", "B"),
        ("code", "y"),
    ]
    assert not read.end


SOURCES = st.lists(
    st.sampled_from(
        [
            "x = 1",
            "if x:\n    print('y')",
            'tag = "</python_cell>"',
            'doc = """\n<python_cell>\nno cell\n</python_cell>\n"""',
            's = "<TERMINATE_NOTEBOOK>"',
            'fence = """\n```json\n{}\n```\n"""',
            "# <markdown_cell> in a comment",
            "p = r'\\d+'",
            "q = '\\d'",
        ]
    ),
    min_size=1,
    max_size=5,
).map("\n".join)


@given(st.lists(SOURCES, min_size=1, max_size=4))
def test_python_cells_round_trip_with_tags_in_strings(sources: list[str]) -> None:
    text = "I go on.\n" + cells(*(("python", source) for source in sources))
    read = replies.parse_step(text)
    assert [cell.source for cell in read.cells] == sources
    assert not read.end and not read.end_ignored
    assert replies.parse_debug(text) == sources[-1]


@given(st.lists(SOURCES, min_size=1, max_size=3))
def test_line_ends_of_another_system_change_nothing(sources: list[str]) -> None:
    text = cells(*(("python", source) for source in sources))
    assert python(text.replace("\n", "\r\n")) == sources


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("<python_cell>print(1)</python_cell>", ["print(1)"]),
        ("Compute: <python_cell>print(1)</python_cell> and on.", ["print(1)"]),
        ("<python_cell>a</python_cell><python_cell>b</python_cell>", ["a", "b"]),
        ("  <python_cell>\n```python\nx = 1\n```\n</python_cell>", ["x = 1"]),
        ("```\n<python_cell>\nx = 1\n</python_cell>\n```", ["x = 1"]),
        ("<python_cell>\n%matplotlib inline\nx = 1\n</python_cell>", ["%matplotlib inline\nx = 1"]),
        ("<python_cell>\nx = = 1\n</python_cell>\n<python_cell>\ny\n</python_cell>", ["x = = 1", "y"]),
        ("I use a <python_cell> now.\n<python_cell>\nx\n</python_cell>", ["x"]),
        ("<python_cell>\n\n    x = 1\n    y = 2\n\n</python_cell>", ["    x = 1\n    y = 2"]),
        ("I look.\n```python\nx = 1\n```", ["x = 1"]),
        ("Two.\n```py\nx = 1\n```\nand\n```python\ny = 2\n```\n", ["x = 1", "y = 2"]),
        ("```\nprint(1)\n```", ["print(1)"]),
        ("<python_cell>\nx = 1\n", ["x = 1"]),
        ("<python_cell>\nthought\n</python_cell>\n</think>\n<python_cell>\nreal\n</python_cell>", ["real"]),
        ('<python_cell>\ns = """\n</think>\n"""\n</python_cell>', ['s = """\n</think>\n"""']),
    ],
)
def test_cells_as_models_really_write_them(text: str, sources: list[str]) -> None:
    assert python(text) == sources


def test_terminate() -> None:
    assert replies.parse_step("Done.\n<TERMINATE_NOTEBOOK>").end
    assert replies.parse_step("That is all: `<TERMINATE_NOTEBOOK>`").end
    closing = replies.parse_step("<markdown_cell>\nSummary\n</markdown_cell>\n<TERMINATE_NOTEBOOK>")
    assert closing.end and len(closing.cells) == 1
    with_code = replies.parse_step("<python_cell>\nx\n</python_cell>\n<TERMINATE_NOTEBOOK>")
    assert (with_code.end, with_code.end_ignored) == (False, True)
    assert replies.parse_step("<TERMINATE_NOTEBOOK/>").end
    assert replies.parse_step("The report.\n" + block(GOOD)).end
    spoken = replies.parse_step("Then I send `<TERMINATE_NOTEBOOK>`.\n<markdown_cell>a</markdown_cell>")
    assert not spoken.end
    with pytest.raises(MalformedReply, match="not allowed before any cell"):
        replies.parse_step("<TERMINATE_NOTEBOOK>", first=True)


def test_debug_takes_the_last_python_cell() -> None:
    text = cells(("python", "a"), ("markdown", "why"), ("python", "b"))
    assert replies.parse_debug(text) == "b"
    with pytest.raises(MalformedReply, match="no <python_cell>"):
        replies.parse_debug(cells(("markdown", "I do not know")))
