//! The panel of states: bands over time, a row for each flow.

use crate::colours::{self, Shade};
use crate::lines::{NS, float, ordered};
use crate::panel::{Layer, Panel};
use crate::panels::Drawing;
use dumbbell_metrics::Phases;

/// Bands of one state of one flow: start and stop in nanoseconds.
struct Bands<'a> {
    flow: usize,
    phase: &'a str,
    /// Time in this state.
    spent_ns: i64,
    long: Vec<(i64, i64)>,
    /// By pixel; they overlap.
    short: Vec<(i64, (i64, i64))>,
}

impl Drawing<'_> {
    /// A row of bands for each flow: the states of its controller.
    ///
    /// Bands shorter than a pixel are merged without losing a state from any pixel: adjacent ones in a row become one band
    /// per state, the rarest on top, so that rare states stay visible.
    pub fn states(&mut self) -> Panel {
        let found = self.lines.run.phases();
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a run")]
        let pixel_ns = self.lines.pixel_ns() as i64;
        let mut names: Vec<&str> = Vec::new();
        for name in found.iter().flat_map(|phases| phases.names.iter().copied()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let colours = colours::states(&names);
        let bands: Vec<_> = found.iter().enumerate().flat_map(|(flow, phases)| bands(flow, phases, pixel_ns)).collect();
        let order = ordered(bands.iter().map(|band| -float(band.spent_ns)));
        let flows = &self.lines.run.facts.flows;
        let layers: Vec<_> = order
            .into_iter()
            .map(|place| {
                let band = &bands[place];
                let spans: Vec<_> = band.long.iter().copied().chain(band.short.iter().map(|(_, span)| *span)).collect();
                let times =
                    |end: fn(&(i64, i64)) -> i64| spans.iter().map(|span| float(end(span)) / NS).collect::<Vec<_>>();
                let (s, e) =
                    (self.columns.add_times(&times(|span| span.0)), self.columns.add_times(&times(|span| span.1)));
                let colour =
                    colours.iter().find(|(name, _)| *name == band.phase).map_or(colours::INK, |(_, colour)| colour);
                let Shade { colour, dark } = Shade::of(colour);
                Layer::Bands { row: flows[band.flow].name.clone(), phase: band.phase.to_owned(), colour, dark, s, e }
            })
            .collect();
        let is_inferred = found.iter().any(|phases| phases.inferred.iter().any(|is_inferred| *is_inferred));
        let note = if is_inferred { "inferred from gains" } else { "" };
        let rows = flows.iter().zip(&found).filter(|(_, phases)| !phases.names.is_empty());
        let rows = rows.map(|(flow, _)| flow.name.clone()).collect();
        Panel::new("State", note.into(), layers).with_rows(rows, flows.len()).with_legend("state", colours)
    }
}

/// The bands of a flow, by state in order of appearance.
fn bands<'a>(flow: usize, phases: &Phases<'a>, pixel_ns: i64) -> Vec<Bands<'a>> {
    let mut found: Vec<Bands<'a>> = Vec::new();
    for ((phase, start), stop) in phases.names.iter().zip(&phases.starts_ns).zip(&phases.stops_ns) {
        let at = found.iter().position(|bands| bands.phase == *phase).unwrap_or_else(|| {
            found.push(Bands { flow, phase, spent_ns: 0, long: Vec::new(), short: Vec::new() });
            found.len() - 1
        });
        let bands = &mut found[at];
        bands.spent_ns += stop - start;
        if stop - start >= pixel_ns {
            bands.long.push((*start, *stop));
            continue;
        }
        let pixel = start.div_euclid(pixel_ns);
        match bands.short.last_mut().filter(|(last, _)| *last == pixel) {
            // Rectangles thinner than a pixel would be nearly invisible.
            Some((_, (_, to))) => *to = (*to).max(*stop),
            None => bands.short.push((pixel, (*start, (*stop).max(start + pixel_ns)))),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 4] = ["startup", "drain", "probe_bw", "probe_rtt"];

    proptest! {
        #[test]
        fn every_state_of_a_pixel_is_kept(
            lengths in prop::collection::vec((0..4_usize, 1..5000_i64), 1..200),
            pixel_ns in 1..2000_i64,
        ) {
            let mut phases = Phases::default();
            let mut end = 0;
            for (name, length) in lengths {
                phases.names.push(NAMES[name]);
                phases.starts_ns.push(end);
                end += length;
                phases.stops_ns.push(end);
                phases.inferred.push(false);
            }
            let found = bands(0, &phases, pixel_ns);
            let spans = |of: &Bands<'_>| of.long.iter().copied().chain(of.short.iter().map(|(_, span)| *span)).collect::<Vec<_>>();
            for ((name, start), stop) in phases.names.iter().zip(&phases.starts_ns).zip(&phases.stops_ns) {
                let is_covered = found
                    .iter()
                    .filter(|bands| bands.phase == *name)
                    .any(|bands| spans(bands).iter().any(|(from, to)| from <= start && stop <= to));
                prop_assert!(is_covered, "{name} from {start} to {stop}");
            }
            // At most one long band and four short ones per pixel.
            let kept: usize = found.iter().map(|bands| spans(bands).len()).sum();
            prop_assert!(i64::try_from(kept).unwrap() <= 5 * (end / pixel_ns + 1));
        }
    }
}
