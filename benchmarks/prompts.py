"""Prompt tokens per leaf: ways of telling a model the sources, and of telling it the reply format.

Sources: our map of what works in a run, with search and documentation on request, beside a full directory in the prompt.
Format: said once in the system message with a line in every step, beside the whole format in every step.

Run: ``python -m benchmarks.prompts``. Prints one table; nothing is written, no network. Tokens are counted with the
encoding cl100k where its file lies in the installed packages, else as characters / 4, which is said.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from benchmarks.arguments import parse
from proxies.catalogue import Availability, Catalogue, api_doc, api_map, api_search, load_catalogue
from workbench.prompts import TODAY

_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # the name tiktoken keeps cl100k under
OURS = "our map, search and documentation on request"
#: Requests of one leaf: five steps, a failed cell, the conclusion.
REQUESTS = 7
#: What one leaf reads up on: a price series, a macro series, a page.
READ = (
    "fmp/chart/end-of-day/historical-price-eod/light",
    "fred/series/series/observations",
    "wikipedia/page",
)
#: Steps among them; each step's message stays in the dialogue.
STEPS = 5
#: What it searches for first, where it has no directory.
SOUGHT = ("daily stock prices", "macro series observations")


def counter() -> tuple[Callable[[str], int], str]:
    """A function that counts tokens, and how it does."""
    package = find_spec("litellm")
    places = package.submodule_search_locations if package else None
    folder = next((f.parent for place in places or () for f in sorted(Path(place).rglob(_FILE))), None)
    if folder is None or find_spec("tiktoken") is None:
        return lambda text: round(len(text) / 4), "characters / 4: an estimate"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=())), "cl100k"


def full_directory(catalogue: Catalogue) -> str:
    """Every path with its sentence and the names of its parameters, a line each."""
    return "\n".join(f"- {e.path}({', '.join(e.params)}): {e.about}" for e in catalogue)


def system_prompt(sources: str, *, reply_format: bool = True) -> str:
    """The system message of a leaf's dialogue around a description of the sources, with the reply format or without."""
    return TODAY.render(
        "notebook_system",
        cutoff="2018-06-30",
        api_map=sources,
        output_chars="6000",
        reply_format=TODAY.render("step_reply") if reply_format else "",
    )


def formats(count: Callable[[str], int], sources: str) -> Mapping[str, int]:
    """Tokens of system message and steps in all requests of a leaf, outputs left out, by way of telling the format."""
    totals = {}
    for name, once in (("said once, a line in every step", True), ("whole in every step", False)):
        line = TODAY.render("step_line" if once else "step_reply")
        step = count(
            TODAY.render(
                "step_next", notes="", outputs="", proposition="P1: The VIX closes above 20 on 2018-12-31",
                cutoff="2018-06-30", steps_left=4, reply_format=line,
            )
        )  # fmt: skip
        system = count(system_prompt(sources, reply_format=once))
        # request k holds the messages of the steps before it too
        totals[name] = sum(system + min(k, STEPS) * step for k in range(1, REQUESTS + 1))
    return totals


def all_pages(catalogue: Catalogue) -> str:
    """The documentation of everything."""
    paths = [e.path for e in catalogue]
    return "".join(api_doc(catalogue, paths[at : at + 25]) for at in range(0, len(paths), 25))


def leaf(count: Callable[[str], int], catalogue: Catalogue) -> Mapping[str, tuple[int, int]]:
    """Tokens in one request's system message and in all requests of a leaf, by way of telling the sources."""
    read = count(api_doc(catalogue, READ))
    found = count("".join(api_search(catalogue, words) for words in SOUGHT))
    out = {}
    for name, sources, learned in (
        (
            "our map without any key, search and documentation",
            api_map(catalogue, Availability()),
            found + read,
        ),
        (OURS, api_map(catalogue), found + read),
        ("our map, documentation on request", api_map(catalogue), read),
        ("a full directory, documentation on request", full_directory(catalogue), read),
        ("the whole documentation in the prompt", all_pages(catalogue), 0),
    ):
        system = count(system_prompt(sources))
        # a dialogue is sent again at every request; what was read stays in it from the second on
        out[name] = (system, REQUESTS * system + (REQUESTS - 1) * learned)
    return out


def main() -> None:
    """Print the table."""
    parse(argparse.ArgumentParser(description=__doc__))  # all of it is small
    count, how = counter()
    catalogue = load_catalogue()
    print(
        f"{len(catalogue)} endpoints; tokens by {how}; a leaf of {REQUESTS} requests that reads {len(READ)} pages"
    )
    told = leaf(count, catalogue)
    _, least = told[OURS]
    for name, (system, whole) in told.items():
        print(f"{name:<48} system message {system:>7,}   a leaf {whole:>9,}   ratio {whole / least:>6.2f}")
    print(f"{'the map alone':<48} {count(api_map(catalogue)):>22,}")
    print(f"{'the map alone, without any key':<48} {count(api_map(catalogue, Availability())):>22,}")
    for name, tokens in formats(count, api_map(catalogue)).items():
        print(f"format {name:<41} {tokens:>22,}")


if __name__ == "__main__":
    main()
