"""Errors of the agents' room.

WorkbenchError
├── UsageError
│   ├── UnknownAgent         no analyzer, grounder or synthesizer of that name; lists the known ones
│   └── BadSetting           a number of AgentSettings is out of its range
└── ProviderError
    └── AgentGaveUp          a model's reply stayed unusable after ``max_exception_retry`` further asks

MalformedReply(ValueError)   one reply could not be read; never leaves this room: it is sent back to the model

A leaf whose proof fails is no exception but a ``GroundingFailure`` value: its siblings go on.
"""

from workbench.errors import ProviderError, UsageError


class UnknownAgent(UsageError):
    """No agent of this kind has this name."""


class BadSetting(UsageError):
    """A setting of the agents is out of its range."""


class AgentGaveUp(ProviderError):
    """A stage got no usable reply in all the asks it is allowed.

    Parameters
    ----------
    stage : str
        Stage whose replies were unusable, such as ``"linear"``.
    reason : str
        What was wrong with the last one.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"the model's {stage} reply stayed unusable: {reason}")
        self.stage = stage
        self.reason = reason


class MalformedReply(ValueError):
    """A reply that cannot be read; ``reason`` tells the model what to send instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
