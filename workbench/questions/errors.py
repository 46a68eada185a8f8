"""What can be wrong with a question.

UsageError (workbench.errors)
└── ClaimRefused    the claim is not one that a rule can decide; one sentence says why and what can be asked
"""

from workbench.errors import UsageError

#: What a refusal advises on the command line; a page puts its own words in the place of these.
ANOTHER_MODEL = "set a real model with --model PROVIDER/NAME (--api-base URL)"


class ClaimRefused(UsageError):
    """The claim is outside the grammar, or cannot be decided on the embedded series."""
