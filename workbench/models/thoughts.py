"""Strip thoughts and lone surrogates from a reply.

Open models write ``<think>...</think>`` before their answer; where the template opens the block in the prompt, only the
closing tag arrives. What stands in the thoughts must be neither run nor read.
"""

import re
import warnings

from workbench.syntax_tree import syntax_tree

_CLOSING = re.compile(r"</(?:think|thinking|thought|thoughts|reasoning)>", re.IGNORECASE)
_OPENING = re.compile(r"\A\s*<(?:think|thinking|thought|thoughts|reasoning)>", re.IGNORECASE)
# What a reply's own part begins with: a cell, the end of notebook or analysis, a code fence.
_FIRST_TAG = re.compile(
    r"<(?:markdown|python)_cell>|<TERMINATE_NOTEBOOK>|<END_OF_ANALYSIS>|^[ \t>]*```", re.MULTILINE
)
# The template of gpt-oss ("harmony"): what is meant for the reader stands in the channel "final".
_FINAL_CHANNEL = re.compile(
    r"<\|channel\|>\s*final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>(.*?)(?=<\|(?:return|end|start|call)\|>|\Z)",
    re.DOTALL,
)
# Each may have to be looked for in a cell that is parsed; an honest reply has one or two.
_MOST_CLOSINGS = 50
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """Replace every lone surrogate by U+FFFD: no file and no request can hold one."""
    return _SURROGATE.sub("\ufffd", text)


def without_thoughts(text: str) -> str:
    """Return the text after the thoughts; the whole text if it holds none.

    Thoughts end at the last closing tag that stands alone on its line or before the first tag of the reply. A closing tag
    inside a Python cell whose source is whole with it (a string of several lines) ends nothing. A block that is opened at
    the very beginning and never closed is all thought: an empty text comes back.

    >>> without_thoughts("<think>0.9?</think>So.")
    'So.'
    >>> without_thoughts("<think>for ever")
    ''
    >>> without_thoughts("<|channel|>analysis<|message|>0.9?<|end|><|start|>assistant<|channel|>final<|message|>So.<|return|>")
    'So.'
    """
    if finals := list(_FINAL_CHANNEL.finditer(text)):
        return finals[-1][1].strip("\n")
    ends = list(_CLOSING.finditer(text))
    first = _FIRST_TAG.search(text)
    for end in ends[: -_MOST_CLOSINGS - 1 : -1]:
        alone = _alone(text, end) and not _in_whole_cell(text, end.start())
        if alone or first is None or end.end() <= first.start():
            return text[end.end() :].lstrip("\n")
    opening = _OPENING.match(text)
    if opening is None:
        return text
    # Opened at the beginning and closed in the middle of a line behind some tag: the thoughts quoted the tag.
    return text[ends[0].end() :].lstrip("\n") if ends else ""


def _alone(text: str, match: re.Match[str]) -> bool:
    start = text.rfind("\n", 0, match.start()) + 1
    stop = text.find("\n", match.end())
    return not (text[start : match.start()] + text[match.end() : stop if stop != -1 else len(text)]).strip()


def _in_whole_cell(text: str, position: int) -> bool:
    start = text.rfind("<python_cell>", 0, position)
    stop = text.find("</python_cell>", position)
    if start == -1 or stop == -1:
        return False
    # A cell that was closed before the position is another one's business.
    source = text[start + len("<python_cell>") : stop]
    return "</python_cell>" not in source and is_python(source)


def is_python(source: str) -> bool:
    """Whether a text parses as Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string is a warning here and the author's business
            syntax_tree(source)
    # ValueError: a null byte. The last two: source that is nested too deeply for the parser.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
