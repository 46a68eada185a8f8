"""What a language model in a can answers: the stage of a request, read from its messages, and a reply in the fixed formats.

The stage is found by the literal tags and keys that the last user message asks for. A `Policy` decides from the dialogue
alone, so a run that is killed and resumed, or whose leaves run in another order, gets the same answers.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

_ID = r"P\d+(?:\.\d+)*"
_RECALL = '"recalled_outcome"'
_CUTOFF = re.compile(r"^Knowledge cutoff: (.+)$", re.MULTILINE)
_STATED = re.compile(rf"^({_ID}): (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^The question\n\n(.+)$", re.MULTILINE)
_IN_TREE = re.compile(rf"^ *- ({_ID}): (.+)$", re.MULTILINE)
_EXAMPLE = re.compile(r'"probabilities": (\{(?:"(?:[^"\\]|\\.)*"|[^"{}])*\})')
_WAY = re.compile(r"^- ([a-z_-]+):", re.MULTILINE)
_CHILD = re.compile(rf"^({_ID}) \((.+?)\): (.+)\np = (\S+)$", re.MULTILINE)

#: parent -> {child: (statement, polarity)}; one round per parent
Plan = Mapping[str, Mapping[str, tuple[str, str]]]

PLAN: Plan = {
    "P0": {
        "P1": ("The S&P 500 closes above 2700 on 2018-09-28", "Positive"),
        "P2": ("The VIX closes above 20 on 2018-12-31", "Negative"),
        "P3": ("The WTI oil price closes above 60 dollars on 2018-12-31", "Positive"),
    },
    "P1": {
        "P1.1": ("The S&P 500 closes above 2650 on 2018-08-31", "Positive"),
        "P1.2": ("The NASDAQ Composite closes above 7300 on 2018-09-28", "Positive"),
    },
}

FETCH = """\
rows = CALL_API("embedded/series/observations", {"series_id": "SP500", "start": "2017-01-01"})
closes = [row["value"] for row in rows]
print("rows", len(rows), "last", rows[-1]["date"], closes[-1])"""

PLOT = """\
import matplotlib.pyplot as plt
fig, ax = plt.subplots()
ax.plot(closes)
ax.axhline(closes[-1], linestyle="--")
ax.axvline(len(closes) - 1)
ax.set_title("S&P 500 close")
ax.set_xlabel("trading day")
ax.set_ylabel("index points")
plt.show()"""


#: What a judge gives each report.
SCORES = {"sources": 2, "evidence": 3, "combination": 4, "uncertainty": 5, "mapping": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as the server understood it.

    ``node`` is the proposition the request is about, P0 for the analyzer; ``again`` says that it complains about the
    reply before.
    """

    body: dict[str, Any]
    stage: str
    node: str
    cutoff: str
    authorization: str | None
    at: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The dialogue as sent."""
        return list(self.body["messages"])

    @property
    def last(self) -> str:
        """Text of the last user message that asks for something."""
        return last_ask(self.body)

    @property
    def again(self) -> bool:
        return self.last.startswith("Your last reply could not be used")

    @property
    def everything(self) -> str:
        """All text of the request; for asking what it does not name."""
        return "\n".join(text_of(message) for message in self.messages)

    def key(self) -> str:
        """Equal for equal dialogues: what must not be asked twice."""
        return json.dumps(self.body["messages"], sort_keys=True)


def text_of(message: Mapping[str, Any]) -> str:
    """Text of a message whose content is a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")


def user_texts(body: Mapping[str, Any]) -> list[str]:
    return [text_of(message) for message in body["messages"] if message["role"] == "user"]


def last_ask(body: Mapping[str, Any]) -> str:
    """Text of the last user message with a cutoff: the answer of a tool, sent as a user's turn, has none.

    What a model remembers is asked as of today.
    """
    return next(text for text in reversed(user_texts(body)) if _CUTOFF.search(text) or _RECALL in text)


def stage_of(last: str) -> str:
    """Stage whose literal tags or keys a user message asks for, looked for after its cutoff line."""
    asked = last[list(_CUTOFF.finditer(last))[-1].end() :]
    for stage, mark in (
        ("analyze", "<END_OF_ANALYSIS>"),
        ("step", "<TERMINATE_NOTEBOOK>"),
        ("debug", "<python_cell>"),
        ("critic", '"faults"'),
        ("route", '"grounders"'),
        ("thoughts", '"thoughts"'),
        ("value", '"value"'),
        ("vote", '"vote"'),
        ("query", '"words"'),
        ("plan", '"plan"'),
        ("leak-filter", "n: KEEP - why"),
        ("linear", '"beta"'),
        ("noisy-or", '"leak"'),
        ("logic", '"formula"'),
        ("outcomes", '"probabilities"'),
        ("percentiles", '"percentiles"'),
        ("queries", '"queries"'),
        ("resolve", '"came_to"'),
        ("sources", '"sources"'),
        ("judge", '"scores"'),
        ("read-claim", '"relation"'),
    ):
        if mark in asked:
            return stage
    if '"p_true"' in asked:
        return "conclude"
    raise ValueError(f"no stage's tags in: {asked[:300]}")


#: Where a schema is sent the prompt does not show the form.
_OF_SCHEMA = {
    "analysis": "analyze",
    "conclusion": "conclude",
    "logic": "logic",
    "linear": "linear",
    "noisy_or": "noisy-or",
}


def understand(body: dict[str, Any], authorization: str | None = None) -> Asked:
    """What a request body asks; raises ValueError where it asks nothing this server knows."""
    users = user_texts(body)
    last = last_ask(body)
    if _RECALL in last:
        return Asked(
            body=body, stage="recall", node="P0", cutoff="", authorization=authorization, at=time.time()
        )
    ends = {tool["function"]["name"] for tool in body.get("tools") or ()} & {"submit", "hand_in"}
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("name")
    stage = "act" if ends else _OF_SCHEMA.get(schema) or stage_of(last)
    if stage == "conclude" and '<report of="' in users[0]:
        stage = "vanilla"
    cutoff = list(_CUTOFF.finditer(last))[-1]
    stated = _STATED.search(users[0])  # the first turn of every dialogue states its proposition on a line
    node = "P0" if stage == "analyze" or stated is None else stated[1]
    return Asked(
        body=body, stage=stage, node=node, cutoff=cutoff[1], authorization=authorization, at=time.time()
    )


@dataclass(slots=True, kw_only=True)
class Policy:
    """What the server answers. Sets hold node ids; an empty policy gives a smooth run.

    Parameters
    ----------
    plan : mapping
        The tree, one analyzer round per parent.
    steps : int
        Notebook steps of each leaf.
    p : mapping
        Probability of a leaf; 0.6 otherwise.
    fails_once : set of str
        Leaves whose first cell fails, whose first correction fails too, and whose second works.
    never_works : set of str
        Leaves whose cell fails for good; may be emptied later.
    reads_docs : set of str
        Leaves that call ``retrieve_api_doc`` before their first cell.
    malformed : set of str
        Stages, or ``"stage node"``, whose first reply to each request is broken JSON or has no cell.
    faults : mapping
        Status codes to answer with first, per stage or ``"stage node"``; each is used up once.
    delay : float
        Seconds before each reply.
    hold : mapping
        Per stage or ``"stage node"``: an event to wait for before the reply.
    restless : bool
        Loops look something up as long as they may call what they like.
    remembers : bool
        Every event is recognized, and recalled as come true.
    caches : bool
        Usage says how much of a request was in the provider's cache: beginnings that were answered before.
    claim : mapping or str
        The slots that a claim is put into, or the reply as it is; it fits no series without.
    resolve : callable
        What is made of pages about a question's outcome; nothing settles it without.
    """

    plan: Plan = field(default_factory=lambda: PLAN)
    steps: int = 2
    p: Mapping[str, float] = field(default_factory=dict)
    fails_once: set[str] = field(default_factory=set)
    never_works: set[str] = field(default_factory=set)
    reads_docs: set[str] = field(default_factory=set)
    malformed: set[str] = field(default_factory=set)
    faults: dict[str, list[int]] = field(default_factory=dict)
    delay: float = 0.0
    hold: dict[str, threading.Event] = field(default_factory=dict)
    restless: bool = False
    remembers: bool = False
    caches: bool = False
    claim: Mapping[str, Any] | str = field(default_factory=lambda: {"series": None})
    resolve: Callable[[Asked], dict[str, Any]] = lambda _: {"came_to": "open"}
    scores: Mapping[str, int] = field(default_factory=lambda: dict(SCORES))
    fetch: str = FETCH
    plot: str = PLOT

    def answer(self, asked: Asked) -> dict[str, Any]:
        """The assistant's message."""
        if {asked.stage, f"{asked.stage} {asked.node}"} & self.malformed and not asked.again:
            return _says("I think so.\n\n```json\n{'not': json\n```\n")
        makers: dict[str, Callable[[Asked], dict[str, Any]]] = {
            "analyze": self._analyze,
            "step": self._step,
            "debug": self._debug,
            "conclude": self._conclude,
            "critic": lambda _: _says(fenced({"faults": []})),
            "route": self._route,
            "thoughts": self._thoughts,
            "value": lambda asked: _says(fenced({"value": len(asked.last) % 11})),
            "vote": lambda asked: _says(report_with({"vote": "yes", "confidence": 0.8}, asked.node)),
            "outcomes": self._outcomes,
            "percentiles": self._percentiles,
            "judge": lambda _: _says(
                fenced({"scores": self.scores, "reasons": dict.fromkeys(self.scores, "so")})
            ),
            "recall": self._recall,
            "query": lambda asked: _says(fenced({"words": f"what is known, {len(asked.last)}"})),
            "plan": self._research,
            "leak-filter": self._keep,
            "act": self._act,
            "queries": lambda asked: _says(fenced({"queries": [_QUESTION.search(asked.last)[1]]})),  # type: ignore[index]
            "sources": lambda _: _says(fenced({"sources": [{"number": 1, "summary": "Clouds come."}]})),
            "resolve": lambda asked: _says(fenced(self.resolve(asked))),
            "vanilla": self._vanilla,
            "linear": self._linear,
            "noisy-or": self._noisy_or,
            "logic": self._logic,
            "read-claim": lambda _: _says(
                self.claim if isinstance(self.claim, str) else fenced(dict(self.claim))
            ),
        }
        return makers[asked.stage](asked)

    def _analyze(self, asked: Asked) -> dict[str, Any]:
        shown = dict(_IN_TREE.findall(asked.last))
        for parent, children in self.plan.items():
            if parent in shown and not set(children) & set(shown):
                return _says("One more branch.\n\n" + analysis_block({parent: children}))
        return _says("Every leaf can be settled.\n\n<END_OF_ANALYSIS>")

    def _step(self, asked: Asked) -> dict[str, Any]:
        if asked.node in self.reads_docs and not any(turn["role"] == "tool" for turn in asked.messages):
            return _calls("retrieve_api_doc", {"full_paths": ["embedded/series/observations"]})
        done = sum(
            "<python_cell>" in text_of(turn) and "<!-- step" in text_of(turn)
            for turn in asked.messages
            if turn["role"] == "assistant"
        )
        if done >= self.steps:
            return _says("That is all I need.\n<TERMINATE_NOTEBOOK>")
        note = f"<!-- step {done + 1} -->\n"
        if done == 0:
            code = self.fetch
            if asked.node in self.fails_once | self.never_works:
                code = f"{self.fetch}\nprint(undefined_name)"
            return _says(note + cells(("markdown", f"# Plan for {asked.node}"), ("python", code)))
        if done == 1:
            return _says(note + cells(("markdown", "The picture."), ("python", self.plot)))
        return _says(note + cells(("python", f"print('step {done + 1}', closes[-1])")))

    def _debug(self, asked: Asked) -> dict[str, Any]:
        tries = sum("Corrections left for this cell" in text for text in user_texts(asked.body))
        if asked.node in self.never_works:
            return _says("Perhaps so.\n" + cells(("python", f"raise RuntimeError('broken, try {tries}')")))
        if tries == 1:
            return _says("A slip.\n" + cells(("python", f"{self.fetch}\nprint(still_undefined)")))
        return _says("Now.\n" + cells(("python", self.fetch)))

    def believes(self, asked: Asked) -> float:
        """The probability of the proposition that a request is about."""
        return self.p.get(asked.node, 0.6)

    def _conclude(self, asked: Asked) -> dict[str, Any]:
        return _says(conclusion(self.believes(asked), asked.node))

    def _recall(self, asked: Asked) -> dict[str, Any]:
        facts = ["It was in the papers."] if self.remembers else []
        outcome = "yes" if self.remembers else None
        return _says(
            fenced(
                {
                    "recognized_event": self.remembers,
                    "evidence_facts": facts,
                    "recalled_outcome": outcome,
                    "probability": 0.6,
                }
            )
        )

    def _route(self, asked: Asked) -> dict[str, Any]:
        """The belief agent where it is offered, else the first way."""
        offered = _WAY.findall(asked.last)
        chosen = "belief" if "belief" in offered else offered[0]
        return _says(fenced({"grounders": [chosen], "reason": "It reads."}))

    def _thoughts(self, asked: Asked) -> dict[str, Any]:
        count = re.search(r"^Propose (\d+) ", asked.last, re.MULTILINE)
        thoughts = [f"Thought {n} on {asked.node}." for n in range(int(count[1]) if count else 1)]
        return _says("So.\n\n" + fenced({"thoughts": thoughts}))

    def _outcomes(self, asked: Asked) -> dict[str, Any]:
        """The leaf's p for the first outcome, half of it for the next, and so on."""
        names = json.loads(re.sub(r": ([a-z])([,}])", r': "\1"\2', _EXAMPLE.findall(asked.last)[-1]))
        p = self.believes(asked)
        stated = {name: round(p / 2**place, 4) for place, name in enumerate(names)}
        if "exactly one does" in asked.last:
            stated = {name: p / sum(stated.values()) for name, p in stated.items()}
            return _says(fenced({"probabilities": stated, "key_factor": "The first stands."}))
        return _says(fenced({"rationale": "One. Two. Three.", "probabilities": stated}))

    def _percentiles(self, asked: Asked) -> dict[str, Any]:
        """Percentiles spread over the range that the prompt names, from 0 to 100 where it names none."""
        ends = [
            float(end)
            for end in re.findall(r"at (?:least|most) (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)", asked.last)[:2]
        ]
        days = [
            date.fromisoformat(day) for day in re.findall(r"not (?:before|after) ([\d-]{10})", asked.last)
        ]
        dated = '"YYYY-MM-DD"' in asked.last
        days = days if len(days) == 2 else [date(2027, 1, 1), date(2027, 12, 31)]
        low, high = ends if len(ends) == 2 else [0.0, 100.0]
        stated = {
            str(level): (days[0] + (days[1] - days[0]) * level / 100).isoformat()
            if dated
            else low + (high - low) * level / 100
            for level in (5, 10, 25, 50, 75, 90, 95)
        }
        return _says(fenced({"percentiles": stated, "key_factor": "It moves little."}))

    def _keep(self, asked: Asked) -> dict[str, Any]:
        count = re.search(r"^Answer with (\d+) lines", asked.last, re.MULTILINE)
        assert count is not None
        return _says("\n".join(f"{n}: KEEP - of before the cutoff" for n in range(1, int(count[1]) + 1)))

    def _research(self, asked: Asked) -> dict[str, Any]:
        gaps = "What is missing" in asked.last
        return _says(
            fenced({"plan": "One thing decides it.", "questions": [] if gaps else ["What is known?"]})
        )

    def _act(self, asked: Asked) -> dict[str, Any]:
        """A step of an agent's loop: one search where there is one, then the end; a belief beside each where one is asked for."""
        tools = {tool["function"]["name"]: tool["function"] for tool in asked.body["tools"]}
        p = self.believes(asked)
        stated = {
            "updated_belief": {
                "probability": p, "confidence": "medium", "evidence_for": [], "evidence_against": [], "open_questions": [],
                "update_reasoning": "as before",
            }
        }  # fmt: skip
        before = sum(turn["role"] == "assistant" for turn in asked.messages)
        if "search" in tools and (before == 0 or (self.restless and "tool_choice" not in asked.body)):
            name, arguments = "search", {"words": "what is known" + ", again" * before}
        elif "hand_in" in tools:
            name, arguments = "hand_in", {"notes": [{"text": "It is known.", "sources": []}]}
        else:
            name, arguments = "submit", {"probability": p, "reasoning": "r", "key_factor": "k"}
        believes = "updated_belief" in tools[name]["parameters"]["properties"]
        return _calls(name, {**arguments, **(stated if believes else {})})

    def _vanilla(self, asked: Asked) -> dict[str, Any]:
        values = [p for _, _, p in self._children(asked)]
        return _says(conclusion(round(sum(values) / len(values), 4), asked.node))

    def _linear(self, asked: Asked) -> dict[str, Any]:
        children = self._children(asked)
        beta = {child: (-0.1 if sign == "Negative" else 0.9) / len(children) for child, sign, _ in children}
        p = 0.1 + sum(beta[child] * value for child, _, value in children)
        data = {"beta": {"beta_0": 0.1, **beta}, "p_true": round(p, 3), "key_factor": f"key of {asked.node}"}
        return _says(report_with(data, asked.node))

    def _noisy_or(self, asked: Asked) -> dict[str, Any]:
        children = self._children(asked)
        weights = {child: 0.5 for child, sign, _ in children if sign != "Negative"}
        inhibitors = {child: 0.2 for child, sign, _ in children if sign == "Negative"}
        none = 0.95
        spared = 1.0
        for child, sign, value in children:
            if sign == "Negative":
                spared *= 1 - inhibitors[child] * value
            else:
                none *= 1 - weights[child] * value
        data = {"leak": 0.05, "weights": weights, "inhibitors": inhibitors}
        p = round((1 - none) * spared, 3)
        return _says(report_with({**data, "p_true": p, "key_factor": f"key of {asked.node}"}, asked.node))

    def _logic(self, asked: Asked) -> dict[str, Any]:
        parts = [f"NOT {child}" if sign == "Negative" else child for child, sign, _ in self._children(asked)]
        data = {
            "formula": f"({' AND '.join(parts)}) OR PA",
            "assumption": {"detail": "what the children leave out", "probability": 0.2},
            "key_factor": f"key of {asked.node}",
        }
        return _says(report_with(data, asked.node))

    def _children(self, asked: Asked) -> list[tuple[str, str, float]]:
        first = user_texts(asked.body)[0]
        return [(child, sign, float(p)) for child, sign, _, p in _CHILD.findall(first)]


def analysis_block(groups: Plan) -> str:
    """An analyzer's block that expands these parents."""
    data = [
        {
            "parent": parent,
            "children": {child: statement for child, (statement, _) in children.items()},
            "causality": " ".join(
                f"It bears on the parent ({child}, {sign})." for child, (_, sign) in children.items()
            ),
        }
        for parent, children in groups.items()
    ]
    return fenced(data)


def cells(*parts: tuple[str, str]) -> str:
    """Cells of a step, in order, from (kind, source) pairs."""
    return "\n".join(f"<{kind}_cell>\n{source}\n</{kind}_cell>" for kind, source in parts)


def fenced(data: Any) -> str:
    return f"```json\n{json.dumps(data, ensure_ascii=False)}\n```"


def report_with(data: Any, node: str) -> str:
    return f"Report on {node}: weighed as the numbers say.\n\n{fenced(data)}"


def conclusion(p: float, node: str) -> str:
    """A conclusion with this probability."""
    return report_with({"p_true": p, "key_factor": f"key of {node}"}, node)


def _says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _calls(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}],
    }
