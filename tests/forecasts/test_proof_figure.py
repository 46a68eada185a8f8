"""The picture of a proof says what each line of it is."""

from datetime import date

import matplotlib.pyplot as plt

from tests.offline.embedded import visible_rows
from workbench.forecasts.proof_figure import proof_figure
from workbench.questions.decision import appraise, settle
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths

LAST = date(2018, 6, 29)


def test_the_picture_names_its_claim_cutoff_threshold_and_unit() -> None:
    rows = {"VIX": visible_rows("VIX", LAST)}
    claim = settle(read_claim("VIX above 20 on 2018-07-31"), rows)
    forecast = ClaimPaths().forecast(claim, rows)
    windows = appraise(claim, rows, LAST)
    figure = proof_figure(forecast, windows, title="It is $20 or $30", unit="index points", last_day=LAST)
    fan, past, ranks = figure.axes
    named = [text.get_text() for text in fan.get_legend().get_texts()]
    assert {"median", "cutoff (last seen 2018-06-29)", "resolves 2018-07-31", "threshold 20"} <= {*named}
    assert fan.get_ylabel() == "index points"
    assert figure.get_suptitle().startswith(f"It is $20 or $30: p = {forecast.p:.2f}")
    assert any(text.get_text().startswith("base rate") for text in past.get_legend().get_texts())
    assert "PIT" in ranks.get_xlabel()
    plt.close(figure)
