"""What can go wrong when a model is asked.

WorkbenchError (workbench.errors)
├── UsageError                the caller's mistake                                              exit 2
│   ├── UnknownModel          no model answers to this name
│   ├── MissingProviderKey    the provider wants a key that is not set
│   └── ClaimRefused          offline/analyst cannot treat this claim; the sentence says what it can do
└── ProviderError             failed for good, the run can be resumed                           exit 4
    └── ModelError            any failure of a model that was asked
        ├── ModelUnavailable  transient trouble (timeouts, 429, 5xx) that outlived our retries
        └── ModelRefused      the provider rejects this request and would do so again

Only :class:`ModelUnavailable` stands for something that a later attempt may get past. A reply that does not parse
is not an error of the model: the agent that asked sends it back with the reason.
"""

from workbench.errors import ProviderError, UsageError
from workbench.questions.errors import ClaimRefused

__all__ = [
    "ClaimRefused",
    "MissingProviderKey",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "UnknownModel",
]


class ModelError(ProviderError):
    """A model that was asked did not answer."""


class ModelUnavailable(ModelError):
    """The provider could not be reached, or was overloaded, for as long as we were willing to retry."""


class ModelRefused(ModelError):
    """The provider rejects the request as it stands; asking again the same way is pointless."""


class UnknownModel(UsageError):
    """No model answers to this name."""


class MissingProviderKey(UsageError):
    """The provider wants a key and none is set."""
