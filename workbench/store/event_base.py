"""The base of every event of the log, and the kinds of values that events hold."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from workbench.terminal import shown_text

Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
#: A public key as OpenSSH writes it, and a signature by it in base64; both are ed25519.
PublicKey = Annotated[str, Field(pattern=r"^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}$")]
# 64 bytes are 86 letters of base64 and two of padding.
Signature = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]
JournalHead = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


def _as_shown(value: Any) -> Any:
    """Clean every text in JSON data as screens show it; other values are left to the field's own type."""
    match value:
        case str():
            return shown_text(value)
        case dict():
            return {name: _as_shown(item) for name, item in value.items()}
        case list() | tuple():
            return [_as_shown(item) for item in value]
        case _:
            return value


#: A text that screens print as it stands. Cleaned when an event is made, so that no door can forget it; and when one is
#: read, so that a stranger's package is shown like it, while its bytes and hashes stay.
Shown = Annotated[str, BeforeValidator(_as_shown)]
#: JSON data whose texts are cleaned so.
ShownData = Annotated[dict[str, Any], BeforeValidator(_as_shown)]


#: An unknown field is refused rather than dropped: it means that another version wrote the event. The schema of a model is
#: built when it is first used: a command meets a dozen of the fifty kinds.
SHAPE = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class EventBase(BaseModel):
    """One event; ``node`` and ``trial`` are columns of the log."""

    model_config = SHAPE

    node: str | None = None
    trial: int | None = None
