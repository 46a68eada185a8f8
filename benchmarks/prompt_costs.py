"""What prompts cost by leaf and by tree, and how long each approved dialogue is.

Tokens are computed from the prompt files for a leaf of six steps and a conclusion whose replies have 1,000 tokens and whose outputs have
1,500 a step; the price is that of $3, $15 and $0.30 for a million tokens of input, output and input out of a cache. A model, no bill.
The dialogues are those of ``tests/prompts/approved``, which the suite holds to what agents send. No network.

Run: ``python -m benchmarks.prompt_costs``.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.arguments import parse
from benchmarks.prompts import counter
from proxies.catalogue import api_map, load_catalogue
from workbench.prompts import TODAY, PromptSet

APPROVED = Path("tests/prompts/approved")
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


def main() -> None:
    """Print both tables."""
    parse(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    count, how = counter()
    dialogues = [
        f"| {path.stem} | {count(path.read_text(encoding='utf-8')):,} |"
        for path in sorted(APPROVED.glob("*.txt"))
    ]
    print(
        f"tokens by {how}",
        "",
        *cost_table(count),
        "",
        "| dialogue | tokens |",
        "| --- | --- |",
        *dialogues,
        sep="\n",
    )


if __name__ == "__main__":
    main()
