"""The form of a catalogue row: one endpoint, its parameters, its rows and its as-of policy.

The YAML files beside this module are read into these values at the door (unknown keys are errors), so that an
endpoint without a policy, or a policy without its arguments, does not load.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

PolicyName = Literal[
    "static",
    "strip_fields",
    "snapshot_refused",
    "request_range",
    "request_point",
    "filter_rows",
    "publication_date",
    "publication_join",
    "publication_lag",
    "vintage",
    "window_end",
    "search_date_filter",
    "revision_at",
]
GuardName = Literal[
    "clamp_params",
    "param_allowlist",
    "overfetch",
    "strip",
    "readjust",
    "restated",
    "survivorship",
    "content_check",
]
Residual = Literal["none", "low", "medium", "high"]
ParamType = Literal["text", "integer", "number", "boolean", "date", "instant", "epoch", "list"]
_STRICT = ConfigDict(extra="forbid")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of an endpoint."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    type: ParamType = "text"
    place: Literal["query", "path", "json"] = "query"
    required: bool = False
    choices: tuple[Any, ...] = ()
    default: Any = None
    example: Any = None
    about: str = ""
    # a pattern that the whole value must match
    chars: str = ""
    # an optional parameter that the documented example sets
    shown: bool = False
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StampRow:
    """Which field of a row tells when it was known, and how it is written (see proxies.asof.stamps)."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    field: str = ""
    # the field that is read if ``field`` is absent or empty
    fallback: str = ""
    form: Literal["iso", "epoch", "month", "compact", "year"] = "iso"
    zone: str = "America/New_York"
    # ``param:NAME``: the bar length that the caller asked for
    grain: str = "instant"
    close: str = ""
    plus_days: int = 0
    # a row without any stamp stays; elsewhere it goes, since what cannot be dated is not known
    soft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The parameters that bound a request in time.

    ``start`` and ``end`` are names in the request; ``unit`` how they are written; ``at`` a single day; ``text``
    one parameter that holds a whole window.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    at: str = ""
    text: str = ""
    unit: Literal["day", "epoch", "instant", "compact"] = "day"
    # False: a request without an end is sent without one; True: the cutoff is sent
    always: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Where the publication day of a row is looked up: another endpoint, the matching fields, its date field."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    endpoint: str
    on: tuple[str, ...]
    field: str
    symbol: str = "symbol"
    nearest_days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """Rows inside rows: what is kept of them, and the field that must lie before the cutoff."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    rows: str
    keep: tuple[str, ...] = ()
    stamp: StampRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """Fields of rows that hold for a while: when it ended, and since when the record of changes is whole.

    Both are written like the row's own stamp. A row without an end still holds today.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    until: str
    reach: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """From which fields of a market its state at the cutoff follows; rows with the field ``of`` are markets."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    of: str
    opens: str
    closes: str
    planned: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """How an endpoint is told as of a cutoff: one of 13 policies, its arguments, and guards."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    policy: PolicyName
    residual: Residual
    guards: tuple[GuardName, ...] = ()
    stamp: StampRow | None = None
    window: Window | None = None
    lag_days: int | Mapping[str, int] | None = None
    anchor: Literal["", "period_end", "quarter_end", "year_end"] = ""
    join: Join | None = None
    keep: tuple[str, ...] = ()
    nested: tuple[Nested, ...] = ()
    beside: tuple[Nested, ...] = ()
    # the field of inner rows without which a row goes: with none left, nothing in it had begun before the cutoff
    alive: str = ""
    drop: tuple[str, ...] = ()
    # parameters that count from the present or undo the cutoff: refused in words of their own
    forbid: tuple[str, ...] = ()
    forbid_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # sent under a cutoff whatever was asked; ``NAME_min`` is a floor for NAME
    force: Mapping[str, Any] = field(default_factory=dict)
    adjust: Literal["", "prices", "total", "drop", "chart", "actions", "state"] = ""
    spell: Spell | None = None
    state: State | None = None
    text_fields: tuple[str, ...] = ()
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """How an endpoint gives more rows."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    style: Literal["none", "limit", "page", "offset", "cursor", "continue", "window"] = "none"
    param: str = ""
    size: str = ""
    most: int = 0
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """One endpoint as the YAML file states it."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    path: str
    call: str
    about: str
    as_of: AsOf
    group: tuple[str, ...] = ()
    caution: str = ""
    params: Mapping[str, Param] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    rows: str | None = None
    envelope: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    open_rows: bool = False
    recount: Mapping[str, str] = field(default_factory=dict)
    page: Page = field(default_factory=Page)
    host: str = ""
    codec: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Where a source's key comes from and where it goes."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    variable: str
    place: Literal["query", "header"]
    name: str
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How hard a source may be asked."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    per_second: float | None = None
    per_minute: float | None = None
    together: int = 8
    timeout: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One source: its hosts, key, limits and endpoints."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    source: str
    title: str
    about: str
    endpoints: tuple[EndpointRow, ...]
    hosts: Mapping[str, str] = field(default_factory=dict)
    upstream: str = ""
    key: Key | None = None
    always: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    agent: str = ""


# what the loader insists on, so that a policy never meets a row without its arguments
NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "strip_fields": ("keep",),
        "request_range": ("window", "stamp"),
        "request_point": ("window", "stamp"),
        "filter_rows": ("stamp",),
        "publication_date": ("stamp",),
        "publication_join": ("join", "lag_days", "stamp"),
        "publication_lag": ("stamp", "lag_days"),
        "vintage": ("window",),
        "window_end": ("window",),
        "search_date_filter": ("window", "stamp"),
        "revision_at": ("stamp",),
    }
)
GUARD_NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "strip": ("drop",),
        "clamp_params": ("window",),
        "readjust": ("adjust",),
        "content_check": ("text_fields",),
    }
)
