//! A panel as data, and the columns that it names.

use crate::colours::Shade;
use crate::lines::Series;
use serde::Serialize;
use std::collections::BTreeMap;

/// A column: offset and length, counted in numbers.
pub type Span = (usize, usize);

/// Panels, and the numbers that they name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Columns of the first flow's samples, if asked for.
    pub samples: BTreeMap<String, Span>,
    /// All columns, one after the other.
    #[serde(skip)]
    pub numbers: Vec<f64>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// Its name in [`crate::PANELS`].
    pub name: &'static str,
    /// What its values are, with their unit.
    pub title: &'static str,
    /// Below the title; may be empty.
    pub note: String,
    /// Height in pixels.
    pub height: usize,
    /// The value axis.
    pub y: Axis,
    /// Names of rows, from the top; empty for a value axis.
    pub rows: Vec<String>,
    /// Title of the panel's own legend. All panels share the legend of flows.
    pub legend: Option<&'static str>,
    /// Entries of its own legend, in order.
    pub entries: Vec<Entry>,
    /// From bottom to top.
    pub layers: Vec<Layer>,
}

/// A value axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// From and to; None: from zero to the largest value.
    pub domain: Option<(f64, f64)>,
    /// Whether its ends are rounded to nice numbers.
    pub nice: bool,
}

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Colour on a light page.
    pub colour: String,
    /// Colour on a dark page.
    pub dark: String,
}

/// Which legend has a line's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// The one of flows.
    Flows,
    /// The panel's own.
    Panel,
    /// None.
    None,
}

/// How a line goes from one point to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curve {
    /// Straight.
    Linear,
    /// A step halfway.
    Step,
    /// A step at the next point.
    StepAfter,
}

/// A line; without points it is in the legend only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Name.
    pub name: String,
    /// Colour on a light page.
    pub colour: String,
    /// Colour on a dark page.
    pub dark: String,
    /// Lengths of dashes and gaps in pixels; empty: solid.
    pub dash: Vec<u8>,
    /// Times in seconds.
    pub s: Span,
    /// Values.
    pub v: Span,
}

/// A part of a panel. Colours are as in [`Line`], times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(missing_docs, reason = "the fields of the variants are those of their kind")]
pub enum Layer {
    /// Lines of a common style; `dash` is common to all, if it is not empty.
    Lines { of: Of, curve: Curve, width: f64, opacity: f64, dash: &'static [u8], lines: Vec<Line> },
    /// A dashed line across the panel.
    Rule { v: f64, dash: [u8; 2], colour: String, dark: String },
    /// Points in time: short ticks so many pixels below the panel's top, or in one of its rows, with their packets.
    Ticks {
        #[serde(skip_serializing_if = "Option::is_none")]
        row: Option<String>,
        top: u8,
        size: u8,
        colour: String,
        dark: String,
        s: Span,
        #[serde(skip_serializing_if = "Option::is_none")]
        packets: Option<Span>,
    },
    /// Spans of time in which a row's controller was in one state. Later layers cover earlier ones.
    Bands { row: String, phase: String, colour: String, dark: String, s: Span, e: Span },
    /// Dots; their area in square pixels.
    Points { name: String, size: u8, colour: String, dark: String, s: Span, v: Span },
}

/// Opacity of a flow's line, so that lines behind it show through.
pub const OF_FLOWS_OPACITY: f64 = 0.9;

/// Columns in the making.
#[derive(Debug)]
pub struct Columns {
    numbers: Vec<f64>,
    end_s: f64,
}

impl Columns {
    /// No columns yet of a run of so many seconds.
    pub fn new(end_s: f64) -> Self {
        Self { numbers: Vec::new(), end_s }
    }

    /// Appends a column.
    pub fn add(&mut self, values: &[f64]) -> Span {
        let span = (self.numbers.len(), values.len());
        self.numbers.extend_from_slice(values);
        span
    }

    /// Appends times, cut to the run: a band that was widened to a pixel may exceed it.
    pub fn add_times(&mut self, seconds: &[f64]) -> Span {
        let span = (self.numbers.len(), seconds.len());
        self.numbers.extend(seconds.iter().map(|time| time.clamp(0.0, self.end_s)));
        span
    }

    /// Appends a line's points.
    pub fn line(&mut self, name: &str, colour: &str, dash: &[u8], series: &Series) -> Line {
        let Shade { colour, dark } = Shade::of(colour);
        let (s, v) = (self.add_times(&series.s), self.add(&series.v));
        Line { name: name.to_owned(), colour, dark, dash: dash.to_vec(), s, v }
    }

    /// Ticks below the panel's top.
    pub fn ticks(&mut self, colour: &str, top: u8, size: u8, seconds: &[f64]) -> Layer {
        let Shade { colour, dark } = Shade::of(colour);
        Layer::Ticks { row: None, top, size, colour, dark, s: self.add_times(seconds), packets: None }
    }

    /// All numbers.
    pub fn into_numbers(self) -> Vec<f64> {
        self.numbers
    }
}

impl Panel {
    /// A panel on a value axis that starts at zero.
    pub(crate) fn new(title: &'static str, note: String, layers: Vec<Layer>) -> Self {
        Self {
            name: "",
            title,
            note,
            height: HEIGHT,
            y: Axis { domain: None, nice: true },
            rows: Vec::new(),
            legend: None,
            entries: Vec::new(),
            layers,
        }
    }

    /// With this axis.
    pub(crate) fn on(self, domain: (f64, f64), nice: bool) -> Self {
        Self { y: Axis { domain: Some(domain), nice }, ..self }
    }

    /// With a legend of its own.
    pub(crate) fn with_legend<'a>(
        self,
        title: &'static str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let entry = |(name, colour): (&str, &str)| {
            let Shade { colour, dark } = Shade::of(colour);
            Entry { name: name.to_owned(), colour, dark }
        };
        Self { legend: Some(title), entries: entries.into_iter().map(entry).collect(), ..self }
    }

    /// With rows in place of values; as high as these rows of the run's flows need.
    pub(crate) fn with_rows(self, rows: Vec<String>, flows: usize) -> Self {
        Self { rows, height: (ROW * (flows.min(30) + 2)).max(60), ..self }
    }
}

/// Height of a panel with a value axis, and of a row, in pixels.
const HEIGHT: usize = 150;
const ROW: usize = 20;
