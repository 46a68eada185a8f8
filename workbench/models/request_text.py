"""Parse stage, propositions and cutoff from a request's text.

The LiteLLM provider of the offline analyst needs it: a foreign program sends messages, and nothing beside them.

The last user message of every stage spells the tags and keys of its reply, shows the propositions verbatim behind
their ids, and has a line with the knowledge cutoff. That is enough for an in-process model that is called like a
remote one.
"""

import re
from collections.abc import Sequence

from workbench.models.base import Message, NodeRef

_CUTOFF = re.compile(r"^\W*Knowledge cutoff:\s*(.+?)\s*$", re.MULTILINE)
_NODE = re.compile(
    r"^[\s\-*]*(P\d+(?:\.\d+)*)(?: \([^()\n]*\))?(?:, p = [0-9.e\-]+)?: (\S.*?)\s*$", re.MULTILINE
)


def last_words(messages: Sequence[Message]) -> str:
    """Return the text of the last user message; "" without one."""
    return next((message.content for message in reversed(messages) if message.role == "user"), "")


def stage_of(messages: Sequence[Message]) -> str:
    """Recognise the stage by the reply format in the last user message; ``unknown`` if none matches."""
    text = last_words(messages)
    cutoffs = list(_CUTOFF.finditer(text))
    text = text[cutoffs[-1].end() :] if cutoffs else text  # the reply format stands behind the cutoff
    # The order matters: a step's format names <python_cell> too, and a synthesis' format names "p_true" too.
    if "END_OF_ANALYSIS" in text:
        return "analyze"
    if "<TERMINATE_NOTEBOOK>" in text:
        return "step"
    if "<python_cell>" in text:
        return "debug"
    for key, stage in (('"beta"', "linear"), ('"leak"', "noisy-or"), ('"formula"', "logic")):
        if key in text:
            return stage
    if '"p_true"' in text:
        return "vanilla" if len(nodes_of(messages)) > 1 else "conclude"
    return "unknown"


def nodes_of(messages: Sequence[Message]) -> tuple[NodeRef, ...]:
    """Parse the propositions of the last user message, in order of first appearance.

    A synthesis shows reports that name propositions further down; only the first one and its direct children count
    where reports are shown.
    """
    text = last_words(messages)
    statements: dict[str, str] = {}
    for node, statement in _NODE.findall(text):
        statements.setdefault(node, statement)
    nodes = tuple(NodeRef(id=node, statement=statement) for node, statement in statements.items())
    if not nodes or "END_OF_ANALYSIS" in text:
        return nodes
    return tuple(node for node in nodes if node is nodes[0] or _is_child(node.id, nodes[0].id))


def cutoff_of(messages: Sequence[Message]) -> str | None:
    """Parse the knowledge cutoff of the last user message, as written; None if it has none."""
    cutoffs = _CUTOFF.findall(last_words(messages))
    return str(cutoffs[-1]) if cutoffs else None


def _is_child(node: str, parent: str) -> bool:
    if parent == "P0":
        return "." not in node
    return node.startswith(f"{parent}.") and "." not in node[len(parent) + 1 :]
