"""The text of a reply: its prose and its block, how a second reply joins the first, and the prompt's own example handed back."""

import re
from collections.abc import Sequence

from workbench.agents.errors import MalformedReply
from workbench.models.thoughts import without_thoughts

#: Where the prose in front of a reply's block ends: at its fence, or at the JSON itself.
_BLOCK = re.compile(r"^[ \t>]*(?:```|~~~|\{)", re.MULTILINE)
#: A block that brings prose of its own needs none from before.
_OWN_REPORT = re.compile(r'"report"\s*:\s*"[^"]')
_AS_ASKED = {
    tag.lower(): tag
    for tag in (
        "<python_cell>", "</python_cell>", "<markdown_cell>", "</markdown_cell>", "<TERMINATE_NOTEBOOK>",
        "<END_OF_ANALYSIS>",
    )
}  # fmt: skip
_TAG = re.compile("|".join(map(re.escape, _AS_ASKED)), re.IGNORECASE)


def prose_before(text: str) -> str:
    r"""Return what a reply says in front of its block; "" where it begins with the block, or has none.

    >>> prose_before('It waits.\n\n```json\n{"p_true": 0.6}\n```')
    'It waits.'
    """
    text = clean(text)
    block = _BLOCK.search(text)
    return text[: block.start()].strip() if block else ""


def with_prose(prose: str, text: str) -> str:
    """Return a reply behind the prose of an earlier one, where it is a block alone; else as it is."""
    if not prose or prose_before(text) or not _BLOCK.search(clean(text)) or _OWN_REPORT.search(text):
        return text
    return f"{prose}\n\n{clean(text).strip()}"


def after_earlier(texts: Sequence[str]) -> str:
    """Return the last of some replies behind the prose of those before, as a dialogue that keeps it reads it."""
    prose = text = ""
    for reply in texts:
        text = with_prose(prose, reply)
        prose = prose_before(text) or prose
    return text


def clean(text: str) -> str:
    """Return a reply with plain line ends, tags as they are asked for, and without thoughts."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return without_thoughts(_TAG.sub(lambda match: _AS_ASKED[match[0].lower()], text))


def continued(partial: str, rest: str) -> str:
    """A reply and its continuation; a model that began anew instead of going on is taken at its second word."""
    rest = without_thoughts(rest)
    opening = partial.strip()[:40]
    return rest if len(opening) >= 20 and rest.strip().startswith(opening) else partial + rest.lstrip("\n")


#: Words of the shapes in ``workbench/prompts`` that no answer of its own holds.
PLACEHOLDERS = (
    "a complete statement",
    "another complete statement",
    "why and how strongly each child bears on the parent",
    "what settles it: source, series, date",
    "which comparable cases there are",
    "the one thing that decides it, in one or two sentences",
    "what decides it, in one or two sentences",
    "what evidence would move p, and which way",
    "what moves it from there to p",
    "how it stands now, and how it then comes out",
    "one way in which it comes true",
    "one way in which it does not",
    "what evidence, and which way",
    "what PA assumes",
    "the one argument that carries the case, in one sentence",
)
_LONG_ENOUGH = 30


def refuse_placeholder(text: str) -> None:
    """Raise `MalformedReply` if a text of the reply is a placeholder of the prompt, alone or as its beginning.

    A phrase of thirty characters and more counts wherever it stands; a shorter one only as the whole text.
    """
    plain = " ".join(text.lower().split()).strip(" .\"'`")
    for phrase in PLACEHOLDERS:
        lowered = phrase.lower()
        if plain == lowered or (len(lowered) >= _LONG_ENOUGH and lowered in plain):
            raise MalformedReply(
                f'it repeats the placeholder "{phrase}" of the format; put your own words in its place'
            )
