"""The commands by name: where each is, and the sentence that lists it without importing it.

``python -m workbench.cli.commands`` writes ``sentences.json``, the first paragraph of each docstring; a test holds it equal.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

_SENTENCES = Path(__file__).with_name("sentences.json")


@dataclass(frozen=True, eq=False)
class Group:
    """Commands below a name; ``alone`` is the operation that the name itself asks for."""

    about: str
    commands: "Mapping[str, Place]"
    alone: str = ""


#: Of an operation ``module:Class`` in `workbench.operations`; of another command where it is, in full.
Place: TypeAlias = str | Group

ANNOTATE = Group(
    "What people say of a run: comments, estimates, notes, tags, sign-offs, and how the claim turned out.",
    {
        "comment": "people:Comment",
        "estimate": "people:Estimate",
        "note": "people:Note",
        "sign-off": "people:SignOff",
        "resolve": "people:Resolve",
    },
)
CRITIQUE = Group(
    "What other models and the records say of a finished run.",
    {
        "judge": "critique:Judge",
        "leaks": "critique:Leaks",
        "grounders": "critique:Grounders",
        "redteam": "critique:RedTeam",
    },
)
SCIENCE = Group(
    "Scores, comparisons, calibration and exams over files of forecasts.",
    {
        "score": "scoring:Score",
        "compare": "comparisons:Compare",
        "returns": "comparisons:Returns",
        "calibrate": Group(
            "Calibration learned from resolved forecasts.",
            {
                "fit": "calibrations:FitCalibration",
                "apply": "calibrations:ApplyCalibration",
                "priors": "calibrations:Priors",
            },
        ),
        "elicit": "elicitation:Elicit",
        "exceed": "elicitation:Exceed",
        "simulate": "studies_of_worlds:Simulate",
        "exam": Group(
            "Named views of a file of questions.", {"build": "exams:BuildExam", "list": "exams:ListExams"}
        ),
        "paper-tables": "studies_of_worlds:PaperTables",
    },
)
QUESTIONS = Group(
    "Sets of questions: imported, fetched from venues, listed, resolved, scored.",
    {
        "import": "question_sets:ImportQuestions",
        "fetch": "question_sets:FetchQuestions",
        "list": "question_sets:ListQuestions",
        "show": "question_sets:ShowQuestions",
        "resolve": "question_sets:ResolveQuestions",
        "score": "scoring:ScoreSet",
        "export": "question_sets:ExportQuestions",
        "long-short": "question_sets:LongShort",
        "classify": "question_sets:ClassifyQuestions",
        "contexts": "question_sets:GatherContexts",
        "bet": "bets:Bet",
        "settle": "bets:Settle",
    },
)
#: By panel of `workbench --help`, in its order.
PANELS: dict[str, dict[str, Place]] = {
    "Ask": {
        "analyze": "analysis:Analyze",
        "read": "claim_reading:Read",
        "claims": "claim_reading:Claims",
        "demo": "analysis:Demo",
        "quantity": "quantity:Quantity",
        "resume": "analysis:Resume",
        "watch": "run_control:Watch",
        "stop": "run_control:Stop",
        "approve": "run_control:Approve",
        "models": Group(
            "List the models that the keys at hand reach, or try one.",
            {"try": "models:TryModel", "exam": "models:ExamineModel"},
            alone="models:Models",
        ),
    },
    "Explore": {
        "show": "runs:Show",
        "whatif": "what_if:WhatIf",
        "diff": "several_runs:Diff",
        "ask": "asking:Ask",
        "sensitivity": "drivers:Sensitivity",
        "scenarios": "scenarios:Scenarios",
        "noise": "drivers:Noise",
        "refit": "drivers:Refit",
        "reground": "analysis:Reground",
        "coherence": "several_runs:Coherence",
        "decide": "decisions:Decide",
        "serve": "workbench.cli.servers.serve:serve",
        "lab": "workbench.cli.servers.lab:lab",
    },
    "Trust": {
        "evidence": "evidence:Evidence",
        "transcript": "checks:Transcript",
        "audit": "checks:Audit",
        "verify": "checks:Verify",
        "annotate": ANNOTATE,
        "critique": CRITIQUE,
    },
    "Share": {
        "export": "packages:Export",
        "import": "packages:Import",
        "keys": Group(
            "The key that signs your packages, and whose keys you trust by name.",
            {"new": "packages:NewKey", "show": "packages:ShowKeys", "trust": "packages:TrustKey"},
        ),
    },
    "Track": {
        "runs": "runs:Runs",
        "review": "claim_review:Review",
        "questions": QUESTIONS,
        "forecast": "forecasting:Forecast",
        "tournament": Group(
            "A round over many open questions: triage, quick pass, trees for a few, coherence, a page.",
            {
                "run": "rounds:RunRound",
                "triage": "rounds:Triage",
                "promote": "rounds:Promote",
                "show": "rounds:ShowRound",
            },
        ),
        "submit": "submitting:Submit",
        "science": SCIENCE,
    },
    "Research": {
        "experiment": Group(
            "Studies: arms x exam x trials x seeds.",
            {
                "run": "experiments:RunStudy",
                "status": "experiments:StudyStatus",
                "report": "experiments:StudyReport",
                "ready": "experiments:ReadyStudies",
            },
        ),
        "backtest": "backtest:Backtest",
        "source": Group(
            "Data of your own: files, tables and queries, dated by a policy that you name (docs/use/own-data.md).",
            {
                "add": "sources:AddSource",
                "add-documents": "sources:AddDocuments",
                "list": "sources:ListSources",
                "show": "sources:ShowSource",
                "remove": "sources:RemoveSource",
                "check": "sources:CheckSource",
                "attack": "sources:AttackSource",
            },
        ),
        "apis": "endpoints:Apis",
        "api-doc": "endpoints:ApiDoc",
        "call": "endpoints:Call",
        "search": "web:Search",
        "page": "web:Page",
    },
    "Admin": {
        "doctor": "doctor:Doctor",
        "rm": "runs:Remove",
        "gc": "runs:Collect",
        "mcp": "workbench.cli.servers.mcp:mcp",
        "docs": "workbench.cli.servers.manual_server:docs",
        "help": "workbench.cli.full_help:full_help",
    },
}
LISTED: dict[str, Place] = {name: place for table in PANELS.values() for name, place in table.items()}
#: With the names from before the groups, which work and are not listed.
COMMANDS: dict[str, Place] = {**LISTED, **ANNOTATE.commands, **CRITIQUE.commands, **SCIENCE.commands}


def target_of(place: str) -> Any:
    """Import the operation or function at a place."""
    module, _, name = place.partition(":")
    return getattr(import_module(module if "." in module else f"workbench.operations.{module}"), name)


def places(commands: Mapping[str, Place] = COMMANDS) -> Iterator[str]:
    """Yield every place once."""
    for place in dict.fromkeys(commands.values()):
        if isinstance(place, str):
            yield place
        else:
            yield from places(place.commands)
            yield from filter(None, [place.alone])


@cache
def _sentences() -> dict[str, str]:
    sentences: dict[str, str] = json.loads(_SENTENCES.read_text(encoding="utf-8"))
    return sentences


def sentence_of(place: Place) -> str:
    """Return the sentence that lists a command; nothing of it is imported."""
    return place.about if isinstance(place, Group) else _sentences()[place]


def sentences() -> str:
    """Return the text of ``sentences.json`` as the docstrings are."""
    docstrings = {place: inspect.getdoc(target_of(place)) or "" for place in sorted({*places()})}
    lines = {place: " ".join(text.split("\n\n")[0].split()) for place, text in docstrings.items()}
    return json.dumps(lines, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    _SENTENCES.write_text(sentences(), encoding="utf-8")
