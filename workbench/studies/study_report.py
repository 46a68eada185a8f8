"""The report of a study: ``report.html`` for readers, ``report.ipynb`` that makes the figures again from the stored forecasts."""

import base64
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pandas as pd

from proxies.atomic import private_folder
from proxies.hashing import sha256_of
from workbench.formatting import decimals, percent
from workbench.output_files import write_output
from workbench.store import Store
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_figures import study_figures
from workbench.studies.study_plan import StudyPlan
from workbench.studies.study_results import study_results
from workbench.studies.study_scores import run_facts
from workbench.studies.study_state import StudyState
from workbench.studies.study_table import tidy_table, with_volatility, write_tables
from workbench.templates import html_environment

if TYPE_CHECKING:
    from jinja2 import Environment


def write_study(store: Store, plan: StudyPlan, state: StudyState, folder: Path) -> dict[str, Any]:
    """Write tables, manifest, page and notebook of an audited study into a folder and return its results.

    Raises `UsageError`: The study was not audited: its results are locked.
    """
    exam = with_volatility(plan.exam)
    facts = run_facts(store, exam, state)
    frame = tidy_table(plan.spec, exam, state, facts.sizes)
    results = study_results(plan.spec, exam, state, frame) | {"steps": facts.steps}
    # Of the bytes on disk, as `sha256sum manifest.json` prints it; page, notebook and figures carry it.
    results["manifest_id"] = sha256_of(_json(state.manifest))
    private_folder(folder)
    write_tables(folder, frame, exam)
    figures = study_figures(results, exam, frame, facts.weights)
    for name, (_, png) in figures.items():
        write_output(folder / f"{name}.png", png)
    write_output(folder / "manifest.json", _json(state.manifest))
    write_output(folder / "results.json", _json(results))
    write_output(folder / "report.html", page(results, figures).encode())
    write_output(folder / "report.ipynb", notebook(results, exam, frame).encode())
    return results


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n").encode()


@cache
def _report_environment() -> "Environment":
    return html_environment("workbench.studies", number=decimals, share=percent)


def page(results: Mapping[str, Any], figures: Mapping[str, tuple[str, bytes]]) -> str:
    """The report as one HTML file without script, link or request."""
    pictures = [
        {"name": name, "caption": caption, "data": base64.b64encode(png).decode()}
        for name, (caption, png) in figures.items()
    ]
    return _report_environment().get_template("report.html.j2").render(results=results, pictures=pictures)


_CELLS = (
    (
        "markdown",
        "# {title}\n\nManifest {manifest_id}.\n\nThis notebook makes the study's figures again from its stored forecasts: `events.csv` and `forecasts.csv` beside it,"
        " the files that `workbench score`, `compare` and `returns` read.",
    ),
    (
        "code",
        "from pathlib import Path\n\nimport pandas as pd\n\n"
        "from workbench.science.documents import compare_document, score_document\n"
        "from workbench.science.recipe import Recipe\n"
        "from workbench.science.tables import read_events, read_forecasts\n\n"
        "events = read_events(Path('events.csv'))\nforecasts = read_forecasts(Path('forecasts.csv'), events)\n"
        "len(events), forecasts.methods",
    ),
    (
        "code",
        "scores = score_document(events, forecasts, Recipe(pool='logit-mean'), metrics=['brier', 'brier_index', 'ece', 'accuracy'])\n"
        "pd.DataFrame({{arm: {{name: part['overall'] for name, part in entry.items() if isinstance(part, dict) and 'overall' in part and name != 'n'}}"
        " for arm, entry in scores['methods'].items()}}).T",
    ),
    ("markdown", "## What the study says\n\n{summary}"),
    (
        "code",
        "table = pd.read_csv('table.csv')\n"
        "table.groupby('arm')[['brier', 'correct', 'calls', 'cost_usd', 'seconds']].agg({{'brier': 'mean', 'correct': 'mean', 'calls': 'sum', 'cost_usd': 'sum', 'seconds': 'sum'}})",
    ),
    (
        "code",
        "from workbench.science.plots import bars_plot\n\n"
        "import json\n\nresults = json.loads(Path('results.json').read_text())\n"
        "figure = bars_plot({{arm: (row['brier_index'], row['brier_index_low'], row['brier_index_high']) for arm, row in results['arms'].items()}})\nfigure",
    ),
)


def notebook(results: Mapping[str, Any], exam: StudyExam, frame: pd.DataFrame) -> str:
    """The report as a notebook that has not run; it needs the files beside it and nothing else."""
    make: Any = nbformat.v4
    summary = "\n".join(f"- {line}" for line in results["summary"])
    cells = []
    for number, (kind, text) in enumerate(_CELLS):
        source = text.format(
            title=f"Study {results['study']}", summary=summary, manifest_id=results["manifest_id"]
        )
        new_cell = make.new_markdown_cell if kind == "markdown" else make.new_code_cell
        cells.append(new_cell(source, id=f"study-{number}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = make.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.validate(book)
    return str(nbformat.writes(book))  # type: ignore[no-untyped-call]
