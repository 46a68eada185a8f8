"""Revisions of a series: what was first published beside what was known at the cutoff."""

from datetime import date
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import REVISED_ROWS
from workbench.audit.vintages import publication_days, values_known, vintage_plot, vintage_words, vintages_of

ROWS = REVISED_ROWS


def test_first_and_last_value_of_each_period() -> None:
    first, second = vintages_of(ROWS)
    assert (first.value, first.last, first.known) == (100.0, 101.5, date(2016, 4, 28))
    assert second.value == second.last == 102.0
    assert vintage_words((first, second)) == (
        "2 periods from 2016-01-01 to 2016-04-01, first print in colour, the value known at the cutoff in grey;"
        " 1 were revised, 2016-01-01 most, from 100 (2016-04-28) to 101.5 (2016-05-27)"
    )


def test_what_a_day_knew() -> None:
    def known(day: date) -> list[tuple[str, float, float]]:
        return [(str(each.period), each.value, each.last) for each in values_known(ROWS, day)]

    assert publication_days(ROWS) == [date(2016, 7, 29), date(2016, 5, 27), date(2016, 4, 28)]
    assert known(date(2016, 4, 27)) == []
    assert known(date(2016, 4, 28)) == [("2016-01-01", 100.0, 101.5)]
    assert known(date(2016, 5, 27)) == [("2016-01-01", 101.5, 101.5)]
    assert known(date(2016, 7, 29)) == [("2016-04-01", 102.0, 102.0), ("2016-01-01", 101.5, 101.5)]


day = st.dates(date(2000, 1, 1), date(2020, 1, 1)).map(date.isoformat)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "date": day | st.just('"><script>'),
                "realtime_start": day,
                "value": st.floats(-1e9, 1e9) | st.sampled_from([".", "nan", "<b>", None]),
            }
        ),
        max_size=30,
    )
)
def test_a_plot_is_well_formed_whatever_a_vendor_sends_and_its_points_lie_on_it(
    rows: list[dict[str, object]],
) -> None:
    vintages = vintages_of(rows)
    if not vintages:
        return
    plot = ElementTree.fromstring(vintage_plot(vintages, 'sha256:"<x>'))
    for line in plot.iter("polyline"):
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 560 and 0 <= y <= 170
    assert all(child.tag in ("polyline", "circle", "text", "title") for child in plot)
