//! All single numbers of a run: what `dumbbell run --json` prints.

use crate::cycle::Cycle;
use crate::facts::Window;
use crate::fairness::jain_index;
use crate::flows::{bytes_received, cwnd_packets, mean_fct_s, rate_bps, ratio, rtt_ms, segments, shares};
use crate::intervals::SECOND_NS;
use crate::queue::{self, QueueMetrics};
use crate::run::{Error, Run};
use crate::spread::Spread;
use crate::{NS, mean_of_known, nearest, signed_float, sum_of_known};
use serde::{Serialize, Serializer};
use std::ops::Add;

const MEGA: f64 = 1e6;

/// Single numbers of a run, or of a window of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Flows in the order of the experiment.
    pub flows: Vec<FlowMetrics>,
    /// Groups in the order of their first flow.
    #[serde(serialize_with = "by_name")]
    pub groups: Vec<GroupMetrics>,
    /// The queue under test.
    pub queue: Option<QueueMetrics>,
    /// Round-trip time in milliseconds of all answered pings.
    pub ping_ms: Option<Spread>,
    /// One-way delay in milliseconds of all probes, in the data's direction.
    pub one_way_delay_ms: Option<Spread>,
    /// Bits that the queue under test sent ÷ bits that it could have sent; None if it has no rate.
    pub utilization: Option<f64>,
    /// [`jain_index`] over the throughput of the long-lived flows, each over its own lifetime.
    pub jain: Option<f64>,
    /// The period of the two largest groups' rates, if requested and found.
    pub cycle: Option<Cycle>,
}

/// Numbers of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowMetrics {
    /// Name.
    pub name: String,
    /// Group.
    pub group: String,
    /// Congestion control; None for UDP.
    pub cc: Option<String>,
    /// 8 × bytes received in order ÷ lifetime, in Mbit/s: goodput (RFC 2647 section 3.17).
    pub throughput_mbps: Option<f64>,
    /// Bytes that the receiver got in order.
    pub bytes: Option<u64>,
    /// Completion time of a flow with a size, in seconds; None until it completes.
    pub fct_s: Option<f64>,
    /// Seconds in which the receiver got no byte ÷ all seconds of the lifetime.
    pub no_data_share: Option<f64>,
    /// Retransmitted segments (RFC 4898, `SegsRetrans`).
    pub retransmits: Option<u64>,
    /// Retransmitted ÷ sent data segments (RFC 4898, `DataSegsOut`); sent includes retransmissions.
    pub retransmit_rate: Option<f64>,
    /// Smoothed RTT (`tcpi_rtt`, RFC 6298) over all samples in the lifetime, in milliseconds.
    pub rtt_ms: Option<Spread>,
    /// Congestion window over all samples in the lifetime, in packets.
    pub cwnd_packets: Option<Spread>,
}

/// Numbers of one group of flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupMetrics {
    /// Name; the key in JSON.
    #[serde(skip)]
    pub name: String,
    /// 8 × bytes received by its flows ÷ length of the run, in Mbit/s, regardless of the flows' lifetimes.
    pub throughput_mbps: Option<f64>,
    /// Its goodput ÷ all groups' goodput.
    pub share: Option<f64>,
    /// Mean completion time of its flows with a size, in seconds; None unless all of them completed.
    pub fct_s: Option<f64>,
    /// Retransmitted segments of its flows.
    pub retransmits: Option<u64>,
    /// Retransmitted ÷ sent data segments of all its flows.
    pub retransmit_rate: Option<f64>,
    /// Mean over its flows of their RTT's mean and 95th percentile.
    pub rtt_ms: Means,
    /// Mean over its flows of their congestion window's mean and 95th percentile.
    pub cwnd_packets: Means,
}

/// Means over flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Means {
    /// Of the flows' means.
    pub mean: Option<f64>,
    /// Of the flows' 95th percentiles.
    pub p95: Option<f64>,
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
                bytes: received[index].map(|bytes| nearest(bytes).unsigned_abs()),
                fct_s: flow.fct_s,
                no_data_share: silent[index],
                retransmits,
                retransmit_rate: ratio(retransmits, sent),
                rtt_ms: rtt_ms(self, index, bounds),
                cwnd_packets: cwnd_packets(self, index, bounds),
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
        let bytes = |members: &[usize]| sum_of_known(members.iter().map(|flow| received[*flow]));
        let rates: Vec<_> = groups.iter().map(|(_, members)| rate_bps(bytes(members), Some(bounds))).collect();
        let of_group = |((name, members), share): ((&str, Vec<usize>), Option<f64>)| {
            let segments = members.iter().map(|flow| segments[*flow]);
            let retransmits = segments.clone().filter_map(|(retransmits, _)| retransmits).reduce(Add::add);
            let own = || members.iter().map(|flow| &flows[*flow]);
            GroupMetrics {
                name: name.into(),
                throughput_mbps: rate_bps(bytes(&members), Some(bounds)).map(|rate| rate / MEGA),
                share,
                fct_s: mean_fct_s(members.iter().map(|flow| &self.facts.flows[*flow])),
                retransmits,
                retransmit_rate: ratio(retransmits, segments.filter_map(|(_, sent)| sent).reduce(Add::add)),
                rtt_ms: Means::of(&own().map(|flow| flow.rtt_ms)),
                cwnd_packets: Means::of(&own().map(|flow| flow.cwnd_packets)),
            }
        };
        groups.into_iter().zip(shares(&rates)).map(of_group).collect()
    }
}

impl Means {
    fn of(spreads: &(impl Iterator<Item = Option<Spread>> + Clone)) -> Self {
        let part = |part: fn(Spread) -> f64| mean_of_known(spreads.clone().map(|spread| spread.map(part)));
        Self { mean: part(|spread| spread.mean), p95: part(|spread| spread.p95) }
    }
}

fn by_name<S: Serializer>(groups: &[GroupMetrics], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(groups.iter().map(|group| (&group.name, group)))
}

/// Bytes received, and retransmitted and sent segments, by flow.
type Counts<'a> = (&'a [Option<f64>], &'a [(Option<u64>, Option<u64>)]);
