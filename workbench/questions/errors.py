"""What can be wrong with a question, or with what is known of its series.

UsageError (workbench.errors)
└── ClaimRefused    the claim is not one that a rule can decide; one sentence says why and what can be asked
WorkbenchError (workbench.errors)
└── LookAhead       something rests on what became known after its cutoff
"""

from workbench.errors import ClaimRefused, Option, WorkbenchError

__all__ = ["ANOTHER_MODEL", "ClaimRefused", "LookAhead"]

#: What a refusal advises, as parts of its message; the form of the page puts its own words in the place of these.
ANOTHER_MODEL = (
    "set a real model with ",
    Option("model", "PROVIDER/NAME"),
    " (",
    Option("api_base", "URL"),
    ")",
)


class LookAhead(WorkbenchError):
    """A forecast, or what is chosen for it, saw or rests on something of after its cutoff: a back-test with it would flatter."""
