"""Errors of the agents' room.

WorkbenchError
├── UsageError
│   ├── UnknownAgent         no analyzer, grounder or synthesizer of that name; lists the known ones
│   └── BadSetting           a setting is out of its range (``workbench.errors``)
└── ProviderError
    └── AgentGaveUp          a model's reply stayed unusable after ``max_exception_retry`` further asks
        ├── ReplyTruncated   it was cut off at its length limit, also with a higher one
        ├── ReplyDeclined    the model refuses, or the provider's filter takes the reply away, also when asked in other words
        └── ReplyEmpty       it holds nothing

MalformedReply(ValueError)   one reply could not be read; never leaves this room: it is sent back to the model
└── WorthAskingAgain         it can be read, and has a fault that the model may mend

A leaf whose proof fails is no exception but a ``GroundingFailure`` value: its siblings go on.
"""

from workbench.errors import BadSetting, ProviderError, UsageError

__all__ = [
    "AgentGaveUp",
    "BadSetting",
    "MalformedReply",
    "ReplyDeclined",
    "ReplyEmpty",
    "ReplyTruncated",
    "RetryWorthwhile",
    "UnknownAgent",
]


class UnknownAgent(UsageError):
    """No agent of this kind has this name."""


class AgentGaveUp(ProviderError):
    """A stage got no usable reply in all the asks it is allowed."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"the model's {stage} reply stayed unusable: {reason}")
        self.stage = stage
        self.reason = reason
        self.place: tuple[int, int] | None = None


class ReplyTruncated(AgentGaveUp):
    """The replies of a stage were cut off: asked to go on and given a higher limit, the model still came to no end."""


class ReplyDeclined(AgentGaveUp):
    """The model refused, or the provider's filter took the reply away; other words and the fallback models did not help."""


class ReplyEmpty(AgentGaveUp):
    """The replies of a stage hold neither text nor a tool call."""


class MalformedReply(ValueError):
    """A reply that cannot be read; ``reason`` tells the model what to send instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RetryWorthwhile(MalformedReply):
    """A reply that can be used and has a fault that its model may mend; ``value`` is used if no further ask is allowed."""

    def __init__(self, reason: str, value: object) -> None:
        super().__init__(reason)
        self.value = value
