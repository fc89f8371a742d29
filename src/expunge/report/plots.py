"""The same figures for papers: PNG and SVG by matplotlib, from the same descriptions as the page's."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .figures import figures
from .figures.figure import Axis, Colour, Figure, Mark, Series
from .results import Results

INKS: dict[Colour, str] = {
    "blue": "#0067a5",
    "orange": "#d05a00",
    "green": "#008a66",
    "purple": "#a64d86",
    "sky": "#3a93c8",
    "grey": "#77797f",
}
MARKERS: dict[Colour, str] = {"blue": "o", "orange": "D", "green": "s", "purple": "^", "sky": "P", "grey": "o"}
LONGEST = 34  # characters of a name beside an axis
LINE, SOFT = "#e5e1da", "#5c5f66"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": "#1c1d20",
    "ytick.labelcolor": "#1c1d20",
    "svg.hashsalt": "expunge",  # the same figure is the same file
}
FORMATS: dict[str, dict[str, Any]] = {"png": {"dpi": 200}, "svg": {"metadata": {"Date": None}}}


def write(results: Results, folder: str | Path) -> list[Path]:
    """Every figure that was measured, as `<name>.png` and `<name>.svg`."""
    return write_each([one for section in figures(results).values() for one in section], folder)


def write_each(drawn: Iterable[Figure], folder: str | Path) -> list[Path]:
    """These figures as files."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ConfigError("figures need matplotlib. Install it: pip install 'expunge[report]'.") from error
    place, written = Path(folder), list[Path]()
    place.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for figure in drawn:
            canvas = draw(figure)
            for ending, options in FORMATS.items():
                written.append(place / f"{figure.name}.{ending}")
                canvas.savefig(written[-1], **options)
    return written


def draw(figure: Figure) -> Any:
    """One figure; where the y axis has names, a row for each."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    canvas = Canvas(
        figsize=(5.5, 1.1 + 0.27 * len(figure.y.places) if figure.y.places else 3.3),
        layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06),
    )
    axes = canvas.subplots()
    axes.grid(color=LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    _axis(axes, "x", figure.x)
    _axis(axes, "y", figure.y)
    for series in figure.series:
        _series(axes, series, figure)
    for mark in figure.marks:
        _mark(axes, mark)
    if figure.x.log:
        _decades(axes)
    named = [series for series in figure.series if not series.quiet]
    if len(named) > 1:
        canvas.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    return canvas


def _axis(axes: Any, side: str, axis: Axis) -> None:
    from matplotlib.ticker import PercentFormatter

    if axis.places:
        axes.set_yticks(range(len(axis.places)), [_literal(_shortened(name)) for name in axis.places])
        axes.set_ylim(len(axis.places) - 0.5, -0.5)
        return
    getattr(axes, f"set_{side}label")(axis.label)
    if axis.log:
        getattr(axes, f"set_{side}scale")("log")
    elif axis.percent:
        getattr(axes, f"{side}axis").set_major_formatter(PercentFormatter(1.0, decimals=None))
    if axis.limits:
        getattr(axes, f"set_{side}lim")(*axis.limits)


def _decades(axes: Any) -> None:
    """1, 2 and 5 where values are so close together that powers of ten alone would say little."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axes.get_xlim()
    if high / low < 30.0:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:g}")


def _series(axes: Any, series: Series, figure: Figure) -> None:
    points = [(figure.x.drawn(x), figure.y.drawn(y)) for x, y in series.points]
    x, y = zip(*points, strict=True) if points else ((), ())
    ink, dots = INKS[series.colour], series.shape in ("dots", "both")
    axes.plot(
        x,
        y,
        color=ink,
        label="_" if series.quiet else _literal(series.name),
        alpha=0.4 if series.quiet else 1.0,
        linestyle="none" if series.shape == "dots" else "--" if series.dashed else "-",
        linewidth=0.8 if series.quiet else 1.5,
        drawstyle="steps-post" if series.shape == "steps" else "default",
        marker=MARKERS[series.colour] if dots else None,
        markersize=3.5 if series.shape == "both" else 6,
        markerfacecolor="none" if series.colour == "grey" else ink,
    )
    if series.band:
        low, high = zip(*series.band, strict=True)
        axes.fill_between(x, low, high, color=ink, alpha=0.15, linewidth=0)
    if series.spread:
        left, right = zip(*series.spread, strict=True)
        axes.errorbar(x, y, xerr=(left, right), fmt="none", ecolor=ink, elinewidth=1.2)


def _mark(axes: Any, mark: Mark) -> None:
    upright = mark.axis == "x"
    (axes.axvline if upright else axes.axhline)(mark.at, color=SOFT, linewidth=0.8, linestyle=":")
    place, transform = (
        ((mark.at, 1.0), axes.get_xaxis_transform()) if upright else ((1.0, mark.at), axes.get_yaxis_transform())
    )
    axes.annotate(
        _literal(mark.label),
        place,
        xycoords=transform,
        xytext=(0, 2) if upright else (3, 0),
        textcoords="offset points",
        ha="left",
        va="bottom" if upright else "center",
        fontsize=7.5,
        color=SOFT,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2 - 1]}…{text[-LONGEST // 2 :]}"


def _literal(text: str) -> str:
    """Names come from files: a dollar sign begins no formula, and a leading underscore hides nothing."""
    return text.replace("$", r"\$") if not text.startswith("_") else "\u200b" + text.replace("$", r"\$")
