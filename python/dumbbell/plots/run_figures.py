"""Figures without a time axis: distributions, throughput against delay, and one metric of many runs.

Throughput against delay is the usual comparison of controllers (Winstein & Balakrishnan 2013; Pantheon, Yan et al.
2018): delay grows to the left, so that better is up and right. `dumbbell.analysis` computes the numbers: `delays`,
`power`, `parameter`.
"""

import re
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.bottleneck import one_way_delays, queue_delay_cdf, rtt_cdf
from dumbbell.analysis.expect import metric
from dumbbell.analysis.flows import throughput_and_delay_p95
from dumbbell.analysis.parameter import METRICS, by_parameter, line_names, parameter_of
from dumbbell.analysis.summary import summary
from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import (
    coloured,
    dashed,
    data,
    framed,
    named_lines,
    noted,
    run_title,
    runs_title,
    styled,
    tips,
)
from dumbbell.plots.colours import INK, dashes, shades
from dumbbell.plots.layers import downsample
from dumbbell.results.result import Run

__all__ = [
    "POINTS_MIN",
    "box",
    "box_values",
    "configurations",
    "delay_curves",
    "delays",
    "ellipse",
    "labels",
    "natural",
    "parametric",
    "points",
    "response_curves",
    "responses",
    "round_trips",
    "rtt_curves",
    "throughput_delay",
]


def labels(runs: Sequence[Run]) -> list[str]:
    """A unique name for each run: experiment, case, engine, kernel and seed, as far as they differ."""
    names = _distinguished(
        [[*_setup(run), "" if (seed := run.manifest.seed) is None else f"seed {seed}"] for run in runs]
    )
    if len(set(names)) == len(runs):
        return names
    # Identical experiments: use the folders.
    folders = _distinguished([list(run.folder.resolve().parts) for run in runs])
    return folders if len(set(folders)) == len(runs) else [f"run {place + 1}" for place in range(len(runs))]


def configurations(runs: Sequence[Run]) -> list[str]:
    """A name for each run's configuration; runs that differ only in seed share it."""
    names = _distinguished([_setup(run) for run in runs])
    return [name or str(run.manifest.name or "runs") for name, run in zip(names, runs, strict=True)]


def _setup(run: Run) -> list[str]:
    manifest = run.manifest
    kernel = (manifest.get("kernel") or {}).get("release")
    return [
        str(manifest.get("name") or ""),
        str(manifest.get("case") or _controllers_of(run)),
        str(manifest["engine"]),
        f"Linux {kernel}" if kernel else "",
        next((str(queue["qdisc"]) for queue in manifest["queues"] if queue["name"] == manifest.get("bottleneck")), "")
        if not manifest.get("case")
        else "",
    ]


def _controllers_of(run: Run) -> str:
    return "+".join(dict.fromkeys(str(flow.cc or flow.kind) for flow in run.manifest.flows))


def _distinguished(parts: list[list[str]]) -> list[str]:
    """Join each row's parts, without those that are equal in all rows."""
    differing = range(max((len(row) for row in parts), default=0))
    rows = [[row[place] if place < len(row) else "" for place in differing] for row in parts]
    differ = [place for place in differing if len({row[place] for row in rows}) > 1]
    return [", ".join(row[place] for place in differ if row[place]) for row in rows]


def box(runs: Sequence[Run], name: str, width: int) -> alt.LayerChart:
    """A box for each configuration (median, quartiles, min and max over its runs), with the runs as points."""
    table = box_values(runs, name)
    order = sorted(set(table["flow"]), key=natural)
    x = alt.X("flow:N", title=None, sort=order, axis=alt.Axis(labelAngle=0 if len(order) <= 5 else -35, labelLimit=220))
    y = alt.Y("v:Q", title=[name, "(box: quartiles and median; dots: runs)"], scale=alt.Scale(zero=False))
    controllers = _controllers(runs)
    colours = shades([{"name": name, "group": name, "cc": controllers[name]} for name in order])
    colour = alt.Color("flow:N", legend=None).scale(domain=order, range=list(colours.values()))
    boxes = alt.BoxPlotDef("boxplot", extent="min-max", size=34, opacity=0.55, median=alt.MarkConfig(color=INK))
    drawn = alt.Chart(data(table), mark=boxes).encode(x=x, y=y, color=colour)
    mark = alt.MarkDef("point", filled=True, size=22, color=INK, opacity=0.8)
    tooltip = tips(flow="set-up", seed="seed|d", v=f"{name}|.4~g")
    dots = alt.Chart(data(table), mark=mark).encode(x=x, y=y, tooltip=tooltip)
    return framed([dots, drawn], runs_title(runs, name), width, zoom=False, pick=False)


def box_values(runs: Sequence[Run], name: str) -> pl.DataFrame:
    """The metric of each run: `flow` (the configuration), `seed`, `v`. Raises `ResultError` if a run lacks it."""
    rows = []
    for run, setup in zip(runs, configurations(runs), strict=True):
        value = metric(summary(run), name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            found = "unknown there" if value is None else "no number"
            raise ResultError(f"{run.folder}: the metric '{name}' is {found}; box needs a number from every run")
        rows.append((setup, run.manifest.seed, float(value)))
    return pl.DataFrame(rows, schema={"flow": pl.String, "seed": pl.Int64, "v": pl.Float64}, orient="row")


def _controllers(runs: Sequence[Run]) -> dict[str, str | None]:
    """The controller of each configuration; None for one with several."""
    found: dict[str, set[str | None]] = {}
    for run, setup in zip(runs, configurations(runs), strict=True):
        found.setdefault(setup, set()).update(flow.cc for flow in run.manifest.flows)
    return {setup: next(iter(each)) if len(each) == 1 else None for setup, each in found.items()}


def natural(name: str) -> list[tuple[int, str]]:
    """A key for natural sorting: 5 % before 10 %."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


POINTS = 1000


def round_trips(run: Run, width: int) -> alt.LayerChart:
    """Distribution of each flow's smoothed RTT."""
    x = alt.X("s:Q", title="Smoothed RTT, ms", scale=alt.Scale(zero=False, nice=True))
    members = run.manifest.flows
    return _framed(run, named_lines(members, rtt_curves(run), x, _SHARE, "step"), width)


def delays(run: Run, width: int) -> alt.LayerChart:
    """Distribution of the probes' one-way delays and of the queueing delay."""
    table = delay_curves(run)
    x = alt.X("s:Q", title="Delay, ms", scale=alt.Scale(zero=True, nice=True))
    members = [{"name": name, "group": name} for name in dict.fromkeys(table["flow"])]
    return _framed(run, named_lines(members, table, x, _SHARE, "step"), width)


def responses(run: Run, width: int) -> alt.LayerChart:
    """Distribution of each group's response times, on a log axis: a few slow ones are what users notice."""
    table = response_curves(run)
    x = alt.X("s:Q", title=noted("Response time, s", "logarithmic"), scale=alt.Scale(type="log", nice=True))
    cc = {flow.group: flow.cc for flow in run.manifest.flows}
    members = [{"name": name, "group": name, "cc": cc.get(name)} for name in dict.fromkeys(table["flow"])]
    return _framed(run, named_lines(members, table, x, _SHARE, "step"), width)


def response_curves(run: Run) -> pl.DataFrame:
    """A curve for each group that has requests: `s` (seconds), `v` (share of responses at most that), `flow`."""
    times: dict[str, list[float]] = {}
    for flow in run.manifest.flows:
        times.setdefault(flow["group"], []).extend(each for each in flow.get("exchanges_s") or [] if each > 0)
    parts = [
        pl.DataFrame({"s": sorted(each), "v": [(place + 1) / len(each) for place in range(len(each))]}).with_columns(
            flow=pl.lit(name)
        )
        for name, each in times.items()
        if each
    ]
    return _thinned(pl.concat([pl.DataFrame(schema={"s": pl.Float64, "v": pl.Float64, "flow": pl.String}), *parts]))


def rtt_curves(run: Run) -> pl.DataFrame:
    """A curve for each flow: `s` (RTT in ms), `v` (share of samples at most that), `flow`."""
    return _thinned(rtt_cdf(run).select(s="ms", v="share", flow="flow"))


def delay_curves(run: Run) -> pl.DataFrame:
    """A curve for each kind of probe and direction, and for the bottleneck's queue: `s` (ms), `v` (share), `flow`."""
    probes = one_way_delays(run).select(
        s="ms", v="share", flow=pl.col("kind") + pl.lit(", one way ") + pl.col("direction")
    )
    queue = queue_delay_cdf(run).select(s="ms", v="share", flow=pl.lit("queue (backlog ÷ rate)"))
    return _thinned(pl.concat([probes, queue]))


_SHARE = alt.Y("v:Q", title="Share of samples (CDF)", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def _thinned(curves: pl.DataFrame) -> pl.DataFrame:
    """Start every curve at share 0 and downsample it to the points that each pixel needs."""
    parts = [_from_zero(part) for part in curves.partition_by("flow", maintain_order=True)]
    return pl.concat([curves.clear(), *(part[downsample(part["s"], part["v"], POINTS)] for part in parts)])


def _from_zero(curve: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([curve.head(1).with_columns(v=pl.lit(0.0)), curve])


def _framed(run: Run, chart: alt.Chart, width: int) -> alt.LayerChart:
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    # A CDF holds its value up to the next delay.
    chart.mark.interpolate = "step-after"
    return framed([chart.encode(opacity=shown)], run_title(run), width)


POINTS_MIN = 3
"""Two points define a line, not an ellipse."""
SEGMENTS = 72


def ellipse(x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The 1-σ ellipse of a cloud as a closed line of points (rows of x, y).

    μ + L (cos t, sin t), where μ is the mean and L Lᵀ the sample covariance (its Cholesky factor; by eigenvectors,
    since it may be singular): the contour of the maximum-likelihood normal distribution that Winstein &
    Balakrishnan 2013 ("TCP ex Machina", figure 4) draw of throughput against delay.
    Raises `ValueError` for fewer than three points.
    """
    points = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    if len(points) < POINTS_MIN:
        raise ValueError(f"an ellipse needs {POINTS_MIN} points, got {len(points)}")
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    angles = np.linspace(0, 2 * np.pi, SEGMENTS + 1)
    return np.asarray(points.mean(axis=0) + np.column_stack([np.cos(angles), np.sin(angles)]) @ root.T)


SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
PADDING = 0.08
"""Share of the value range, beyond the outermost points."""


def throughput_delay(runs: Sequence[Run], width: int) -> alt.LayerChart:
    """Mean goodput per flow against the 95th percentile of delay."""
    table = points(runs)
    controllers = dict(table.select("flow", "cc").iter_rows())
    order = list(controllers)
    rings = [_ring(part) for part in table.partition_by("flow", maintain_order=True) if part.height >= POINTS_MIN]
    shown = pl.concat([part.select("ms", "mbps") for part in (table, *rings)])
    x = alt.X("ms:Q", title="95th-percentile delay, ms (reversed: better is up and right)")
    x = x.scale(reverse=True, zero=False, nice=False, domain=_domain(shown["ms"]))
    y = alt.Y("mbps:Q", title="Throughput per flow, Mbit/s")
    y = y.scale(zero=False, nice=False, domain=_domain(shown["mbps"]))
    hues = list(shades([{"name": name, "group": name, "cc": controllers[name]} for name in order]).values())
    colour = alt.Color("flow:N", title=None).scale(domain=order, range=hues)
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(order))]
    shape = alt.Shape("flow:N", title=None).scale(domain=order, range=shapes)
    picked = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.85), alt.value(0.08))
    tooltip = tips(flow="controller", run="run", ms="delay, ms|.4~g", mbps="Mbit/s|.4~g")
    mark = alt.MarkDef("point", filled=True, size=45, clip=True)
    dots = alt.Chart(data(table), mark=mark).encode(
        x=x, y=y, color=colour, shape=shape, opacity=picked, tooltip=tooltip
    )
    layers = [dots]
    if rings:
        line = alt.MarkDef("line", clip=True, strokeWidth=1.5)
        ring = alt.Chart(data(pl.concat(rings)), mark=line)
        layers.append(ring.encode(x=x, y=y, color=colour, order="turn:Q", opacity=picked))
    chart = framed(layers, runs_title(runs, "Throughput against delay"), width, 380)
    chart.config.legend.symbolSize = 70
    return chart


def points(runs: Sequence[Run]) -> pl.DataFrame:
    """A point for each controller in each run, the mean over its flows: `flow` (its name), `run, cc, ms, mbps`."""
    setups = configurations(runs)
    several = len(set(setups)) > 1
    parts = []
    for run, label, setup in zip(runs, labels(runs), setups, strict=True):
        # Logs may not record the controller; then use the flow's name.
        controllers = {flow.name: flow.cc or flow.name for flow in run.manifest.flows}
        means = (
            throughput_and_delay_p95(run)
            .with_columns(cc=pl.col("flow").replace_strict(controllers, return_dtype=pl.String))
            .drop_nulls()
            .group_by("cc", maintain_order=True)
            .agg(ms=pl.col("delay_p95_ms").mean(), mbps=pl.col("throughput_bps").mean() / 1e6)
        )
        alone = means.height == 1 and several
        name = pl.lit(setup) if alone else pl.concat_str([pl.col("cc"), pl.lit(f" ({setup})" if several else "")])
        known = pl.when(pl.col("cc").is_in([flow.cc for flow in run.manifest.flows if flow.cc])).then("cc")
        parts.append(means.select(name.alias("flow"), pl.lit(label).alias("run"), known.alias("cc"), "ms", "mbps"))
    return pl.concat(parts).drop_nulls(["ms", "mbps"])


def _domain(values: pl.Series) -> list[float]:
    """The value range with padding on both sides, but never below 0."""
    low, high = float(values.min() or 0.0), float(values.max() or 0.0)  # type: ignore[arg-type]
    padding = PADDING * (high - low) or PADDING * high or 1.0
    return [max(low - padding, 0.0), high + padding]


def _ring(part: pl.DataFrame) -> pl.DataFrame:
    outline = ellipse(part["ms"].to_numpy(), part["mbps"].to_numpy())
    outline_table = pl.DataFrame({"ms": outline[:, 0], "mbps": outline[:, 1]})
    return outline_table.with_row_index("turn").with_columns(flow=pl.lit(part["flow"][0]))


HEIGHT = 220
WIDE = 20
"""Minimum ratio of largest to smallest number for a logarithmic axis."""


def parametric(runs: Sequence[Run], width: int) -> alt.VConcatChart:
    """A line for each controller: means over the runs at each value, with a bar from minimum to maximum.

    Raises `ResultError` if the runs don't differ in exactly one number, or have no values.
    """
    found = parameter_of(runs)
    if found is None:
        raise ResultError(
            f"{runs[0].folder}: the experiments of these {len(runs)} runs do not differ in exactly one number, such as "
            "path.loss; choose runs that do, such as the cases of lossy-download"
        )
    table = by_parameter(runs, found)
    members = _members(runs, table["flow"].unique(maintain_order=True).to_list())
    panels = [
        _panel(part, found.title, title, members, width)
        for metric, title in METRICS.items()
        if not (part := table.filter(pl.col("metric") == metric)).is_empty()
    ]
    if not panels:
        raise ResultError(
            f"{runs[0].folder}: none of these {len(runs)} runs is valid and has a completion time or a throughput"
        )
    return styled(alt.VConcatChart(vconcat=panels, title=runs_title(runs, "Completion time and throughput")))


def _members(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, str]]:
    """Each line with its controller, which determines its hue."""
    controllers: dict[str, str] = {}
    for run in runs:
        of_group = {flow["group"]: flow.get("cc") for flow in run.manifest["flows"]}
        controllers |= {line: of_group[group] for group, line in line_names(run).items() if of_group[group]}
    return [{"name": name, "group": name, "cc": controllers.get(name, "")} for name in names]


def _panel(
    table: pl.DataFrame, across: str, title: str, members: Sequence[Mapping[str, str]], width: int
) -> alt.LayerChart:
    least, most = table.select(least=pl.col("min").min(), most=pl.col("max").max()).row(0)
    wide = least > 0 and most / least >= WIDE
    scale = alt.Scale(type="log") if wide else alt.Scale(zero=True, nice=True)
    colour, dash = coloured(shades(members)), dashed(dashes(members))
    note = "mean; bar: min to max over runs" + (", logarithmic" if wide else "")
    x = alt.X("value:Q", title=across)
    y = alt.Y("mean:Q", title=noted(title, note), scale=scale)
    tooltip = tips(flow="controller", value=f"{across}|.4~g", mean=f"{title}|.4~g", runs="runs|d")
    base = alt.Chart(data(table))
    line = base.mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=40, filled=True))
    line = line.encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tooltip)
    bars = base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("min:Q", scale=scale), y2="max:Q", color=colour)
    return alt.LayerChart(layer=[bars, line]).properties(width=width, height=HEIGHT)
