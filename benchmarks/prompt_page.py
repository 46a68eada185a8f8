"""docs/prompts.md: a dialogue of each agent as it is sent, whole, and what prompts cost by leaf and by tree.

The dialogues are the approved ones of ``tests/prompts/approved``, which the suite holds to what agents send. Tokens of leaf and tree
are computed from the prompt files, those of today and those that earlier runs began with, for a leaf of six steps and a conclusion whose
replies have 1,000 tokens and whose outputs have 1,500 a step; the price is that of $3, $15 and $0.30 for a million tokens of input, output
and input out of a cache. A model, no bill.

Run: ``python -m benchmarks.prompt_page --write`` (without it the page is printed). No network.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.arguments import parse
from benchmarks.prompts import counter
from proxies.catalogue import api_map, load_catalogue
from workbench.prompts import TODAY, PromptSet

APPROVED = Path("tests/prompts/approved")
PAGE = Path("docs/prompts.md")
#: Who speaks in a dialogue, by the name of its approved text.
AGENTS = {
    "analysis_per_node": "The analyzer, where its rule follows how children work together",
    "criticism": "A critic of new propositions",
    "prior": "The claim's own prior",
    "proof": "A leaf in a notebook, with a cell that fails",
    "proof_no_first": "The same as one of three trials, whose conclusion comes with a slip",
    "proof_told_of_calls": "A leaf whose siblings have read something",
    "belief_loop": "A leaf by the belief agent",
    "research_lead": "The lead of a deep research",
    "linear": "The linear rule",
    "second_look_far_from_the_prior": "The linear rule, far from the prior",
    "all_needed": "A proposition that needs all of its children",
    "noisy_or": "Independent causes",
    "vanilla": "A rule by judgement",
    "synthesizer_looks_up": "A look-up before the rule",
    "routing": "The router",
    "thought_conclude": "Thoughts without tools",
    "zero_shot_variant": "A forecast at once",
    "leak_filter": "The filter of search results",
    "page_summary": "The reader of a page",
    "judge": "The judge of a report",
    "red_team": "The case against an answer",
}
#: What a reader who did not write the prompts said of them, as a forecaster, reading this page from top to bottom, and what came of it.
READING = (
    (
        'Second look: send the block alone, but "say which children justify so long a way", and below it "write the report as prose". Which?',
        "Changed: what is to be said goes into `key_factor`, and the form below is said to be that of a whole reply.",
    ),
    (
        'Belief agent: "your first belief is how often comparable cases came true" and "an empirical prior: 0.4, start from it" are two starts.',
        "Changed: a prior that is given is the first belief.",
    ),
    (
        'Prior: "the share that came true" makes 0 of 8 a probability of 0. So does a notebook that counts few cases.',
        "Changed: for k of n about (k + 1) / (n + 2), in both.",
    ),
    (
        "Needs all: conditions of one story come true together; a product of them is far too low, and nothing says what to do.",
        "Changed: `OR PA` allows for it, with how often that happens.",
    ),
    (
        'Needs all: "doubts about a child belong in how much it weighs", but a formula weighs nothing.',
        "Changed: a doubt goes into the report.",
    ),
    (
        "Independent causes: two children with one reason behind them count twice.",
        "Changed: the second gets a smaller weight.",
    ),
    (
        'Conclusion: "quote only numbers that stand in the outputs" forbids the probability itself, which no cell prints.',
        "Changed: it says which numbers are one's own judgement.",
    ),
    (
        'Answers of the model on this page are odd (a price level "needs" the VIX; evidence in one word).',
        "Said at the top: they are scripted.",
    ),
    ("The list of calls that siblings made is on no dialogue.", "Added."),
    (
        "Linear rule: that a Negative child counts through its negation is said three times.",
        "Kept: the equation, what the weight means and that it has no minus sign are three things.",
    ),
    (
        "A leaf does not see the claim it serves, so it may read a vague statement another way.",
        "Kept: it must not be led by the answer; the critic looks for such statements.",
    ),
    (
        "The critic is not told how the children of a parent are combined.",
        "Told now, parent by parent, and asked whether it fits.",
    ),
    ("The router chooses among one way only.", "Open: the dialogue has one grounder at hand."),
)
REPLY, OUTPUT, STEPS, REPORT = 1_000, 1_500, 6, 1_000
IN, OUT, CACHED = 3e-6, 15e-6, 0.3e-6
TREES = {"12 nodes (9 leaves)": (9, 3), "60 nodes (47 leaves)": (47, 13)}
Tokens = tuple[float, float, float]  # input, of it cached, output


def dialogue(first: float, each: float, requests: int) -> Tokens:
    """Tokens of a dialogue that only grows: its first request, what is added before each later one, how many there are."""
    sent = [first + number * each for number in range(requests)]
    return sum(sent), sum(sent[:-1]), requests * REPLY


def leaf(prompts: PromptSet, count: Callable[[str], int], *, framing: str = "") -> Tokens:
    """Tokens of one leaf in a notebook."""

    def size(name: str, **inputs: str) -> int:
        holes = dict.fromkeys(prompts.template(name).inputs, "") | inputs
        body = prompts.template(name).body
        for hole, text in holes.items():
            body = body.replace(f"{{{{{hole}}}}}", text)
        return count(body)

    plan = count(prompts.template(f"framing_{framing}").body) if framing else 0
    system = size("notebook_system", api_map=api_map(load_catalogue())) + size("step_reply")
    first = system + size("step_first") + size("step_line") + plan
    added = REPLY + OUTPUT + size("step_next") + size("step_line")
    steps = dialogue(first, added, STEPS)
    last = (
        first
        + STEPS * (REPLY + OUTPUT)
        + (STEPS - 1) * size("step_next")
        + size("conclude")
        + size("conclusion_reply")
    )
    return steps[0] + last, steps[1] + first + (STEPS - 1) * added, steps[2] + REPLY


def tree(
    prompts: PromptSet, count: Callable[[str], int], leaves: int, inner: int, *, best: bool = False
) -> Tokens:
    """Tokens of a whole run of this size; ``best``: three trials in their framings, the prior and the critic."""
    framings = ("outside", "no_first", "yes_first") if best else ("",)
    per_leaf = [leaf(prompts, count, framing=framing) for framing in framings]
    names = ["analyze_system", "analyze_reply"]
    analysis = dialogue(sum(count(prompts.template(name).body) for name in names) + 600, REPLY + 600, 4)
    rule = sum(
        count(prompts.template(name).body)
        for name in ("synthesis_system", "synthesize", "linear_rule", "linear_reply")
    )
    synthesis = (inner * (rule + 4 * REPORT), 0.0, float(inner * REPLY))
    more = [(900.0, 0.0, float(REPLY)), (4 * 1_500.0, 0.0, 4.0 * REPLY)] if best else []
    parts = [*[tuple(leaves * value for value in each) for each in per_leaf], analysis, synthesis, *more]
    return sum(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)


def price(tokens: Tokens, *, caches: bool) -> float:
    """Dollars, with or without a provider's cache."""
    whole, cached, written = tokens
    return (whole - cached) * IN + cached * (CACHED if caches else IN) + written * OUT


def cost_table(count: Callable[[str], int]) -> list[str]:
    """Rows of tokens and dollars: ``product``, and preset ``best``."""
    now = TODAY
    rows = [("a leaf", leaf(now, count))]
    for name, (leaves, inner) in TREES.items():
        rows += [
            (f"{name}, `product`", tree(now, count, leaves, inner)),
            (f"{name}, `best`", tree(now, count, leaves, inner, best=True)),
        ]
    head = [
        "| what | input tokens | of it sent before | output tokens | no cache | with cache |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    return [
        *head,
        *(
            f"| {name} | {each[0]:,.0f} | {each[1] / each[0]:.0%} | {each[2]:,.0f} | ${price(each, caches=False):.2f} | ${price(each, caches=True):.2f} |"
            for name, each in rows
        ),
    ]


def dialogue_tokens(count: Callable[[str], int]) -> dict[str, int]:
    """Tokens of each dialogue of the page, the model's replies in it included."""
    return {name: count((APPROVED / f"{name}.txt").read_text(encoding="utf-8")) for name in AGENTS}


def page() -> str:
    """The page."""
    count, how = counter()
    sizes = dialogue_tokens(count)
    lines = [
        "# What the agents are asked",
        "",
        "Made by `python -m benchmarks.prompt_page --write`; a test holds the counts to what is sent. The wording stands in `workbench/prompts`, one file a",
        "prompt; a run goes on with the files that it began with (its own store keeps them). A linter reads every dialogue below: nothing left to fill in, one",
        "number per limit, no tag or key that no reader knows (`tests/prompts/test_rendered.py`). What `assistant` says below is scripted: short, and wrong where",
        "the dialogue shows how a slip is sent back. What the day is and what is known of the question is put before each request on its way to the model",
        "(`workbench/agents/asked.py`) and stands in none of them. The table at the end has what a reader who wrote none of this had to say.",
        "",
        "## What it costs",
        "",
        f"Tokens by {how}. A leaf of {STEPS} steps and a conclusion, replies of {REPLY:,} tokens, outputs of {OUTPUT:,} a step; $3, $15 and $0.30 a million tokens of input, output and input out",
        "of a cache. `best`: three trials in three framings, the claim's own prior, a critic; in it the grounder is chosen by driver, and every one is counted as a notebook here.",
        "",
        *cost_table(count),
        "",
        "## The dialogues",
        "",
        "| dialogue | tokens |",
        "| --- | --- |",
        *(f"| {AGENTS[name]} | {tokens:,} |" for name, tokens in sizes.items()),
        "",
    ]
    for name, title in AGENTS.items():
        text = (APPROVED / f"{name}.txt").read_text(encoding="utf-8").rstrip()
        lines += [f"### {title}", "", "~~~~~text", text, "~~~~~", ""]
    lines += [
        "## What a reader said",
        "",
        "| complaint | what came of it |",
        "| --- | --- |",
        *(f"| {said} | {answer} |" for said, answer in READING),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="Write docs/prompts.md.")
    if parse(parser).write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())


if __name__ == "__main__":
    main()
