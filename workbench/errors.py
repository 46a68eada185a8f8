"""Errors that reach the analyst, and the exit code each of them means.

WorkbenchError
├── UsageError      the caller's mistake; the message says how to mend it   exit 2
│   ├── TwoReadings   a table of the caller's own can be read in two ways; an option says which
│   ├── BadSetting    a setting of an agent, or of its search, is out of its range
│   └── ClaimRefused  the claim is not one that a rule can decide; one sentence says why and what can be asked
├── BudgetStop      a budget or Ctrl-C stopped the run; it can be resumed   exit 3
└── ProviderError   a model or a data source failed for good; resumable     exit 4

The rooms below have trees of their own (``proxies.errors``, ``sandbox.errors``): a failure of the data, of the
sandbox and of the model are never the same type.

What mends an error is data in it (``proxies.remedies``), for all three trees: each face words it in its own terms.
"""

from collections.abc import Mapping
from typing import Any

from proxies.remedies import Command, Option, Remedied, Terms, command, option_text, sentence, shell_terms

__all__ = [
    "BadSetting",
    "BudgetStop",
    "ClaimRefused",
    "Command",
    "Option",
    "ProviderError",
    "Terms",
    "TwoReadings",
    "UsageError",
    "WorkbenchError",
    "command",
    "option_text",
    "sentence",
    "shell_terms",
]


#: Exit codes of every command (README).
DONE, BUG, USAGE, STOPPED, PROVIDER, ISOLATION, WANTING = range(7)


class WorkbenchError(Remedied):
    """An error whose message is one clear line for the analyst, made of strings and of what mends it."""

    exit_code = BUG


class UsageError(WorkbenchError):
    """The caller asked for something that cannot be done as asked.

    Attributes
    ----------
    document : what a program reads of it, such as how a claim was read; None where the line says it all
    """

    exit_code = USAGE
    document: "Mapping[str, Any] | None" = None


class TwoReadings(UsageError):
    """A table that can be read in two ways: an option says which, and at a terminal a person is asked.

    Attributes
    ----------
    option : field of the request that decides
    choices : by value of the option, what it means
    """

    def __init__(self, *parts: "str | Option | Command", option: str, choices: "Mapping[str, str]") -> None:
        super().__init__(*parts)
        self.option, self.choices = option, choices


class BadSetting(UsageError):
    """A setting of the agents, or of their search, is out of its range."""


class ClaimRefused(UsageError):
    """The claim is outside the grammar, or cannot be decided on the embedded series."""


class BudgetStop(WorkbenchError):
    """A budget or an interrupt stopped the run; what is done is kept."""

    exit_code = STOPPED


class ProviderError(WorkbenchError):
    """A model or a data source failed for good; the run can be resumed."""

    exit_code = PROVIDER
