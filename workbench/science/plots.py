"""The pictures people look at; each function returns a matplotlib figure and draws nothing on a screen.

matplotlib is imported when the first picture is made.
"""

import io
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray
from workbench.science.comparing.mean_intervals import class_share_interval
from workbench.science.errors import DomainError
from workbench.science.scoring.calibration_error import Bins, calibration_error, reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def load_matplotlib() -> None:
    """Import matplotlib away from the current folder, whose ``matplotlibrc`` it would read: the folder may be a stranger's clone."""
    if "matplotlib" in sys.modules:
        return
    with chdir(os.sep):
        import matplotlib  # noqa: F401


@cache
def _plain_figure() -> "type[Figure]":
    load_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    class PlainFigure(Figure):
        @contextmanager
        def _words_as_they_stand(self) -> Iterator[None]:
            # Labels of ticks are made when a figure is drawn, long after the function that made it has returned.
            with rc_context({"text.parse_math": False}):
                for text in self.findobj(Text):
                    text.set_parse_math(False)
                yield

        def draw(self, renderer: Any) -> None:
            with self._words_as_they_stand():
                super().draw(renderer)

        def get_tightbbox(self, *args: Any, **kwargs: Any) -> Any:
            with self._words_as_they_stand():
                return super().get_tightbbox(*args, **kwargs)

    return PlainFigure


def blank_figure(width: float, height: float) -> "Figure":
    r"""Return a figure of so many inches in which ``$`` and ``\frac`` of a name are text.

    matplotlib would set them as a formula, and a mistake in one would cost the figure. Names of arms and statements of
    propositions come from people and models.
    """
    # `Figure` and not pyplot, which keeps every figure in global state and may choose a backend that opens windows.
    return _plain_figure()(figsize=(width, height), layout="constrained")


def _figure(width: float, height: float) -> "tuple[Figure, Axes]":
    figure = blank_figure(width, height)
    return figure, figure.subplots()


def figure_bytes(figure: "Figure", form: str = "png", *, source: str = "") -> bytes:
    """Return a figure as a PNG or SVG file, the same bytes for the same figure; ``source`` says in it where its numbers come from."""
    from matplotlib import rc_context

    stream = io.BytesIO()
    # Neither time nor version, and names in an SVG by a salt of ours, so that equal figures are equal files.
    empty: dict[str, str | None] = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    empty |= {"Source": source or None}
    with rc_context({"svg.hashsalt": "workbench"}), warnings.catch_warnings():
        # Many long names leave no room for the axes; the figure is drawn all the same, and nobody can act on the warning.
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure.savefig(stream, format=form, dpi=110, metadata=empty)
    return stream.getvalue()


def reliability_plot(
    forecasts: Mapping[str, tuple[ArrayLike, ...]], *, bins: int = 10, how: Bins = "width"
) -> "Figure":
    """Reliability diagram: share of Yes against the forecast, with Wilson intervals over clusters where they are given.

    Source: BLF, Figure 10. On the diagonal is calibrated; flatter than it is overconfident.

    >>> figure = reliability_plot({"a": ([0.2, 0.8], [0, 1])})
    >>> len(figure.axes[0].lines) >= 2
    True
    """
    _some(forecasts)
    figure, axes = _figure(5.5, 5.0)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    for name, (p, o, *clusters) in forecasts.items():
        curve = reliability(
            p, o, bins=bins, how=how, interval=class_share_interval(clusters[0]) if clusters else None
        )
        error = calibration_error(p, o, bins=bins, how=how)
        # Rounding may put an end of the interval past a share of 0 or 1, and matplotlib refuses negative error bars.
        spread = np.maximum([curve.observed - curve.low, curve.high - curve.observed], 0.0)
        axes.errorbar(
            curve.forecast,
            curve.observed,
            yerr=spread,
            marker="o",
            capsize=2,
            label=f"{name} (ECE {error:.3f})",
        )
    axes.set(xlabel="forecast", ylabel="share of Yes", xlim=(0, 1), ylim=(0, 1), title="Reliability")
    axes.legend(loc="upper left", fontsize="small")
    return figure


def market_plot(
    forecast: ArrayLike, price: ArrayLike, outcome: ArrayLike, *, name: str = "model"
) -> "Figure":
    """Forecast against market price, coloured by what happened, with the line through them.

    Source: Prophet Arena, section 4 (model against market).

    A line flatter than the diagonal means more cautious than the market.
    """
    p, q, o = (np.asarray(values, dtype=np.float64) for values in (forecast, price, outcome))
    if not len(p) or not p.shape == q.shape == o.shape:
        raise DomainError("forecast, price and outcome must have one non-zero length")
    figure, axes = _figure(5.5, 5.0)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    for value, colour, label in ((1.0, "tab:green", "Yes"), (0.0, "tab:red", "No")):
        resolved = o == value
        axes.scatter(q[resolved], p[resolved], s=14, alpha=0.6, color=colour, label=label)
    if np.ptp(q) > 0:
        slope, level = np.polyfit(q, p, 1)
        axes.plot([0, 1], [level, level + slope], color="tab:blue", label=f"slope {slope:.2f}")
    axes.set(xlabel="market price", ylabel=name, xlim=(0, 1), ylim=(0, 1), title=f"{name} against the market")
    axes.legend(loc="upper left", fontsize="small")
    return figure


def bars_plot(
    values: Mapping[str, tuple[float, float | None, float | None]],
    *,
    label: str = "Brier Index",
    baseline: float = 50.0,
) -> "Figure":
    """Bars with intervals, in the given order: a build-up, an ablation, a comparison.

    Source: BLF, Figures 2 and 3.

    >>> len(bars_plot({"a": (60.0, 58.0, 62.0), "b": (70.0, 69.0, 71.0)}).axes[0].patches)
    2
    """
    _some(values)
    figure, axes = _figure(6.5, 0.45 * len(values) + 1.4)
    names = list(values)
    estimates = np.array([values[name][0] for name in names])
    ends = np.array(
        [
            [0.0, 0.0] if low is None or high is None else [estimate - low, high - estimate]
            for estimate, low, high in values.values()
        ]
    ).T
    bars = axes.barh(names, estimates - baseline, left=baseline, color="tab:blue", alpha=0.75)
    axes.errorbar(
        estimates, np.arange(len(names)), xerr=np.maximum(ends, 0.0), fmt="none", ecolor="0.2", capsize=3
    )
    axes.bar_label(bars, [f"{value:.1f}" for value in estimates], label_type="center", fontsize=7)
    axes.axvline(baseline, color="0.3", linewidth=1)
    axes.set(xlabel=f"{label} (bars from {baseline:g})")
    axes.margins(x=0.08)
    # Horizontal bars grow upward; the given order reads from the top.
    axes.invert_yaxis()
    return figure


def heatmap_plot(names: Sequence[str], matrix: ArrayLike, *, title: str, digits: int = 2) -> "Figure":
    """A square table of pairs: consensus, McNemar p values, divergence.

    Source: Analytica, Figures 10 and 11; BLF, Figure 14.

    >>> figure = heatmap_plot(["a", "b"], [[1, 0.5], [0.5, 1]], title="consensus")
    >>> len(figure.axes[0].texts)
    4
    """
    table = np.asarray(matrix, dtype=np.float64)
    if table.shape != (len(names), len(names)) or not len(names):
        raise DomainError(f"a table of shape {table.shape} does not fit {len(names)} names")
    size = 0.55 * len(names) + 2.2
    figure, axes = _figure(size + 0.8, size)
    image = axes.imshow(np.ma.masked_invalid(table), cmap="viridis")
    middle = float(np.nanmean(table)) if np.isfinite(table).any() else 0.0
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            if np.isfinite(value):
                colour = "white" if value < middle else "black"
                axes.text(j, i, f"{value:.{digits}f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_title(title)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def efficient(cost: ArrayLike, score: ArrayLike) -> FloatArray:
    """Return 1.0 for every point that no other beats in both cost and score, else 0.0.

    Of cost lower is better, of score higher.
    """
    c, s = np.asarray(cost, dtype=np.float64), np.asarray(score, dtype=np.float64)
    worse = (
        (c[None, :] <= c[:, None])
        & (s[None, :] >= s[:, None])
        & ((c[None, :] < c[:, None]) | (s[None, :] > s[:, None]))
    )
    return np.asarray(~worse.any(axis=1), dtype=np.float64)


#: Methods of which each has its name at its point; of more a number stands there, and the names in a key beside the axes.
_NAMED = 12


def frontier_plot(
    points: Mapping[str, Sequence[tuple[float, float]]], *, cost: str = "cost", score: str = "Brier Index"
) -> "Figure":
    """Score against cost, a line per method over its settings, with the efficient frontier of all.

    Source: Analytica, section 5 (cost against accuracy).

    >>> figure = frontier_plot({"a": [(1.0, 60.0), (2.0, 64.0)], "b": [(2.0, 70.0)]})
    >>> figure.axes[0].lines[-1].get_xydata().tolist()  # a's second setting is dominated
    [[1.0, 60.0], [2.0, 70.0]]
    """
    _some(points)
    x, y = np.array([point for settings in points.values() for point in settings]).T
    right = (2 * x.max() + x.min()) / 3
    few = len(points) <= _NAMED
    figure, axes = _figure(6.5 if few else 9.5, 4.5 if few else max(4.5, 0.19 * len(points) + 0.8))
    for number, (name, settings) in enumerate(points.items(), 1):
        a, b = zip(*settings, strict=True)
        colour = f"C{number % 10}"
        axes.plot(
            a, b, marker="o", markersize=4, linewidth=1, alpha=0.8, color=colour, label=f"{number}  {name}"
        )
        # to the left of a point in the right third, where a name would leave the axes
        side, gap = ("right", -3) if a[-1] > right else ("left", 3)
        axes.annotate(
            name if few else str(number),
            (a[-1], b[-1]),
            xytext=(gap, 3),
            textcoords="offset points",
            fontsize=7,
            color=colour,
            ha=side,
        )
    best = np.flatnonzero(efficient(x, y) > 0)
    best = best[np.argsort(x[best])]
    # Steps, because between two settings only the cheaper one can be had: no mixture lies on a slope.
    axes.plot(
        x[best],
        y[best],
        color="0.5",
        drawstyle="steps-post",
        linestyle="--",
        linewidth=1,
        label="frontier",
        zorder=1,
    )
    axes.set(xlabel=cost, ylabel=score, title=f"{score.partition(',')[0]} against {cost}")
    axes.margins(0.08)
    if few:
        axes.legend(handles=axes.lines[-1:], fontsize="small")
    else:
        figure.legend(loc="outside right upper", fontsize=7)
    return figure


_BARS = 40  # points of a curve whose intervals are bars; of more they are a band
#: A curve: places, values, and the ends of an interval for each, in so many rows of numbers.
Curve = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]


def curves_plot(
    curves: Mapping[str, Curve], *, x: str, y: str, title: str, baseline: float | None = None
) -> "Figure":
    """Lines over a number: trials pooled, steps of an agent, nodes of a tree, noise at its leaves, days ahead.

    Source: Analytica, Figure 5; BLF, Figures 9, 12, 13, 15.

    >>> len(curves_plot({"a": ([1, 2], [0.2, 0.1])}, x="step", y="Brier score", title="Steps").axes[0].lines)
    1
    """
    _some(curves)
    figure, axes = _figure(6.5, 4.0)
    for name, (places, values, *ends) in curves.items():
        at, height = np.asarray(places, dtype=np.float64), np.asarray(values, dtype=np.float64)
        # Rounding may put an end of the interval past the value, and matplotlib refuses negative error bars.
        bars = np.maximum([height - np.asarray(ends[0]), np.asarray(ends[1]) - height], 0.0) if ends else None
        if ends and len(at) > _BARS:
            (line,) = axes.plot(at, height, linewidth=1.5, label=name)
            axes.fill_between(
                at, np.asarray(ends[0]), np.asarray(ends[1]), color=line.get_color(), alpha=0.2, linewidth=0
            )
            continue
        axes.errorbar(
            at,
            height,
            yerr=bars,
            marker="o",
            markersize=4,
            capsize=2 if ends else 0,
            linewidth=1,
            label=name,
        )
    if baseline is not None:
        axes.axhline(baseline, color="0.4", linewidth=1, linestyle=":")
    axes.set(xlabel=x, ylabel=y, title=title)
    if all(float(place).is_integer() for places, *_ in curves.values() for place in np.asarray(places)):
        axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize="small")
    return figure


def boxes_plot(groups: Mapping[str, ArrayLike], *, label: str) -> "Figure":
    """Boxes of distributions, in the given order from the top: quartiles, the median, whiskers to the 5 and 95 % points.

    Source: Analytica, Figures 2 and 14.

    >>> len(boxes_plot({"a": [0.1, 0.2], "b": [0.3]}, label="p").axes[0].get_yticks())
    2
    """
    _some(groups)
    figure, axes = _figure(6.5, 0.42 * len(groups) + 1.4)
    values = [np.asarray(group, dtype=np.float64) for group in groups.values()]
    axes.boxplot(values, orientation="horizontal", whis=(5, 95), showmeans=True, sym="")
    axes.set_yticks(range(1, len(groups) + 1), list(groups))
    axes.set(xlabel=f"{label} (triangle: mean)")
    axes.invert_yaxis()
    return figure


def traces_plot(
    traces: Mapping[str, Sequence[float]], *, outcomes: Mapping[str, float] | None = None, step: str = "step"
) -> "Figure":
    """Beliefs over the steps of a run (or over trials), one line per question.

    Source: BLF, Figure 12.
    """
    _some(traces)
    figure, axes = _figure(6.5, 4.0)
    for place, (name, values) in enumerate(traces.items()):
        steps = np.arange(1, len(values) + 1)
        (line,) = axes.plot(steps, values, marker="o", markersize=3, label=name)
        if outcomes is not None and name in outcomes:
            end: Any = [steps[-1] + 0.3 + 0.15 * place]  # side by side: many outcomes are the same
            axes.plot(
                end, [outcomes[name]], marker="*", markersize=10, color=line.get_color(), linestyle="none"
            )
    axes.set(
        xlabel=step,
        ylabel="probability of Yes",
        ylim=(-0.04, 1.04),
        title="Belief traces (star: what happened)",
    )
    axes.legend(fontsize="small")
    return figure


def fan_plot(
    past: tuple[Sequence[Any], ArrayLike],
    ahead: Sequence[Any],
    quantiles: Mapping[float, ArrayLike],
    *,
    title: str,
    unit: str = "",
    outcome: tuple[Any, float] | None = None,
    levels: Sequence[float] = (),
) -> "Figure":
    """A series as it was known, and where it may go: bands between pairs of quantiles, the median as a line.

    Without quantiles the past is drawn alone, as far as the last day ahead.

    >>> import datetime
    >>> days = [datetime.date(2018, 7, day) for day in (1, 2)]
    >>> len(fan_plot((days[:1], [1.0]), days[1:], {0.1: [0.5], 0.5: [1.0], 0.9: [2.0]}, title="x").axes[0].collections)
    1
    """
    if not len(past[0]):
        _some(quantiles)
    figure, axes = _figure(6.5, 3.6)
    axes.plot(past[0], np.asarray(past[1]), color="0.25", linewidth=1.2)
    lower = sorted(share for share in quantiles if share < 0.5)
    for share in lower:
        high = next(other for other in quantiles if abs(other + share - 1.0) < 1e-9)
        axes.fill_between(
            ahead,
            np.asarray(quantiles[share]),
            np.asarray(quantiles[high]),
            color="tab:blue",
            alpha=0.22,
            linewidth=0,
            label=f"{1 - 2 * share:.0%}",
        )
    if 0.5 in quantiles:
        axes.plot(ahead, np.asarray(quantiles[0.5]), color="tab:blue", linewidth=1.5, label="median")
    if len(past[0]):
        axes.axvline(past[0][-1], color="0.5", linewidth=1, linestyle=":", label="cutoff")
    if not quantiles:
        axes.set_xlim(past[0][0], ahead[-1] + (ahead[-1] - past[0][0]) / 50)  # what came lies at its end
    for level in levels:
        axes.axhline(level, color="tab:orange", linewidth=1.2, linestyle="--", label=f"level {level:g}")
    if outcome is not None:
        axes.plot(
            [outcome[0]],
            [outcome[1]],
            marker="*",
            markersize=10,
            color="tab:red",
            linestyle="none",
            label="came",
        )
    axes.set(ylabel=unit, title=title)
    axes.legend(fontsize="small", loc="upper left")
    figure.autofmt_xdate(rotation=20)
    return figure


def _some(values: Mapping[Any, object]) -> None:
    if not values:
        raise DomainError("there is nothing to draw")
