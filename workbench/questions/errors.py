"""What can be wrong with a question.

UsageError (workbench.errors)
└── ClaimRefused    the claim is not one that a rule can decide; one sentence says why and what can be asked
"""

from workbench.errors import ClaimRefused

__all__ = ["ANOTHER_MODEL", "ClaimRefused"]

#: What a refusal advises on the command line; a page puts its own words in the place of these.
ANOTHER_MODEL = "set a real model with --model PROVIDER/NAME (--api-base URL)"
