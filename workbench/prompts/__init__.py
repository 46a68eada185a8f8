"""Load the prompts, one Markdown file each, and fill them in.

A prompt for a stage ends with that stage's reply file, which spells the literal tags or JSON keys of the answer; no
other file spells them. Wording is approval-tested, so a change shows in review and asks for a new ``version``.
"""

from workbench.prompts.prompt_files import Template, load, names
from workbench.prompts.prompt_set import TODAY, PromptSet, prompts_of

__all__ = [
    "TODAY", "PromptSet", "Template", "load", "names", "prompts_of",
]  # fmt: skip
