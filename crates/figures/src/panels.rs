//! Every panel: its lines, bands and marks.

use crate::colours::{self, ALARM, DASHES, HUES, INK, Member, NOTE, Shade};
use crate::lines::{Lines, NS, NamedSeries, Series, float, middle_s, sort};
use crate::panel::{Columns, Curve, Layer, Line, OF_FLOWS_OPACITY, Of, Panel};
use dumbbell_metrics::{Queue, Run, jain_index};

/// Ethernet 14, IPv4 20, TCP 20 with 12 of timestamps: bytes of a full packet on the link beyond its MSS.
const HEADERS_BYTES: f64 = 66.0;
const MEGA: f64 = 1e6;
const MS: f64 = 1e6;

/// The panels in the making: lines of a run, and the columns of the figure.
pub struct Drawing<'a> {
    pub lines: Lines<'a>,
    pub columns: Columns,
    /// Whether windows are in bytes; None: in what more flows have.
    pub cwnd_in_bytes: Option<bool>,
}

impl Drawing<'_> {
    pub fn throughput(&mut self) -> Panel {
        self.against_link("Throughput in order, Mbit/s", &self.goodput(self.lines.is_grouped()))
    }

    pub fn delivered(&mut self) -> Panel {
        let rates = self.run().delivered_bps(&self.lines.edges());
        let series = self.lines.rates(&rates, MEGA, self.lines.is_grouped());
        self.against_link("Delivered, Mbit/s", &series)
    }

    /// Goodput at the receiver in Mbit/s.
    fn goodput(&self, by_group: bool) -> NamedSeries {
        self.lines.rates(&self.run().goodput_bps(&self.lines.edges()), MEGA, by_group)
    }

    /// Whether the run has byte counts over time.
    pub fn has_goodput(&self) -> bool {
        self.goodput(self.lines.is_grouped()).iter().any(|(_, series)| !series.s.is_empty())
    }

    fn against_link(&mut self, title: &'static str, series: &NamedSeries) -> Panel {
        let rate = self.steps(1.0 / MEGA);
        let note = joined([self.bins(series), dashed(&rate, "link rate")]);
        let flows = self.flows(series, Curve::Step);
        Panel::new(title, note, [vec![flows], self.reference("link rate", &rate)].concat())
    }

    pub fn groups(&mut self) -> Panel {
        let (shown, series) = (self.lines.shown_groups(), self.goodput(true));
        let colours = colours::shades(&shown);
        let lines = shown.iter().zip(&colours).enumerate();
        let lines = lines.map(|(at, (group, colour))| {
            self.columns.line(&group.name, colour, dash(at), of(&series, &group.name).unwrap_or(&Series::default()))
        });
        let layer = Layer::Lines {
            of: Of::Panel,
            curve: Curve::Step,
            width: 1.3,
            opacity: 1.0,
            dash: &[],
            lines: lines.collect(),
        };
        let entries = shown.iter().map(|group| group.name.as_str()).zip(colours.iter().map(String::as_str));
        Panel::new("Groups, Mbit/s", self.bins(&series), vec![layer]).with_legend("group", entries)
    }

    pub fn cwnd(&mut self) -> Panel {
        let in_bytes = self.cwnd_in_bytes.unwrap_or_else(|| {
            let flows = 0..self.run().facts.flows.len();
            let known =
                |column| flows.clone().filter(|flow| !self.run().series(*flow, column).values.is_empty()).count();
            known("cwnd_bytes") > known("cwnd_packets")
        });
        if in_bytes {
            self.sampled("cwnd, kB", "cwnd_bytes", 1e3, true)
        } else {
            self.sampled("cwnd, packets", "cwnd_packets", 1.0, true)
        }
    }

    pub fn rtt(&mut self) -> Panel {
        // 0: no measurement yet.
        let series = self.lines.samples("rtt_ns", MS, false, false);
        let flows = self.flows(&series, Curve::Linear);
        Panel::new("Smoothed RTT, ms", String::new(), vec![flows])
    }

    pub fn jitter(&mut self) -> Panel {
        self.sampled("UDP jitter, ms", "jitter_ns", MS, false)
    }

    fn sampled(&mut self, title: &'static str, column: &str, per: f64, sums: bool) -> Panel {
        let series = self.lines.samples(column, per, sums, true);
        let flows = self.flows(&series, Curve::Linear);
        Panel::new(title, String::new(), vec![flows])
    }

    /// RFC 6675's pipe, and the path's BDP if rate and RTT are known.
    pub fn inflight(&mut self) -> Panel {
        let series = self.lines.samples("inflight_packets", 1.0, true, true);
        let bdp = self.bdp_packets();
        let flows = self.flows(&series, Curve::Linear);
        Panel::new("In flight, packets", dashed(&bdp, "BDP"), [vec![flows], self.reference("BDP", &bdp)].concat())
    }

    pub fn rates(&mut self) -> Panel {
        let delivery = self.lines.samples("delivery_rate_bps", MEGA, true, true);
        let pacing = self.lines.samples("pacing_rate_bps", MEGA, true, true);
        // Startup paces at many times the link's rate; scale the axis to the delivery rate.
        let most = quantile(&pacing, 1.0).min(quantile(&pacing, 0.99) * 1.2);
        let top = (quantile(&delivery, 1.0) * 1.5).max(most).max(0.1);
        let front = self.coloured(&delivery);
        let front = lines_of(front, Curve::Linear, (1.3, OF_FLOWS_OPACITY), &[]);
        let behind = self.coloured(&pacing);
        let behind = lines_of(behind, Curve::Linear, (1.0, 0.6), &[1, 2]);
        Panel::new("Delivery rate, Mbit/s", "dots: pacing rate".into(), vec![front, behind]).on((0.0, top), true)
    }

    pub fn bandwidth(&mut self) -> Panel {
        let series = self.lines.samples("bbr_bw_bps", MEGA, true, true);
        let rate = self.steps(1.0 / MEGA);
        let flows = self.flows(&series, Curve::Linear);
        let layers = [vec![flows], self.reference("link rate", &rate)].concat();
        Panel::new("BBR's bandwidth, Mbit/s", dashed(&rate, "link rate"), layers)
    }

    pub fn gains(&mut self) -> Panel {
        let pacing = self.coloured(&self.lines.samples("bbr_pacing_gain", 1.0, false, true));
        let cwnd = self.coloured(&self.lines.samples("bbr_cwnd_gain", 1.0, false, true));
        let layers = vec![
            lines_of(pacing, Curve::StepAfter, (1.1, OF_FLOWS_OPACITY), &[]),
            lines_of(cwnd, Curve::StepAfter, (1.2, OF_FLOWS_OPACITY), &[1, 2]),
        ];
        Panel::new("BBR's pacing gain", "dots: cwnd gain".into(), layers).on((0.0, 3.1), false)
    }

    pub fn retransmits(&mut self) -> Panel {
        let series = self.lines.retransmits();
        let flows = self.flows(&series, Curve::Step);
        Panel::new("Retransmits, packets/s", self.bins(&series), vec![flows])
    }

    /// Jain's index in every bin, and dashed its value when one of n flows has all goodput.
    pub fn fairness(&mut self) -> Panel {
        let series = self.jain();
        let bounds = (0, self.run().facts.duration_ns);
        let long = self.run().long_lived(bounds).iter().filter(|is_long| **is_long).count();
        #[expect(clippy::cast_precision_loss, reason = "a number of flows")]
        let least = 1.0 / long.max(1) as f64;
        let lines =
            if series.s.is_empty() { vec![] } else { vec![self.columns.line("Jain's index", INK, &[], &series)] };
        let layers = vec![alone(lines, Curve::Linear, 1.2, &[]), rule(least)];
        let note = joined([self.bins(&vec![(String::new(), series)]), "dashed: 1/n".into()]);
        Panel::new("Jain's index", note, layers).on((0.0, 1.05), false)
    }

    /// Jain's index of the bulk flows that are active during a whole bin, in bins with at least two.
    pub fn jain(&self) -> Series {
        let (edges, mut series) = (self.lines.edges(), Series::default());
        let rates = self.run().goodput_bps(&edges);
        let bulk: Vec<_> = self.run().facts.flows.iter().zip(&rates).filter(|(flow, _)| flow.is_bulk()).collect();
        for bin in 0..edges.len().saturating_sub(1) {
            let (from, to) = (edges[bin], edges[bin + 1]);
            let is_active = |flow: &dumbbell_metrics::Flow| {
                let life = self.run().life(flow);
                from >= life.0 && to <= life.1
            };
            let active = bulk.iter().filter(|(flow, _)| is_active(flow)).map(|(_, rates)| rates[bin]);
            let active: Vec<_> = active.filter(|rate| !rate.is_nan()).collect();
            if let Some(index) = jain_index(&active).filter(|_| active.len() > 1) {
                series.push(middle_s(&edges, bin), index);
            }
        }
        series
    }

    /// Backlog of the queues under test; the bottleneck's limit, drops and marks.
    pub fn queue(&mut self) -> Panel {
        let series = self.backlogs();
        let largest = quantile(&series, 1.0);
        let limit = self.limit().filter(|(packets, _)| *packets <= 3.0 * largest.max(1.0));
        let top = largest.max(limit.as_ref().map_or(0.0, |(packets, _)| *packets)).max(1.0) * 1.18;
        let names: Vec<_> = series.iter().map(|(name, _)| name.as_str()).collect();
        let colours = self.queue_colours(&names);
        let colour = |name: &str| colours.iter().find(|(known, _)| known == name).map_or(INK, |(_, colour)| colour);
        let lines = series.iter().enumerate();
        let lines: Vec<_> =
            lines.map(|(at, (name, series))| self.columns.line(name, colour(name), dash(at), series)).collect();
        let several = lines.len() > 1;
        let mut layers =
            vec![Layer::Lines { of: Of::Panel, curve: Curve::Linear, width: 1.0, opacity: 1.0, dash: &[], lines }];
        layers.extend(limit.as_ref().map(|(packets, _)| rule(*packets)));
        let mut ticks = |column, colour, top| {
            let marks = self.lines.grown(&[self.bottleneck_samples(column)]);
            layers.push(self.columns.ticks(colour, top, 7, &marks.s));
            !marks.s.is_empty()
        };
        let (drops, marks) = (ticks("drops_packets", ALARM, 4), ticks("marks_packets", NOTE, 10));
        let note = joined([
            limit.map_or(String::new(), |(packets, written)| format!("dashed: {}", limit_text(packets, &written))),
            if drops { "red ticks: drops".into() } else { String::new() },
            if marks { "grey ticks: marks".into() } else { String::new() },
        ]);
        let panel = Panel::new("Queue, packets", note, layers).on((0.0, top), false);
        let entries = colours.iter().map(|(name, colour)| (name.as_str(), colour.as_str()));
        if several { panel.with_legend("queue", entries) } else { panel }
    }

    /// Backlog in packets of the bottleneck and of the other queues under test, in the order of their first sample.
    fn backlogs(&self) -> NamedSeries {
        let facts = self.run().facts;
        let is_shown = |name: &str| {
            facts.queue.as_ref().is_some_and(|queue| queue.name == name)
                || facts.queues.iter().any(|queue| queue.name == name && queue.is_under_test)
        };
        let columns = (self.run().queues.names("queue"), self.run().queues.numbers("backlog_packets"));
        let (Some(names), Some(backlog)) = columns else { return Vec::new() };
        let mut order: Vec<usize> = Vec::new();
        let mut is_seen = vec![false; names.list.len()];
        for row in 0..self.run().queues.rows() {
            if let Some(code) = names.code(row).filter(|code| !is_seen[*code] && backlog.get(row).is_some()) {
                is_seen[code] = true;
                order.push(code);
            }
        }
        let shown = order.into_iter().map(|code| &names.list[code]).filter(|name| is_shown(name));
        let lines = shown.map(|name| (name.clone(), self.lines.queue_samples(name, "backlog_packets").in_seconds()));
        self.lines.thinned(lines.collect())
    }

    /// Black for the bottleneck, the group's hue for its access link, else the hues from the last one.
    fn queue_colours(&self, queues: &[&str]) -> Vec<(String, String)> {
        let groups = self.lines.groups();
        let taken = colours::shades(&groups);
        let access = groups.iter().map(|group| format!("access-{}", group.name));
        let mut found: Vec<_> = access.zip(taken.iter().cloned()).collect();
        // The last hue is black too.
        let hues = HUES[..HUES.len() - 1].iter().rev().filter(|hue| !taken.iter().any(|taken| taken == *hue));
        let free: Vec<_> = std::iter::once(&INK).chain(hues).collect();
        let others = queues.iter().filter(|name| !found.iter().any(|(known, _)| known == *name)).enumerate();
        let others: Vec<_> =
            others.map(|(at, name)| ((*name).to_owned(), (*free[at % free.len()]).to_owned())).collect();
        found.extend(others);
        found
    }

    /// The bottleneck's limit in packets and as configured; a byte limit is divided by the mean queued packet.
    fn limit(&self) -> Option<(f64, String)> {
        let queue = self.bottleneck()?;
        let [packets, bytes] =
            ["backlog_packets", "backlog_bytes"].map(|column| self.lines.queue_samples(&queue.name, column).v);
        let size = bytes.iter().sum::<f64>() / packets.iter().sum::<f64>().max(1.0);
        written_limit(&queue.qdisc, size)
    }

    pub fn ping(&mut self) -> Panel {
        let (names, kinds) = (self.run().probes.names("probe"), self.run().probes.names("kind"));
        let (times, rtts) = (self.run().probes.numbers("time_ns"), self.run().probes.numbers("rtt_ns"));
        let (mut answered, mut lost) = (NamedSeries::new(), Vec::new());
        if let (Some(names), Some(kinds), Some(times), Some(rtts)) = (names, kinds, times, rtts) {
            for row in kinds.rows_of("ping") {
                let (Some(name), Some(time)) = (names.get(row), times.get(row)) else { continue };
                let Some(rtt) = rtts.get(row) else {
                    lost.push(time / NS);
                    continue;
                };
                if answered.last().is_none_or(|(known, _)| known != name)
                    && !answered.iter().any(|(known, _)| known == name)
                {
                    answered.push((name.to_owned(), Series::default()));
                }
                if let Some((_, series)) = answered.iter_mut().find(|(known, _)| known == name) {
                    series.push(time / NS, rtt / MS);
                }
            }
        }
        let series = self.lines.thinned(answered);
        let lines: Vec<_> = series.iter().map(|(name, series)| self.columns.line(name, INK, &[], series)).collect();
        let points = series.iter().map(|(name, series)| {
            let Shade { colour, dark } = Shade::of(INK);
            let (s, v) = (self.columns.add_times(&series.s), self.columns.add(&series.v));
            Layer::Points { name: name.clone(), size: 6, colour, dark, s, v }
        });
        let points: Vec<_> = points.collect();
        let ticks = self.columns.ticks(ALARM, 4, 8, &lost);
        Panel::new(
            "Ping RTT, ms",
            String::new(),
            [vec![alone(lines, Curve::Linear, 1.0, &[])], points, vec![ticks]].concat(),
        )
    }

    /// A row for each flow with its retransmissions or lost datagrams, one for the bottleneck's drops, one for marks.
    pub fn loss(&mut self) -> Panel {
        let (members, run) = (self.lines.members(), self.run());
        let of_flow = |flow: usize| {
            let series = |column| {
                let series = run.series(flow, column);
                Series { s: series.times_ns, v: series.values }
            };
            let lost = series("datagrams_lost");
            if lost.s.is_empty() { series("retrans_packets") } else { lost }
        };
        let is_grouped = self.lines.is_grouped();
        let counters = members.iter().map(|row| {
            let flows = run.facts.flows.iter().enumerate();
            let mine =
                flows.filter(|(_, flow)| if is_grouped { flow.group == row.name } else { flow.name == row.name });
            mine.map(|(index, _)| of_flow(index)).collect::<Vec<_>>()
        });
        let names = members.iter().map(|row| row.name.clone()).zip(colours::shades(&members));
        let mut rows: Vec<_> = names.zip(counters).map(|(row, counters)| (row, self.lines.grown(&counters))).collect();
        for (column, name, colour) in [("drops_packets", DROPPED, INK), ("marks_packets", MARKED, NOTE)] {
            let grown = self.lines.grown(&[self.bottleneck_samples(column)]);
            if !grown.s.is_empty() {
                rows.push(((name.to_owned(), colour.to_owned()), grown));
            }
        }
        let names = rows.iter().map(|((name, _), _)| name.clone()).collect();
        let layer = |((name, colour), grown): ((String, String), Series)| {
            let Shade { colour, dark } = Shade::of(&colour);
            let (s, packets) = (self.columns.add_times(&grown.s), Some(self.columns.add(&grown.v)));
            Layer::Ticks { row: Some(name), top: 0, size: 7, colour, dark, s, packets }
        };
        let layers = rows.into_iter().map(layer).collect();
        Panel::new("Repeats, drops", String::new(), layers).with_rows(names, self.run().facts.flows.len())
    }

    /// Share of the packets that the bottleneck dropped, in bins.
    pub fn loss_rate(&mut self) -> Panel {
        let (edges, mut series) = (self.lines.edges(), Series::default());
        if let Some(queue) = self.bottleneck() {
            let drops = self.lines.queue_counter(&queue.name, "drops_packets", queue.drops);
            let sends = self.lines.queue_counter(&queue.name, "sent_packets", queue.sent_packets);
            if !drops.is_empty() && !sends.is_empty() {
                let counts = drops.differences(&edges).into_iter().zip(sends.differences(&edges));
                for (bin, (dropped, sent)) in counts.enumerate().filter(|(_, (dropped, sent))| dropped + sent > 0.0) {
                    series.push(middle_s(&edges, bin), dropped / (dropped + sent) * 100.0);
                }
            }
        }
        let name = self.bottleneck().map_or(String::new(), |queue| queue.name.clone());
        let lines = if series.s.is_empty() { vec![] } else { vec![self.columns.line(&name, INK, &[], &series)] };
        let note = format!("bins of {} s", float(self.lines.step_ns()) / NS);
        Panel::new("Dropped by the queue, %", note, vec![alone(lines, Curve::Step, 1.2, &[])])
    }

    fn run(&self) -> &'_ Run<'_> {
        self.lines.run
    }

    fn bottleneck(&self) -> Option<&Queue> {
        self.lines.run.facts.queue.as_ref()
    }

    /// Times in nanoseconds and readings of one of the bottleneck's counters.
    fn bottleneck_samples(&self, column: &str) -> Series {
        self.bottleneck().map_or(Series::default(), |queue| self.lines.queue_samples(&queue.name, column))
    }

    /// A line for each flow or group, with its colour and dash.
    fn flows(&mut self, series: &NamedSeries, curve: Curve) -> Layer {
        let mut lines = self.coloured(series);
        for (at, line) in lines.iter_mut().enumerate() {
            line.dash = dash(at).to_vec();
        }
        lines_of(lines, curve, (1.3, OF_FLOWS_OPACITY), &[])
    }

    /// A line for each flow or group, with or without points.
    fn coloured(&mut self, series: &NamedSeries) -> Vec<Line> {
        let members: Vec<Member> = self.lines.members();
        let colours = colours::shades(&members);
        let line = |(member, colour): (&Member, &String)| {
            self.columns.line(&member.name, colour, &[], of(series, &member.name).unwrap_or(&Series::default()))
        };
        members.iter().zip(&colours).map(line).collect()
    }

    /// Bandwidth-delay product in full packets: rate × smallest RTT ÷ (8 × bytes per packet), of any flow's smallest
    /// `min_rtt_ns` and largest MSS with its headers. Empty if the link has no rate or no flow an RTT.
    fn bdp_packets(&self) -> Series {
        let known = |column| {
            let column = self.run().flows.numbers(column);
            (0..self.run().flows.rows()).filter_map(move |row| column?.get(row)).filter(|value| *value > 0.0)
        };
        let (rtt, mss) = (known("min_rtt_ns").reduce(f64::min), known("mss_bytes").reduce(f64::max));
        let Some((rtt, mss)) = rtt.zip(mss) else { return Series::default() };
        self.steps(rtt / NS / (8.0 * (mss + HEADERS_BYTES)))
    }

    /// The bottleneck's rate × a factor, as steps up to the run's end; empty if it has none.
    fn steps(&self, factor: f64) -> Series {
        let mut steps = Series::default();
        for (time, rate) in self.bottleneck().map_or(&[][..], |queue| &queue.rates) {
            if let Some(rate) = rate {
                steps.push(*time, rate * factor);
            }
        }
        if let Some(last) = steps.v.last().copied() {
            steps.push(self.lines.duration_s(), last);
        }
        steps
    }

    fn reference(&mut self, name: &str, steps: &Series) -> Vec<Layer> {
        if steps.s.is_empty() {
            return Vec::new();
        }
        vec![alone(vec![self.columns.line(name, INK, &[], steps)], Curve::StepAfter, 1.2, &[5, 3])]
    }

    /// The length of the bins, if there are any.
    fn bins(&self, series: &NamedSeries) -> String {
        if series.iter().all(|(_, series)| series.s.is_empty()) {
            return String::new();
        }
        format!("bins of {} s", float(self.lines.step_ns()) / NS)
    }
}

const DROPPED: &str = "queue's drops";
const MARKED: &str = "queue's marks";

/// A qdisc's limit in packets and as configured; a byte limit is divided by `size_bytes`, if known.
#[must_use]
pub fn written_limit(qdisc: &str, size_bytes: f64) -> Option<(f64, String)> {
    let mut words = qdisc.split_whitespace();
    let kind = words.clone().next()?;
    words.find(|word| *word == "limit")?;
    let word = words.next()?;
    let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
    let factor = match &word[end..] {
        "" | "b" => 1,
        "k" | "kb" => 1024,
        _ => return None,
    };
    let limit = word[..end].parse::<i64>().ok()?.checked_mul(factor)?;
    if !["bfifo", "tbf", "red", "gred"].contains(&kind) {
        return Some((float(limit), format!("limit {limit}")));
    }
    let digits = limit.to_string();
    let grouped: String = digits
        .char_indices()
        .flat_map(|(at, digit)| {
            let separates = at > 0 && (digits.len() - at).is_multiple_of(3);
            separates.then_some('\u{2009}').into_iter().chain([digit])
        })
        .collect();
    (size_bytes > 0.0).then(|| (float(limit) / size_bytes, format!("limit {grouped}\u{a0}B")))
}

/// The limit in the axis's unit, and as configured if that is in bytes.
fn limit_text(packets: f64, written: &str) -> String {
    let bytes = written.strip_suffix('B').and_then(|_| written.strip_prefix("limit "));
    let more = bytes.map_or(String::new(), |bytes| format!(", {bytes}"));
    format!("limit {} packets{more}", packets.round_ties_even())
}

fn of<'a>(series: &'a NamedSeries, name: &str) -> Option<&'a Series> {
    series.iter().find(|(known, _)| known == name).map(|(_, series)| series)
}

fn dash(at: usize) -> &'static [u8] {
    DASHES[at % DASHES.len()]
}

fn dashed(steps: &Series, what: &str) -> String {
    if steps.s.is_empty() { String::new() } else { format!("dashed: {what}") }
}

fn joined<const N: usize>(notes: [String; N]) -> String {
    notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ")
}

fn rule(v: f64) -> Layer {
    let Shade { colour, dark } = Shade::of(ALARM);
    Layer::Rule { v, dash: [4, 3], colour, dark }
}

fn lines_of(lines: Vec<Line>, curve: Curve, (width, opacity): (f64, f64), dash: &'static [u8]) -> Layer {
    Layer::Lines { of: Of::Flows, curve, width, opacity, dash, lines: all_dashed(lines, dash) }
}

/// The lines with a common dash, if there is one.
fn all_dashed(mut lines: Vec<Line>, dash: &[u8]) -> Vec<Line> {
    for line in lines.iter_mut().filter(|_| !dash.is_empty()) {
        line.dash = dash.to_vec();
    }
    lines
}

/// Lines in no legend.
fn alone(lines: Vec<Line>, curve: Curve, width: f64, dash: &'static [u8]) -> Layer {
    Layer::Lines { of: Of::None, curve, width, opacity: 1.0, dash, lines: all_dashed(lines, dash) }
}

/// The value of all lines that is nearest to a quantile; 0 without any.
fn quantile(series: &NamedSeries, share: f64) -> f64 {
    let mut values: Vec<_> = series.iter().flat_map(|(_, series)| series.v.iter().map(|value| (*value, 0.0))).collect();
    if values.is_empty() {
        return 0.0;
    }
    sort(&mut values);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position"
    )]
    let at = ((values.len() - 1) as f64 * share).round() as usize;
    values[at].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_in_packets_and_as_written() {
        assert_eq!(written_limit("pfifo limit 100", 0.0), Some((100.0, "limit 100".into())));
        assert_eq!(written_limit("fq_codel limit 10240 flows 1024", 1500.0), Some((10240.0, "limit 10240".into())));
        let found = written_limit("bfifo limit 150kb", 1536.0);
        assert_eq!(found, Some((100.0, "limit 153\u{2009}600\u{a0}B".into())));
        assert_eq!(written_limit("bfifo limit 15000b", 0.0), None);
        assert_eq!(written_limit("codel flow_limit 3", 1500.0), None);
        assert_eq!(limit_text(99.6, "limit 153\u{2009}600\u{a0}B"), "limit 100 packets, 153\u{2009}600\u{a0}B");
    }
}
