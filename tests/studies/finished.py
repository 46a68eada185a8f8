"""A study from its document to its audited report, in one call."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from workbench.store import Store
from workbench.studies.leak_audit import audit_study
from workbench.studies.runner import StudyRunner
from workbench.studies.study_file import StudySpec, study_of
from workbench.studies.study_plan import StudyPlan, plan_study
from workbench.studies.study_report import write_study
from workbench.studies.study_state import StudyState


class Finished(NamedTuple):
    """The plan of a study, its audited state, and the results beside which its files lie."""

    plan: StudyPlan
    state: StudyState
    results: dict[str, Any]


def finish(
    store: Store, document: Mapping[str, Any] | StudySpec, folder: Path, environ: Mapping[str, str] = {}
) -> Finished:
    """Run and audit a study of files in a folder, and write its report below ``out``."""
    spec = document if isinstance(document, StudySpec) else study_of({"name": "s", **document}, folder)
    plan = plan_study(store, spec)
    state = audit_study(store, plan, asyncio.run(StudyRunner(store, plan, environ=environ).work()))
    return Finished(plan, state, write_study(store, plan, state, folder / "out"))
