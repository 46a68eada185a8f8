"""Define the form of a catalogue row: one endpoint, its parameters, its rows and its as-of policy.

The YAML files beside this module are read into these values at the door (unknown keys are errors), so that an
endpoint without a policy, or a policy without its arguments, does not load.
"""

from collections.abc import Collection, Mapping
from datetime import date
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr

from proxies.json_text import Fields, Row

# Models read these texts in documentation, and a person's own service may come from a stranger: none begins a line of its own.
Line = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]

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
    "on_record",
    "content_check",
    "newest_shares",
    "as_scaled",
]
#: What a vendor may change without a date, which no row filter can see.
#: ``ticker``: a share that got a new ticker answers to it for the time before, and no longer to the old one.
Undated = Literal[
    "restated", "removed", "ranked", "capped", "expired", "rescaled", "added", "renamed", "ticker"
]
#: Changes that take away: what is still told is as of the cutoff, and it may only be missing.
WITHDRAWALS: frozenset[Undated] = frozenset({"removed", "expired"})
Residual = Literal["none", "low", "medium", "high"]
#: From the least to the most.
RESIDUALS: tuple[Residual, ...] = get_args(Residual)
ParamType = Literal["text", "integer", "number", "boolean", "date", "instant", "epoch", "list"]


class _Row(BaseModel):
    """Part of a row: no other keys than its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Param(_Row):
    """One parameter of an endpoint."""

    type: ParamType = "text"
    place: Literal["query", "path", "json"] = "query"
    required: bool = False
    choices: tuple[Any, ...] = ()
    default: Any = None
    example: Any = None
    about: Line = ""
    # a pattern that the whole value must match
    chars: str = ""
    # the first day on which the example tells nothing of later; before it documentation has the parameter's name in its place
    since: str = ""
    # an optional parameter that the documented example sets
    shown: bool = False
    low: int | None = None
    high: int | None = None
    # how a day is written in the request, where not as 2024-01-31: as strptime has it
    written: str = ""


_GRAINS = (
    "instant", "end", "day", "month", "1min", "2min", "5min", "15min", "30min", "60min", "90min", "1hour", "4hour", "1day",
    "1week", "1wk", "1month", "1mo",
)  # fmt: skip


def _grain(text: str) -> str:
    """Refuse a grain that would be read as a day: a quarter stamped with its start would show before it is over."""
    if text not in _GRAINS and not text.startswith("param:"):
        raise ValueError(f"{text!r:.40} is no grain: write {', '.join(_GRAINS)}")
    return text


class StampRow(_Row):
    """The field of a row that tells when it was known, and its form (see proxies.asof.stamps)."""

    field: str = ""
    # the field that is read if ``field`` is absent or empty
    fallback: str = ""
    form: Literal["iso", "epoch", "month", "compact", "year", "digits"] = "iso"
    zone: str = "America/New_York"
    # ``param:NAME``: the bar length that the caller asked for; a close ``market:NAME``: that of the market of the symbol in NAME
    grain: Annotated[str, AfterValidator(_grain)] = "instant"
    close: str = ""
    plus_days: int = 0
    # how it is written, as strptime has it, where no ``form`` says it: '%d.%m.%Y'
    pattern: str = ""
    # a row without any stamp stays; elsewhere it goes, since what cannot be dated is not known
    soft: bool = False


class Window(_Row):
    """The parameters that bound a request in time.

    ``start`` and ``end`` are names in the request; ``unit`` how they are written; ``at`` a single day; ``text``
    one parameter that holds a whole window.
    """

    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    at: str = ""
    text: str = ""
    unit: Literal["day", "epoch", "instant", "compact"] = "day"
    # False: a request without an end is sent without one; True: the cutoff is sent
    always: bool = True
    # the end is the last whole day before the cutoff: later hits of the cutoff's own day would take places in a list with an end
    whole: bool = False


class Join(_Row):
    """The lookup of a row's publication day: another endpoint, the matching fields, its date field."""

    endpoint: str
    on: tuple[str, ...]
    field: str
    symbol: str = "symbol"
    nearest_days: int = 0


class Nested(_Row):
    """Rows inside rows: the fields kept, and the field that must lie before the cutoff."""

    rows: str
    keep: tuple[str, ...] = ()
    stamp: StampRow | None = None


class First(_Row):
    """The lookup of the first day of what a row names: a hit counts if that day lies before the cutoff.

    ``param`` is the parameter of ``endpoint`` that takes the row's field ``of``; ``rows`` and ``stamp`` say where the day stands
    in the raw answer. The earliest of several counts.
    """

    endpoint: str
    param: str
    of: str
    rows: str
    stamp: StampRow


class Delay(_Row):
    """A stretch of days whose figures came out later than the lag says, both days included."""

    first: str
    last: str
    days: int


class Spell(_Row):
    """Fields of rows that hold for a while: their end, and since when the record of changes is complete.

    Both are written like the row's own stamp. A row without an end still holds today.
    """

    until: str
    reach: str


class State(_Row):
    """The fields from which a market's state at the cutoff follows; rows with the field ``of`` are markets."""

    of: str
    opens: str
    closes: str
    planned: str = ""


class AsOf(_Row):
    """The as-of rule of an endpoint: one of 13 policies, its arguments, and guards."""

    policy: PolicyName
    # what the shipped rows say each for itself; of a row that does not say it, nobody knows better
    residual: Residual = "high"
    guards: tuple[GuardName, ...] = ()
    stamp: StampRow | None = None
    window: Window | None = None
    lag_days: int | Mapping[str, int] | None = None
    delays: tuple[Delay, ...] = ()
    # an endpoint that tells where fiscal years end: a quarter that ends there comes with the annual report, after its lag
    year_ends: str = ""
    first: First | None = None
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
    forbid_values: Mapping[str, tuple[str, ...]] = {}
    # sent under a cutoff whatever was asked; ``NAME_min`` is a floor for NAME
    force: Fields = {}
    adjust: Literal[
        "", "prices", "total", "drop", "chart", "actions", "state", "shares", "lines", "earnings"
    ] = ""
    # fields that later splits rescaled: amounts per share, and counts of shares
    per_share: tuple[str, ...] = ()
    share_counts: tuple[str, ...] = ()
    spell: Spell | None = None
    state: State | None = None
    # where the texts of a row stand that content_check reads: those of a page, by their fields, or those of a market, by one list
    text_fields: tuple[str, ...] = ()
    texts: Literal["page", "market"] = "page"
    # the fields by which rows are sorted where the vendor's order is not by date
    order: tuple[str, ...] = ()
    # undated changes of the vendor that this endpoint does not withstand
    open_to: tuple[Undated, ...] = ()
    instead: str = ""
    # the last day of which the vendor has rows here; later cutoffs are refused, whose newest rows would be missing
    until: str = ""
    # what to ask for instead, by the value of the parameter that names a series
    instead_names: Mapping[str, str] = {}


class Page(_Row):
    """The paging of an endpoint."""

    style: Literal["none", "limit", "page", "offset", "cursor", "continue", "window"] = "none"
    param: str = ""
    size: str = ""
    most: int = 0
    # the largest value of ``param`` that the vendor documents, 0 if it documents none: a list may go on behind it
    last: int = 0
    cursor: str = ""


class SeriesFields(_Row):
    """The fields of an endpoint's rows that make a series: the day that a row is about, and its value.

    ``written``: how the day is written, as strptime has it, where not as 2024-01-31.
    """

    date: str
    value: str
    written: str = ""


class Key(_Row):
    """The origin of a source's key, and its place in requests.

    ``basic``: the variable holds ``user:password``. ``oauth2``: it holds ``client:secret``, for which ``token`` (a path at the
    source's first host, or at ``token_host``) gives a token (client credentials), sent as Bearer until it ends.
    """

    variable: str
    place: Literal["query", "header", "basic", "oauth2"]
    name: str = ""
    prefix: str = ""
    token: str = ""
    token_host: str = ""
    scope: str = ""


class EndpointLimits(_Row):
    """The pace at which a source may be asked."""

    per_second: float | None = None
    per_minute: float | None = None
    together: int = 8
    # seconds for each read, and for a whole exchange
    timeout: float = 30.0
    total: float = 120.0


class Reply(_Row):
    """A reply of a vendor that is no plain answer: how it is recognised, and what it means. The first row that fits counts.

    ``words`` is a pattern that occurs in a field of its JSON, or in the beginning of its text where no field is stated. ``none``: there is
    nothing of this name; ``empty``: an answer whose rows' own key may be absent; ``busy``: ask again later; ``quota``: the plan is used
    up; ``refused`` and ``unavailable`` tell the caller what ``says`` has, in which ``{path}`` stands for the endpoint's path. Every other
    reply that is no answer is a failure.
    """

    status: int | None = None
    field: str = ""
    words: str
    means: Literal["none", "empty", "busy", "quota", "refused", "unavailable"]
    says: Line = ""


class SourceInfo(_Row):
    """One source: its hosts, key and limits."""

    name: str = Field(alias="source")
    title: Line
    about: Line
    hosts: Mapping[str, str] = {}
    upstream: str = ""
    key: Key | None = None
    always: Fields = {}
    limits: EndpointLimits = EndpointLimits()
    agent: str = ""
    replies: tuple[Reply, ...] = ()
    # the first day of its rows: at an earlier cutoff it is not offered
    since: date | None = None
    # of a user's own service: who may see what it answers beside the person, "" as for their own files (models, no packages)
    share: Literal["", "none", "models", "packages"] = ""


class Endpoint(_Row):
    """One endpoint: its parameters, its answer, and its as-of policy."""

    path: str
    call: str
    about: Line
    as_of: AsOf
    group: tuple[str, ...] = ()
    caution: Line = ""
    params: Mapping[str, Param] = {}
    fixed: Fields = {}
    rows: str | None = None
    envelope: tuple[str, ...] = ()
    fields: Mapping[str, Line] = {}
    open_rows: bool = False
    recount: Mapping[str, str] = {}
    page: Page = Page()
    host: str = ""
    codec: str = ""
    # how the upstream writes its answers; a CSV has one row per line, under the names of its header
    answer: Literal["json", "csv"] = "json"
    # where the vendor may hold a row, if it moves with what came later: whichever of them answers, the answer is the same
    doors: tuple[str, ...] = ()
    # claims may be about it: `with_series` makes the path that ends with /series, whose answers are {date, value} rows
    series: SeriesFields | None = None
    # the first day of its rows, where it is later than the source's
    since: date | None = None
    # fields that hold nothing before a day: until then no page names them
    later: Mapping[str, date] = {}
    _source: SourceInfo = PrivateAttr()

    @property
    def source(self) -> SourceInfo:
        """The source that answers, as its file states it."""
        return self._source

    @property
    def method(self) -> str:
        """GET, POST, or LOCAL for a table of our own."""
        return self.call.partition(" ")[0]

    @property
    def url(self) -> str:
        """The path at the host."""
        return self.call.partition(" ")[2]

    @property
    def example(self) -> Row:
        """Parameters of a call that runs."""
        return {
            name: param.example if param.example is not None else param.default
            for name, param in self.params.items()
            if (param.required or param.shown) and (param.example or param.default) is not None
        }

    def of(self, source: SourceInfo) -> "Endpoint":
        """Return the endpoint at its source, without its series, which `with_series` makes an endpoint of its own."""
        host = self.host or next(iter(source.hosts), "")
        since = self.since or source.since
        placed = self.model_copy(update={"host": host, "since": since, "series": None})
        placed._source = source
        return placed

    def at(self, day: date | None) -> "Endpoint":
        """Return the endpoint as of a last visible day, without later fields and choices; None: all of it."""
        unborn = {name for name, first in self.later.items() if day is not None and first > day}
        if not unborn:
            return self
        params = {
            name: param.model_copy(
                update={"choices": tuple(choice for choice in param.choices if choice not in unborn)}
            )
            for name, param in self.params.items()
        }
        fields = {name: about for name, about in self.fields.items() if name not in unborn}
        return self.model_copy(update={"params": params, "fields": fields})


class SourceFile(SourceInfo):
    """A catalogue file: a source and its endpoints."""

    endpoints: tuple[Endpoint, ...]


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
    }
)


def residual_limit(max_residual: Residual | None, *, strict: bool) -> Residual:
    """Return the highest residual risk that a session allows: ``strict`` means medium; the lower of two limits counts."""
    limits: list[Residual] = [max_residual or "high", "medium" if strict else "high"]
    return min(limits, key=RESIDUALS.index)


def least_residual(open_to: Collection[Undated]) -> Residual:
    """Return the lowest residual risk that an endpoint with some undated changes can have.

    >>> least_residual(()), least_residual(("removed",)), least_residual(("removed", "renamed"))
    ('none', 'low', 'medium')
    """
    if WITHDRAWALS.issuperset(open_to):
        return "low" if open_to else "none"
    return "medium"


def exceeds(residual: Residual, most: Residual) -> bool:
    """Whether a residual risk is above a limit."""
    return RESIDUALS.index(residual) > RESIDUALS.index(most)
