"""Looking after watched claims from Python, as ``workbench review`` does."""

import os
from typing import Any

from workbench.api.current_home import open_home
from workbench.api.python_terms import in_python_terms


@in_python_terms
async def review(
    run: str | None = None,
    *,
    due: bool = False,
    changed: bool = False,
    budget_usd: float | None = None,
    alert: float = 0.05,
    cutoff: str = "now",
) -> dict[str, Any]:
    """Look after the claims with the tag ``watch``: evidence again where their data changed, each review a run of its own.

    Parameters
    ----------
    run : str or None
        The claim of this run alone, watched or not.
    due : bool
        Only claims whose next review has come.
    changed : bool
        Only say what changed behind them: no run is opened and no model asked.
    budget_usd : float or None
        What all of it may cost; without it nothing that a model charges for is bought.
    alert : float
        A change of the claim of more than this, in [0, 1], counts as moved.
    cutoff : str
        As of when.

    Returns
    -------
    dict
        What ``workbench review --json`` prints.

    Raises
    ------
    UsageError
        The run that is named has no answer yet, or another review of this home is at work.
    """
    # loads numpy and the reports, which `import workbench` need not wait for
    from workbench.reports.note_page import write_report
    from workbench.reviews.claim_review import Doors, ReviewRequest, mark_told
    from workbench.reviews.claim_review import review as review_claims

    request = ReviewRequest(
        run=run, only_due=due, only_look=changed, budget_usd=budget_usd, alert=alert, cutoff=cutoff
    )
    with open_home() as store:
        document = await review_claims(store, request, Doors(environ=os.environ, note=write_report))
        mark_told(store, document)
        return document
