"""Errors of asking a model.

WorkbenchError (workbench.errors)
├── UsageError                the caller's mistake                                              exit 2
│   ├── UnknownModel          no model answers to this name
│   ├── MissingProviderKey    the provider wants a key that is not set
│   └── ClaimRefused          offline/analyst cannot treat this claim; the sentence says what it can do
└── ProviderError             failed for good, the run can be resumed                           exit 4
    └── ModelError            any failure of a model that was asked
        ├── ModelUnavailable  transient trouble (timeouts, 429, 5xx) that outlived our retries
        └── ModelRefused      the provider rejects this request and would do so again
            ├── ContextOverflow  the request is longer than the model's context; a shorter one may pass
            └── AccountRefused   the provider serves nobody with this key, purse or model's name; the run stops once

Only :class:`ModelUnavailable` stands for something that a later attempt may get past. A reply that does not parse
is not an error of the model: the agent that asked sends it back with the reason.
"""

from workbench.errors import ClaimRefused, ProviderError, UsageError

__all__ = [
    "AccountRefused",
    "ClaimRefused",
    "ContextOverflow",
    "MissingProviderKey",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "UnknownModel",
]


class ModelError(ProviderError):
    """A model did not answer."""


class ModelUnavailable(ModelError):
    """The provider could not be reached, or was overloaded, until our retries ended.

    `rate_limited`: It refused because of too many calls.

    `heard`: Some server answered, if only with an error.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        rate_limited: bool = False,
        billed: bool = False,
        heard: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.rate_limited = rate_limited
        self.billed = billed
        self.heard = heard


class ModelRefused(ModelError):
    """The provider rejects the request as it is; repeating it is pointless."""


class ContextOverflow(ModelRefused):
    """The request exceeds the model's context; agents shorten it and ask again."""

    def __init__(self, message: str, window: int | None = None) -> None:
        super().__init__(message)
        self.window = window


class AccountRefused(ModelRefused):
    """Every request of this run would be refused: revoked key, empty or closed account, model not served to it.

    It stops the run at once, instead of one leaf after another, unless a fallback model answers.
    """


class UnknownModel(UsageError):
    """No model answers to this name."""


class MissingProviderKey(UsageError):
    """The provider needs a key and none is set."""
