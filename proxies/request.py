"""Check a caller's request (listed parameters only, each of its type), and plan what is sent upstream for it."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from proxies.asof import guards
from proxies.asof.clock import NEW_YORK, Cutoff, parse_day, parse_instant
from proxies.asof.policies import ApiRequest, Plan, policy_of
from proxies.asof.policies.base import pass_on
from proxies.asof.readjust import adjust_lookups
from proxies.catalogue.schema import Endpoint, Param, Residual, exceeds
from proxies.errors import CutoffRefused, MissingParameter, ParameterInvalid, ParameterNotListed, Refused
from proxies.json_text import Fields, Row

# ^ and = are in Yahoo's symbols: ^GSPC, CL=F
PATH_CHARS = r"[A-Za-z0-9._:^=-]{1,80}"
_MOST_TEXT = 4000
_MOST_ITEMS = 200


def check(endpoint: Endpoint, params: Fields | None, cutoff: Cutoff) -> Row:
    """Return a new dict of the parameters in the upstream's own types, in the catalogue's order.

    Raises `ParameterNotListed, ParameterInvalid, MissingParameter`: The request does not fit the endpoint.
    """
    if params is not None and not isinstance(params, Mapping):
        raise ParameterInvalid(f"params must be a dict of names and values, not {type(params).__name__}")
    endpoint = endpoint.at(None if cutoff.live else cutoff.last_visible_day)
    present = {name: value for name, value in (params or {}).items() if value is not None}
    for name in present:
        if not isinstance(name, str) or name not in endpoint.params:
            raise _unlisted(endpoint, str(name))
    out: Row = {}
    for name, param in endpoint.params.items():
        if name in present:
            value = _typed(name, param, present[name])
            if value == "" and not param.required:
                continue
            out[name] = value
        elif param.required:
            example = f", e.g. {param.example}" if param.example is not None else ""
            raise MissingParameter(f"{endpoint.path} needs {name} ({param.type}{example})")
    if not cutoff.live:
        for name, values in endpoint.as_of.forbid_values.items():
            if str(out.get(name)) in values:
                raise ParameterInvalid(
                    f"{name}={out[name]} follows the present state and is refused while a cutoff is set"
                )
    return out


def plan_request(request: ApiRequest, cutoff: Cutoff, *, most: Residual = "high") -> Plan:
    """Plan what is sent upstream for a request; the broker calls it before anything is fetched.

    Raises `Refused`: The policy refuses, errs, or leaves more residual risk than ``most``.
    """
    as_of = request.as_of
    policy = policy_of(request.endpoint)
    # what only tells the present is refused by its policy, in words that say what to ask for instead
    is_answered = as_of.policy != "snapshot_refused" and not cutoff.live
    if as_of.until and (cutoff.live or cutoff.last_visible_day.isoformat() > as_of.until):
        raise CutoffRefused(
            f"{request.endpoint.path} holds nothing after {as_of.until}: it answers at cutoffs up to then"
            + (f"; use {as_of.instead}" if as_of.instead else "")
        )
    if is_answered and exceeds(as_of.residual, most):
        raise CutoffRefused(
            f"{request.endpoint.path} has a {as_of.residual} residual risk of later knowledge: refused, since at most {most} is allowed here"
        )
    try:
        # without a cutoff there is nothing to hold
        plan = pass_on(request, cutoff) if cutoff.live else policy.prepare(request, cutoff)
        # the catalogue's defaults are sent too: the vendor's own may change
        defaults = {
            name: param.default
            for name, param in request.endpoint.params.items()
            if param.default is not None
        }
        plan = replace(plan, params={**defaults, **plan.params})
        if cutoff.live:
            return plan
        params = {**plan.params, **{k: v for k, v in as_of.force.items() if not k.endswith("_min")}}
        # NAME_min is a floor for the parameter NAME: Polymarket keeps fine price points for open markets only, so that a
        # fine answer would tell whether a market is open today
        for name, value in as_of.force.items():
            if name.endswith("_min"):
                plain = name.removesuffix("_min")
                params[plain] = max(int(params.get(plain) or 0), int(value))
        lookups = (*plan.lookups, *adjust_lookups(request, cutoff))
    except Refused:
        raise
    except Exception as error:  # fail closed: a policy that errs must never let a request through
        raise CutoffRefused(
            f"{request.endpoint.path} cannot be computed as of the cutoff ({type(error).__name__})"
        ) from error
    notes = (*plan.notes, *(guards.NOTES[name] for name in as_of.guards if name in guards.NOTES))
    return replace(plan, params=params, lookups=lookups, notes=notes)


def as_json(value: Any, depth: int = 0) -> Any:
    """Convert any value of a caller to JSON that can be hashed and stored."""
    if depth > 20:
        return "..."
    # Text first: most of what a caller passes, and the look for a Mapping below takes ten times as long.
    if isinstance(value, str):
        # orjson refuses a lone half of a surrogate pair
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {as_json(str(key)): as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item, depth + 1) for item in value]
    # orjson refuses integers beyond 64 bits: those go on as text
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    # orjson writes NaN and both infinities as null: different requests would get one hash
    if isinstance(value, float) and math.isfinite(value):
        return value
    return as_json(repr(value))


def _unlisted(endpoint: Endpoint, name: str) -> ParameterNotListed:
    if name in endpoint.as_of.forbid:
        return ParameterNotListed(
            f"{endpoint.path} does not take {name}: it counts from the present or undoes the cutoff"
        )
    listed = ", ".join(endpoint.params) or "no parameters"
    return ParameterNotListed(f"{endpoint.path} does not list the parameter {name!r}: it takes {listed}")


def _typed(name: str, param: Param, value: Any) -> Any:
    typed = _READERS[param.type](name, value, param)
    if param.choices and str(typed) not in {str(choice) for choice in param.choices}:
        raise ParameterInvalid(
            f"{name}={value!r} is not one of {', '.join(str(choice) for choice in param.choices)}"
        )
    if isinstance(typed, (int, float)) and not isinstance(typed, bool):
        if param.low is not None and typed < param.low:
            raise ParameterInvalid(f"{name}={value} is below {param.low}")
        if param.high is not None and typed > param.high:
            raise ParameterInvalid(f"{name}={value} is above {param.high}")
    if param.place == "path":
        text = str(typed)
        # it cannot climb out of its place: few characters, never only dots
        if not re.fullmatch(param.chars or PATH_CHARS, text) or set(text) <= {"."}:
            raise ParameterInvalid(f"{name}={text[:60]!r} holds characters that this parameter cannot have")
    elif param.chars and not re.fullmatch(param.chars, str(typed)):
        form = param.about or f"it is written like {param.example}"
        raise ParameterInvalid(f"{name}={str(typed)[:60]!r} is not written as it must be: {form}")
    return typed


def _checked_text(name: str, value: Any, param: Param) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ParameterInvalid(f"{name} must be text, not {type(value).__name__}")
    text = str(value)
    if len(text) > _MOST_TEXT:
        raise ParameterInvalid(f"{name} is longer than {_MOST_TEXT} characters")
    if any((ord(char) < 32 and char not in "\n\t") or 0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise ParameterInvalid(f"{name} holds characters that are not text")
    if param.required and not text.strip():
        raise ParameterInvalid(f"{name} is empty")
    return text


def _integer(name: str, value: Any, param: Param) -> int:
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,15}", value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 10**15:
        raise ParameterInvalid(f"{name} must be a whole number, not {value!r}")
    return value


def _number(name: str, value: Any, param: Param) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterInvalid(f"{name} must be a number, not {value!r}")
    return number


def _boolean(name: str, value: Any, param: Param) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ParameterInvalid(f"{name} must be true or false, not {value!r}")


def _date(name: str, value: Any, param: Param) -> str:
    """Parse a day; a time of day is read in its zone (New York by default) and dropped."""
    if isinstance(value, str):
        text = value.strip()
        day = parse_day(text)
        if day is not None:
            return day.isoformat()
        stamp = parse_instant(text, NEW_YORK)
        if stamp is not None:
            return stamp.astimezone(NEW_YORK).date().isoformat()
    raise ParameterInvalid(f"{name} must be a date written YYYY-MM-DD, not {value!r}")


def _instant(name: str, value: Any, param: Param) -> str:
    """Parse an instant into UTC with milliseconds; a bare day is its start in UTC."""
    if isinstance(value, str):
        day = parse_day(value.strip())
        stamp = (
            datetime(day.year, day.month, day.day, tzinfo=UTC)
            if day is not None
            else parse_instant(value.strip(), NEW_YORK)
        )
        if stamp is not None:
            # strftime leaves the zeros off early years
            return stamp.replace(tzinfo=None, microsecond=0).isoformat() + ".000Z"
    raise ParameterInvalid(f"{name} must be an ISO instant such as 2023-01-31T00:00:00.000Z, not {value!r}")


def _epoch(name: str, value: Any, param: Param) -> int:
    """Parse epoch seconds; days and instants are converted."""
    if isinstance(value, str) and not re.fullmatch(r"-?\d{1,12}", value.strip()):
        text = _instant(name, value, param)
        return int(datetime.fromisoformat(text).timestamp())
    seconds = _integer(name, value, param)
    # the last second of the year 9999, where datetime ends
    if abs(seconds) > 253402300799:
        raise ParameterInvalid(f"{name}={value} is not a time in epoch seconds")
    return seconds


def _list(name: str, value: Any, param: Param) -> list[str]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or len(value) > _MOST_ITEMS:
        raise ParameterInvalid(f"{name} must be a list of at most {_MOST_ITEMS} texts")
    items = [_checked_text(name, item, param) for item in value]
    if param.required and not items:
        raise ParameterInvalid(f"{name} is empty")
    return items


_READERS = {
    "text": _checked_text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "instant": _instant,
    "epoch": _epoch,
    "list": _list,
}
