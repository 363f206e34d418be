//! All single numbers of a run: what `dumbbell run --json` prints.

use crate::cycle::Cycle;
use crate::facts::{Queue, Window};
use crate::fairness::jain_index;
use crate::flows::{
    bytes_received, completion_rate_bps, cwnd_packets, jitter_ms, lost_datagrams, one_way_delay_ms, rate_bps, ratio,
    rtt_ms, segments, shares,
};
use crate::intervals::SECOND_NS;
use crate::names::{Declared, measured};
use crate::queue::{self, QueueMetrics};
use crate::run::{Error, Run};
use crate::spread::Spread;
use crate::{NS, nearest, signed_float, sum_of_known};
use serde::{Serialize, Serializer};
use std::ops::Add;

/// Every metric, by the place of its name: empty, `flows.FLOW`, `groups.GROUP`, `queue`, `queues.QUEUE`, `cycle`.
pub const PLACES: [(&str, &[Declared]); 6] = [
    ("", Metrics::DECLARED),
    ("flows.FLOW", FlowMetrics::DECLARED),
    ("groups.GROUP", GroupMetrics::DECLARED),
    ("queue", QueueMetrics::DECLARED),
    ("queues.QUEUE", QueueMetrics::DECLARED),
    ("cycle", Cycle::DECLARED),
];

const MEGA: f64 = 1e6;

measured! {
    /// Single numbers of a run, or of a window of it.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct Metrics {
        /// Flows in the order of the experiment.
        pub flows: Vec<FlowMetrics>,
        /// Groups in the order of their first flow.
        #[serde(serialize_with = "by_name")]
        pub groups: Vec<GroupMetrics>,
        /// The queue under test.
        pub queue: Option<QueueMetrics>,
        /// All queues in the order of the manifest.
        #[serde(serialize_with = "queues_by_name")]
        pub queues: Vec<(String, QueueMetrics)>,
        /// The period of the two largest groups' rates, if requested and found.
        pub cycle: Option<Cycle>,
        ;
        /// Length of the run.
        pub duration_s: f64 = "s",
        /// Round-trip time of all answered pings.
        pub ping_ms: Option<Spread> = "ms",
        /// One-way delay of all probes, in the data's direction; unknown without a common clock.
        pub one_way_delay_ms: Option<Spread> = "ms",
        /// Bits that the queue under test sent ÷ bits that it could have sent; unknown if it has no rate.
        pub utilization: Option<f64> = "",
        /// Jain's index over the throughput of the long-lived flows, each over its own lifetime.
        pub jain: Option<f64> = "",
    }
}

measured! {
    /// Numbers of one flow.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct FlowMetrics {
        /// Name.
        pub name: String,
        /// Group.
        pub group: String,
        /// Congestion control; None for UDP.
        pub cc: Option<String>,
        ;
        /// 8 × bytes received in order ÷ the flow's lifetime: goodput (RFC 2647 section 3.17).
        pub throughput_mbps: Option<f64> = "Mbit/s",
        /// 8 × bytes received in order ÷ length of the window, whatever the flow's lifetime.
        pub goodput_mbps: Option<f64> = "Mbit/s",
        /// Bytes that the receiver got in order.
        pub bytes: Option<u64> = "bytes",
        /// Completion time of a flow with a size; unknown until it completes. Always of the whole run.
        pub fct_s: Option<f64> = "s",
        /// 8 × size ÷ completion time of a flow with a size; unknown until it completes. Always of the whole run.
        pub fct_goodput_mbps: Option<f64> = "Mbit/s",
        /// Time from a request to its response's last byte, over all exchanges. Always of the whole run.
        pub response_s: Option<Spread> = "s",
        /// Seconds in which the receiver got no byte ÷ all seconds of the lifetime.
        pub no_data_share: Option<f64> = "",
        /// Retransmitted segments (RFC 4898, `SegsRetrans`).
        pub retransmits: Option<u64> = "packets",
        /// Retransmitted ÷ sent data segments (RFC 4898, `DataSegsOut`); sent includes retransmissions.
        pub retransmit_rate: Option<f64> = "",
        /// Smoothed RTT (`tcpi_rtt`, RFC 6298) over all samples in the lifetime.
        pub rtt_ms: Option<Spread> = "ms",
        /// Congestion window over all samples in the lifetime.
        pub cwnd_packets: Option<Spread> = "packets",
        /// Datagrams of UDP below the largest number that came which the receiver did not get.
        pub lost_datagrams: Option<i64> = "packets",
        /// Interarrival jitter of UDP at the receiver (RFC 3550 section 6.4.1) over all samples in the lifetime.
        pub jitter_ms: Option<Spread> = "ms",
        /// From sender to receiver, of the last datagram of UDP or QUIC at each sample in the lifetime.
        pub one_way_delay_ms: Option<Spread> = "ms",
        /// From the first packet of a QUIC connection until its handshake was complete, as the qlog of the sender says. Always
        /// of the whole run.
        pub handshake_ms: Option<f64> = "ms",
    }
}

measured! {
    /// Numbers of one group of flows.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct GroupMetrics {
        /// Name; the key in JSON.
        #[serde(skip)]
        pub name: String,
        ;
        /// 8 × bytes received by its flows ÷ length of the window, whatever the flows' lifetimes.
        pub throughput_mbps: Option<f64> = "Mbit/s",
        /// The same as `throughput_mbps`: the sum of its flows' `goodput_mbps`.
        pub goodput_mbps: Option<f64> = "Mbit/s",
        /// Its goodput ÷ all groups' goodput.
        pub share: Option<f64> = "",
        /// Sum over its flows.
        pub bytes: Option<u64> = "bytes",
        /// Over its flows with a size; unknown unless all of them completed.
        pub fct_s: Option<Spread> = "s",
        /// Over its flows with a size; unknown unless all of them completed.
        pub fct_goodput_mbps: Option<Spread> = "Mbit/s",
        /// Over all exchanges of its flows.
        pub response_s: Option<Spread> = "s",
        /// Over its flows.
        pub no_data_share: Option<Spread> = "",
        /// Sum over its flows.
        pub retransmits: Option<u64> = "packets",
        /// Retransmitted ÷ sent data segments of all its flows.
        pub retransmit_rate: Option<f64> = "",
        /// Mean over its flows of their means and of each percentile; smallest minimum, largest maximum.
        pub rtt_ms: Option<Spread> = "ms",
        /// Mean over its flows of their means and of each percentile; smallest minimum, largest maximum.
        pub cwnd_packets: Option<Spread> = "packets",
        /// Sum over its flows.
        pub lost_datagrams: Option<i64> = "packets",
        /// Mean over its flows of their means and of each percentile; smallest minimum, largest maximum.
        pub jitter_ms: Option<Spread> = "ms",
        /// Mean over its flows of their means and of each percentile; smallest minimum, largest maximum.
        pub one_way_delay_ms: Option<Spread> = "ms",
        /// Over its flows.
        pub handshake_ms: Option<Spread> = "ms",
    }
}

impl Metrics {
    /// The flow of this name.
    #[must_use]
    pub fn flow(&self, name: &str) -> Option<&FlowMetrics> {
        self.flows.iter().find(|flow| flow.name == name)
    }

    /// The group of this name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&GroupMetrics> {
        self.groups.iter().find(|group| group.name == name)
    }
}

impl Run<'_> {
    /// All single numbers, over a window if one is given; without `cycle`, whose search takes the longest.
    ///
    /// # Errors
    ///
    /// The window is outside the run.
    pub fn metrics(&self, window: Option<Window>) -> Result<Metrics, Error> {
        let bounds = self.bounds(window)?;
        let received = bytes_received(self, window, bounds);
        let segments = segments(self, window, bounds);
        let flows = self.flow_metrics(window, bounds, (&received, &segments))?;
        let long_lived = self.long_lived(bounds);
        let bulk = flows.iter().zip(long_lived).filter(|(_, is_long)| *is_long);
        let rates: Vec<_> = bulk.filter_map(|(flow, _)| flow.throughput_mbps).collect();
        let queue = self.facts.queue.as_ref();
        Ok(Metrics {
            duration_s: signed_float(self.facts.duration_ns) / NS,
            groups: self.group_metrics(&flows, bounds, (&received, &segments)),
            queue: queue.map(|queue| queue::metrics(self, queue, window, bounds)),
            queues: self.queue_metrics(window, bounds),
            ping_ms: queue::ping_ms(self, bounds),
            one_way_delay_ms: queue::one_way_delay_ms(self, bounds),
            utilization: queue.and_then(|queue| queue::utilization(self, queue, window, bounds)),
            jain: jain_index(&rates),
            cycle: None,
            flows,
        })
    }

    fn flow_metrics(
        &self,
        window: Option<Window>,
        bounds: Window,
        (received, segments): Counts<'_>,
    ) -> Result<Vec<FlowMetrics>, Error> {
        let silent = self.no_data_shares(SECOND_NS, window)?;
        let of_flow = |(index, flow): (usize, &crate::Flow)| {
            let (retransmits, sent) = segments[index];
            FlowMetrics {
                name: flow.name.clone(),
                group: flow.group.clone(),
                cc: flow.cc.clone(),
                throughput_mbps: rate_bps(received[index], self.clip(flow, bounds)).map(|rate| rate / MEGA),
                goodput_mbps: rate_bps(received[index], Some(bounds)).map(|rate| rate / MEGA),
                bytes: received[index].map(|bytes| nearest(bytes).unsigned_abs()),
                fct_s: flow.fct_s,
                fct_goodput_mbps: completion_rate_bps(flow).map(|rate| rate / MEGA),
                response_s: flow.exchanges_s.clone().and_then(Spread::of),
                no_data_share: silent[index],
                retransmits,
                retransmit_rate: ratio(retransmits, sent),
                rtt_ms: rtt_ms(self, index, bounds),
                cwnd_packets: cwnd_packets(self, index, bounds),
                lost_datagrams: lost_datagrams(self, index, bounds),
                jitter_ms: jitter_ms(self, index, bounds),
                one_way_delay_ms: one_way_delay_ms(self, index, bounds),
                handshake_ms: flow.handshake_s.map(|seconds| seconds * 1e3),
            }
        };
        Ok(self.facts.flows.iter().enumerate().map(of_flow).collect())
    }

    fn group_metrics(
        &self,
        flows: &[FlowMetrics],
        bounds: Window,
        (received, segments): Counts<'_>,
    ) -> Vec<GroupMetrics> {
        let groups = self.groups();
        let rates = group_rates_bps(&groups, received, bounds);
        let shares = shares(&rates);
        let of_group = |(index, (name, members)): (usize, (&str, Vec<usize>))| {
            let segments = members.iter().map(|flow| segments[*flow]);
            let retransmits = segments.clone().filter_map(|(retransmits, _)| retransmits).reduce(Add::add);
            let own = || members.iter().map(|flow| &flows[*flow]);
            let sized = || members.iter().filter(|flow| self.facts.flows[**flow].is_sized()).map(|flow| &flows[*flow]);
            let exchanges = members.iter().filter_map(|flow| self.facts.flows[*flow].exchanges_s.as_deref());
            let rate = rates[index].map(|rate| rate / MEGA);
            GroupMetrics {
                name: name.into(),
                throughput_mbps: rate,
                goodput_mbps: rate,
                share: shares[index],
                bytes: own().filter_map(|flow| flow.bytes).reduce(Add::add),
                fct_s: of_all(sized().map(|flow| flow.fct_s)),
                fct_goodput_mbps: of_all(sized().map(|flow| flow.fct_goodput_mbps)),
                response_s: Spread::of(exchanges.flatten().copied().collect()),
                no_data_share: Spread::of(own().filter_map(|flow| flow.no_data_share).collect()),
                retransmits,
                retransmit_rate: ratio(retransmits, segments.filter_map(|(_, sent)| sent).reduce(Add::add)),
                rtt_ms: Spread::over(own().map(|flow| flow.rtt_ms)),
                cwnd_packets: Spread::over(own().map(|flow| flow.cwnd_packets)),
                lost_datagrams: own().filter_map(|flow| flow.lost_datagrams).reduce(Add::add),
                jitter_ms: Spread::over(own().map(|flow| flow.jitter_ms)),
                one_way_delay_ms: Spread::over(own().map(|flow| flow.one_way_delay_ms)),
                handshake_ms: Spread::of(own().filter_map(|flow| flow.handshake_ms).collect()),
            }
        };
        groups.into_iter().enumerate().map(of_group).collect()
    }

    /// The goodput of each group over the whole run, in bit/s: see [`GroupMetrics::throughput_mbps`].
    #[must_use]
    pub fn group_rates_bps(&self) -> Vec<Option<f64>> {
        let whole = (0, self.facts.duration_ns);
        group_rates_bps(&self.groups(), &bytes_received(self, None, whole), whole)
    }

    fn queue_metrics(&self, window: Option<Window>, bounds: Window) -> Vec<(String, QueueMetrics)> {
        let of_queue = |queue: &Queue| (queue.name.clone(), queue::metrics(self, queue, window, bounds));
        self.facts.queues.iter().map(of_queue).collect()
    }
}

/// 8 × bytes of each group's flows ÷ length of the window, in bit/s.
fn group_rates_bps(groups: &[(&str, Vec<usize>)], received: &[Option<f64>], bounds: Window) -> Vec<Option<f64>> {
    let bytes = |members: &[usize]| sum_of_known(members.iter().map(|flow| received[*flow]));
    groups.iter().map(|(_, members)| rate_bps(bytes(members), Some(bounds))).collect()
}

/// The spread of all numbers; None if one is unknown, because those that are known would be the smaller ones.
fn of_all(numbers: impl Iterator<Item = Option<f64>>) -> Option<Spread> {
    numbers.collect::<Option<Vec<_>>>().and_then(Spread::of)
}

fn by_name<S: Serializer>(groups: &[GroupMetrics], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(groups.iter().map(|group| (&group.name, group)))
}

fn queues_by_name<S: Serializer>(queues: &[(String, QueueMetrics)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(queues.iter().map(|(name, queue)| (name, queue)))
}

/// Bytes received, and retransmitted and sent segments, by flow.
type Counts<'a> = (&'a [Option<f64>], &'a [(Option<u64>, Option<u64>)]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_meaning_and_a_place_of_its_own() {
        for (place, declared) in PLACES {
            let mut names: Vec<_> = declared.iter().map(|each| each.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), declared.len(), "{place}");
            assert!(declared.iter().all(|each| each.about.trim().ends_with('.')), "{place}");
        }
    }

    #[test]
    fn a_group_has_every_number_of_its_flows() {
        let of_group = |flow: &Declared| GroupMetrics::DECLARED.iter().any(|group| group.name == flow.name);
        let missing: Vec<_> = FlowMetrics::DECLARED.iter().filter(|flow| !of_group(flow)).collect();
        assert_eq!(missing, Vec::<&Declared>::new());
    }
}
