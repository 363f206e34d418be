//! Every key of a sweep file.

pub mod rules;

use crate::declare::generic::{Boolean, Integer, List};
use crate::declare::kinds::Text;
use crate::declare::metrics::{Figure, RowMetric};
use crate::declare::numbers::{AboveZero, NotNegative, ShareOfOne};
use crate::declare::programs::Seeds;
use crate::declare::sweeps::{AxisNames, AxisTable, Base, HalfWidth, Levels, Settings, Texts, Window};
use crate::declare::{choices, table};
use crate::value::{Table, Value};

table! {
    /// Repeat each point until its mean is known well enough.
    pub struct Until, rules rules::until {
        /// The metric whose mean is estimated.
        metric: RowMetric, required("metric = \"groups.bbr.share\"");
        /// Half of the width of the 95 % interval of the mean: in the metric's unit, or `"5%"` of the mean.
        half_width: HalfWidth, required("half_width = \"5%\"");
        /// Runs of a point before the first look.
        least: Integer<u32, 2, 100_000> = 10;
        /// Runs of a point, at most.
        most: Integer<u32, 2, 100_000> = 100;
    }
}

table! {
    /// Put more points where the metric changes most.
    pub struct Refine {
        /// The metric whose change decides.
        metric: RowMetric, required("metric = \"groups.bbr.share\"");
        /// One or two axes of numbers.
        axes: AxisNames, required("axes = [\"path.rtt\"]");
        /// Points, at most, those of the first grid included.
        most: Integer<u32, 1, 1_000_000>, required("most = 100");
        /// Neighbours whose means differ by less than this are left alone.
        change: NotNegative = 0.0;
        /// Neighbours are never nearer than this share of the axis, on its scale.
        finest: ShareOfOne = 0.0;
    }
}

table! {
    /// Search within the axes' bounds for the point where a value is least or largest, instead of running the grid.
    pub struct Search, rules rules::search {
        /// The metric, or arithmetic with several, whose least value is searched.
        minimize: Text, optional;
        /// The one whose largest value is searched.
        maximize: Text, optional;
        /// Points that are tried.
        trials: Integer<u32, 1, 100_000> = 200;
        /// Seed of the search's own random draws.
        seed: Integer<u32, 0, 4_294_967_295> = 1;
        /// So many of the best points also run with the other `seeds`.
        best: Integer<u32, 1, 1_000> = 5;
    }
}

table! {
    /// Run some of the grid's points on a second engine too, so that a map shows where the two agree.
    pub struct Validation {
        /// The second engine.
        engine: Text, required("engine = \"kernel\"");
        /// Values of axes, as the axes have them; all values of an axis that isn't listed.
        at: Levels = Table::default();
    }
}

table! {
    /// A map that the sweep's report shows.
    pub struct Map {
        /// The column or formula that the colours show.
        value: Text, required("value = \"groups.bbr.share\"");
        /// The horizontal axis.
        x: Text, required("x = \"path.rtt\"");
        /// The vertical axis.
        y: Text, optional;
        /// Axes with a panel for each of their values.
        panels: Texts = Vec::new();
        /// The axis with a line for each of its values.
        lines: Text, optional;
        /// An axis with two values, such as `engine=sim,kernel`, whose difference is shown.
        difference: Text, optional;
        /// Values at which a line is drawn.
        contour: List<Figure> = Vec::new();
        /// The value of the middle colour.
        middle: Figure, optional;
        /// Half of the widest interval that is not marked; of a difference, what counts as none.
        within: AboveZero, optional;
        /// Values on a logarithmic scale.
        log: Boolean = false;
        /// A condition in SQL that rows must meet.
        condition as "where": Text, optional;
        /// The map's title.
        title: Text, optional;
        /// A text below it.
        text: Text, optional;
    }
}

table! {
    /// Origin of the sweep's question.
    pub struct Origin {
        /// The source's title.
        title: Text, required("title = \"RFC 9438\"");
        /// Its address.
        url: Text, optional;
        /// More about it.
        note: Text, optional;
    }
}

choices! {
    /// What is kept of each run.
    pub enum Keep {
        /// One row of numbers.
        Metrics = "metrics",
        /// The result folder too.
        Runs = "runs",
    }
}

table! {
    /// A sweep: an experiment, the axes along which it changes, how often, and what to keep.
    pub struct Sweep, also ["format"] {
        /// One line, without control characters. Without it, the experiment's.
        title: Text, optional;
        /// The experiment: the name of a scenario, a file below the sweep's folder (no link, no `..`), or a table
        /// `[experiment]` with the keys of [an experiment file](experiment.md).
        experiment: Base, required("experiment = \"cyclic\", a file of yours, or a table [experiment]");
        /// One of the experiment's cases, if it has any.
        case: Text, optional;
        /// What runs it; may be an axis too. A file can't start `"host"`: add `--engine host`, and `--hosts` for an
        /// experiment with [`[hosts]`](experiment.md#hosts).
        engine: Text = "sim";
        /// The kernel, by name or version; may be an axis too. A file can't start one given by its path: add
        /// `--set kernel=PATH`.
        kernel: Text, optional;
        /// Runs of each point: `7`, `[1, 2]` or `"1..5"`. Without it, the experiment's.
        seeds: Seeds, optional;
        /// `"metrics"`: one row of numbers per run; `"runs"`: also each run's result folder.
        keep: Keep = "metrics";
        /// Names of `dumbbell run --json`, with `*` as wildcard.
        metrics: Texts = vec![Value::from("*")];
        /// The part of each run that is measured: `"from 5s to 60s"`, `"from 5s"`, `"to 60s"`. Without it, all of it.
        window: Window, optional;
        /// Settings of every run, as for `--set`; their texts may have [placeholders](#placeholders).
        set: Settings = Table::default();
        /// [Keys and their values](#axes). The axes of one table vary together.
        axes: List<AxisTable> = Vec::new();
        /// [Repeat](#repeat-until-the-interval-is-narrow) each point until its interval is narrow enough.
        until: Until, optional;
        /// [Put more points](#add-points-where-the-metric-changes) where a metric changes most.
        refine: Refine, optional;
        /// [Search](search.md) for the worst point instead of running the grid.
        search: Search, optional;
        /// [Run some points](#validate-some-points-on-another-engine) on a second engine too.
        validate: Validation, optional;
        /// [Maps](#maps-for-the-report) for the report.
        maps: List<Map> = Vec::new();
        /// Origin of the question.
        source: Origin, optional;
    }
}
