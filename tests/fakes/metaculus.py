"""Metaculus behind its API, as strict as the site: posts of tournaments, forecasts by its validators, private comments, one account.

The rules are those of the site's published code (questions/serializers, questions/services/forecasts, comments), August 2026.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from tests.fakes.upstream import Seen, Sent

TOKEN = "m3t4culust0k3n0f4b0t"
ME = 4711


def instant(days: float) -> str:
    """The instant in so many days, as the site writes it."""
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def question(number: int, kind: str, title: str, **fields: Any) -> dict[str, Any]:
    """A question that is open, without an answer."""
    plain = {
        "id": number, "title": title, "type": kind, "status": "open", "resolution": None, "description": "What is known.",
        "resolution_criteria": f"By the record of {number}.", "fine_print": "", "open_time": instant(-2), "scheduled_close_time": instant(9),
        "actual_close_time": instant(9), "actual_resolve_time": None, "options": None, "open_lower_bound": None, "open_upper_bound": None,
        "inbound_outcome_count": None, "unit": "", "aggregations": {"recency_weighted": {"history": [], "latest": None}},
        "scaling": {"range_min": None, "range_max": None, "zero_point": None, "inbound_outcome_count": None},
    }  # fmt: skip
    return plain | fields


def number(
    identity: int, title: str, low: float, high: float, *, open_low: bool = False, open_high: bool = False,
    zero_point: float | None = None, kind: str = "numeric", count: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A numeric, discrete or date question."""
    scaling = {"range_min": low, "range_max": high, "zero_point": zero_point, "inbound_outcome_count": count}
    bounds = {"open_lower_bound": open_low, "open_upper_bound": open_high, "inbound_outcome_count": count}
    return question(identity, kind, title, scaling=scaling, **bounds)


def post(asked: dict[str, Any], *, identity: int | None = None) -> dict[str, Any]:
    """A post of one question; its id is never the question's."""
    own = identity or asked["id"] + 100_000
    return {
        "id": own,
        "title": asked["title"],
        "slug": f"p{own}",
        "status": "open",
        "projects": {"category": []},
        "question": asked,
    }


def group(identity: int, title: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """A post of several questions that share their texts."""
    texts = {
        "description": "Of all.",
        "resolution_criteria": "The same for each.",
        "fine_print": "No rounding.",
    }
    bare = [{**part, "description": "", "resolution_criteria": "", "fine_print": ""} for part in parts]
    return {
        "id": identity,
        "title": title,
        "projects": {},
        "group_of_questions": {"id": 1, **texts, "questions": bare},
    }


@dataclass
class FakeMetaculus:
    """The site. ``before`` is called with each request; what it returns is answered instead."""

    tournaments: dict[str, list[dict[str, Any]]]
    before: Callable[[Seen], Sent | None] = lambda seen: None
    after: Callable[[Seen], Sent | None] = lambda seen: None
    forecasts: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, seen: Seen) -> Sent:
        if (sent := self.before(seen)) is not None:
            return sent
        with self.lock:
            answer = self._answer(seen)
        return self.after(seen) or answer

    def posts(self) -> dict[int, dict[str, Any]]:
        return {each["id"]: each for posts in self.tournaments.values() for each in posts}

    def questions(self) -> dict[int, tuple[dict[str, Any], dict[str, Any]]]:
        """Each question with its post."""
        return {
            asked["id"]: (asked, each)
            for each in self.posts().values()
            for asked in (
                [each["question"]] if "question" in each else each["group_of_questions"]["questions"]
            )
        }

    def _answer(self, seen: Seen) -> Sent:
        given = seen.headers.get("authorization")
        if given not in (None, f"Token {TOKEN}"):
            return Sent({"detail": "Invalid token."}, 401)
        path = seen.path.removeprefix("/api")
        if not path.endswith("/"):
            return Sent(b"", 301, {"location": f"{path}/"})
        if seen.method == "POST" and given is None:
            return Sent({"detail": "Authentication credentials were not provided."}, 401)
        match [part for part in path.split("/") if part], seen.method:
            case ["posts"], "GET":
                return self._list(seen.query)
            case ["posts", name], "GET" if name.isdigit():
                found = self.posts().get(int(name))
                return (
                    Sent(self._shown(found, given is not None))
                    if found
                    else Sent({"detail": "No Post matches the given query."}, 404)
                )
            case ["users", "me"], "GET" if given:
                return Sent({"id": ME, "username": "a-bot"})
            case ["comments"], "GET":
                return self._comments(seen.query, given is not None)
            case ["questions", "forecast"], "POST":
                return self._forecast(seen.body)
            case ["comments", "create"], "POST":
                return self._comment(seen.body)
        return Sent({"detail": "Not found."}, 404)

    def _list(self, query: dict[str, str]) -> Sent:
        name = query.get("tournaments", "")
        if name not in self.tournaments:
            return Sent({"tournaments": [f"Project {name} does not exist"]}, 400)
        start, size = int(query.get("offset", 0)), min(100, int(query.get("limit", 20)))
        rows = [
            self._shown(each, True)
            for each in self.tournaments[name]
            if query.get("statuses") != "open" or self._open(each)
        ]
        page = [
            {
                **row,
                "group_of_questions": {
                    **row["group_of_questions"],
                    "questions": row["group_of_questions"]["questions"][:3],
                },
            }
            if "group_of_questions" in row
            else row
            for row in rows[start : start + size]
        ]
        return Sent({"next": None, "previous": None, "results": page})

    def _open(self, each: dict[str, Any]) -> bool:
        return any(
            self._closes(asked) > time.time() for asked, own in self.questions().values() if own is each
        )

    @staticmethod
    def _closes(asked: dict[str, Any]) -> float:
        return min(
            datetime.fromisoformat(asked[name]).timestamp()
            for name in ("scheduled_close_time", "actual_close_time")
        )

    def _shown(self, each: dict[str, Any], mine: bool) -> dict[str, Any]:
        if not mine:
            return each
        if "question" in each:
            return {**each, "question": self._with_own(each["question"])}
        inner = each["group_of_questions"]
        return {
            **each,
            "group_of_questions": {
                **inner,
                "questions": [self._with_own(asked) for asked in inner["questions"]],
            },
        }

    def _with_own(self, asked: dict[str, Any]) -> dict[str, Any]:
        own = [row for row in self.forecasts if row["question"] == asked["id"]]
        latest = None
        if own:
            row = own[-1]
            values = row.get("continuous_cdf") or (
                [1 - row["probability_yes"], row["probability_yes"]]
                if "probability_yes" in row
                else [row["probability_yes_per_category"][option] for option in asked["options"]]
            )
            latest = {
                "question_id": asked["id"],
                "author_id": ME,
                "start_time": row["at"],
                "end_time": None,
                "forecast_values": values,
            }
        return {**asked, "my_forecasts": {"history": [], "latest": latest, "score_data": {}}}

    def _comments(self, query: dict[str, str], mine: bool) -> Sent:
        private = query.get("is_private") == "true"
        rows = [
            row
            for row in reversed(self.comments)
            if str(row["on_post"]) == query.get("post")
            and row["is_private"] == private
            and (mine or not private)
        ]
        return Sent(
            {"next": None, "previous": None, "results": [{"author": {"id": ME}, **row} for row in rows]}
        )

    def _forecast(self, body: Any) -> Sent:
        if not isinstance(body, list):
            return Sent({"non_field_errors": ['Expected a list of items but got type "dict".']}, 400)
        if not body:
            return Sent(["At least one forecast is required"], 400)
        faults = [self.fault(entry) for entry in body]
        if any(faults):
            return Sent([{"non_field_errors": [fault]} if fault else {} for fault in faults], 400)
        for entry in body:
            asked, _ = self.questions()[entry["question"]]
            if self._closes(asked) < time.time():
                return Sent({"detail": f"Question {asked['id']} is already closed to forecasting !"}, 405)
        self.forecasts += [{**entry, "at": time.time()} for entry in body]
        return Sent({}, 201)

    def _comment(self, body: Any) -> Sent:
        if not isinstance(body, dict) or body.get("on_post") not in self.posts():
            return Sent({"on_post": ["Post does not exist"]}, 400)
        if not body.get("text"):
            return Sent({"text": ["Comment text is required"]}, 400)
        if not body.get("is_private", False):
            return Sent(
                {
                    "detail": "This account is not allowed to post public comments. Use is_private=true to post a private comment."
                },
                403,
            )
        self.comments.append(dict(body))
        return Sent({"id": len(self.comments), **body}, 201)

    def fault(self, entry: Any) -> str:
        """Why the site refuses a forecast, "" if it takes it."""
        if not isinstance(entry, dict) or not isinstance(entry.get("question"), int):
            return "A valid integer is required."
        if entry["question"] not in self.questions():
            return f"question with id {entry['question']} does not exist. Check if you are forecasting with the Post Id accidentally instead."
        asked, _ = self.questions()[entry["question"]]
        own = {"binary": "probability_yes", "multiple_choice": "probability_yes_per_category"}.get(
            asked["type"], "continuous_cdf"
        )
        fields = ("probability_yes", "probability_yes_per_category", "continuous_cdf")
        if any(entry.get(name) for name in fields if name != own):
            return f"Only {own} should be provided"
        if entry.get(own) is None:
            return f"{own} is required"
        return forecast_fault(asked, entry[own])


def forecast_fault(asked: dict[str, Any], value: Any) -> str:
    """Why the site's validators refuse a forecast of a question, "" if they do not."""
    if asked["type"] == "binary":
        good = isinstance(value, int | float) and 0.001 <= value <= 0.999
        return "" if good else "probability_yes should be between 0.001 and 0.999 (inclusive)"
    if asked["type"] == "multiple_choice":
        if not isinstance(value, dict) or set(value) != set(asked["options"]):
            return f"Forecast must reflect current options: {asked['options']}"
        if not all(0.001 <= p <= 0.999 for p in value.values()):
            return "Probabilities for current options must be between 0.001 and 0.999"
        total = math.fsum(value.values())
        return "" if abs(total - 1) <= 1e-8 + 1e-5 else "Forecast values must sum to 1.0."
    steps = asked["inbound_outcome_count"] or 200
    if not isinstance(value, list) or len(value) != steps + 1:
        return f"continuous_cdf for question {asked['id']} must have {steps + 1} values."
    curve = [round(p, 10) for p in value]
    rises = [round(after - before, 9) for before, after in pairwise(curve)]
    if min(rises) < round(0.01 / steps, 9):
        return "continuous_cdf must be increasing at every step"
    if max(rises) > 0.2 * 200 / steps:
        return "continuous_cdf must be increasing by no more at every step"
    if curve[0] < 0.001 if asked["open_lower_bound"] else curve[0] != 0.0:
        return "continuous_cdf at lower bound"
    if curve[-1] > 0.999 if asked["open_upper_bound"] else curve[-1] != 1.0:
        return "continuous_cdf at upper bound"
    return ""
