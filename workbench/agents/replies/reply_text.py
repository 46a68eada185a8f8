"""The text of a reply: without the thoughts that some models send in front of it, and not the prompt's own example handed back."""

from workbench.agents.errors import MalformedReply

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
