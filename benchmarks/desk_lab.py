"""The tree in a cell of JupyterLab: how soon it stands, an edit to its paint, a drag, bytes an edit, memory of the page.

    python -m benchmarks.desk_lab [--sizes 12,1111,11111] [--edits 20]

Three cells of each tree: the explorer alone; with scenarios and drivers in cells below it; the whole dashboard. Readiness
counts from the cell's start in a kernel that has imported nothing of ours. Edits are those of ``benchmarks.desk``.
"""

import argparse
import time
from typing import Any

from benchmarks.desk import Wire, browser_with_runs, fresh_page, measure_edits
from tests.fakes.browser import Lab, running_lab

ROW = ".wb-row"
CELLS = {
    "explorer": ["analysis.explorer()"],
    "with views": ["analysis.explorer()", "analysis.scenario_view()", "analysis.driver_view()"],
    "dashboard": ["analysis.dashboard()"],
}


def seconds_until_ready(lab: Lab, page: Any, name: str, run_id: str, cells: list[str]) -> float:
    """Open a notebook of these cells, run all of it, and return the seconds until its tree stands."""
    first = f"import workbench as wb\nanalysis = wb.open_run({run_id!r})\n{cells[0]}"
    lab.put(name, [first, *cells[1:]], "python3")
    page.goto(lab.page(name))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    begun = time.perf_counter()
    for _ in cells:
        page.keyboard.press("Shift+Enter")
    page.wait_for_selector(ROW, timeout=180_000)
    return time.perf_counter() - begun


def measure(browser: Any, lab: Lab, runs: dict[int, str], edits: int) -> None:
    """Print one line for each size and kind of cell."""
    for size, run_id in runs.items():
        for kind, cells in CELLS.items():
            with fresh_page(browser) as page:
                wire = Wire(page)
                name = f"{kind.replace(' ', '-')}-{size}.ipynb"
                ready = seconds_until_ready(lab, page, name, run_id, cells)
                figures = measure_edits(page, wire, edits)
            rest = "  ".join(f"{what} {value:,.1f}" for what, value in figures.items())
            print(f"{size:>6} {kind:<10} ready {ready:5.2f} s  {rest}", flush=True)
            for session in lab.ask("/api/sessions"):
                lab.ask(f"/api/sessions/{session['id']}", method="DELETE")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="12,1111,11111")
    parser.add_argument("--edits", type=int, default=20)
    options = parser.parse_args()
    with browser_with_runs(options.sizes) as (browser, home, runs), running_lab(home) as lab:
        measure(browser, lab, runs, options.edits)


if __name__ == "__main__":
    main()
