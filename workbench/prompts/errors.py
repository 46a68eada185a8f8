"""Errors of the prompts' room: each is a bug of ours, none depends on what a user typed.

WorkbenchError
└── PromptError
    ├── UnknownPrompt       no prompt file has this name
    ├── BadPromptFile       front matter missing or wrong, or holes and declared inputs differ
    └── WrongInputs         render() was given other inputs than the prompt declares
"""

from workbench.errors import WorkbenchError


class PromptError(WorkbenchError):
    """Something is wrong with a prompt or with the call that renders it."""


class UnknownPrompt(PromptError):
    """No prompt file has this name."""


class BadPromptFile(PromptError):
    """A prompt file has wrong front matter or wrong holes."""


class WrongInputs(PromptError):
    """The inputs are not those that the prompt declares."""
