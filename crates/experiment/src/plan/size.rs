//! The size of a run before it starts: groups, flows and changes of an experiment; memory and packets of a plan.
//!
//! Estimates are upper bounds, measured with one flow and with thousands. What is unknown before (packets that wait,
//! rows of events) the simulator counts during the run, with the same limit.

use super::attachments::Attachments;
use super::error::Error;
use super::limits::{Limits, gigabytes, raised, raised_bytes};
use super::traffic::MAX_ARRIVALS;
use crate::limits::grouped;
use crate::model::{Experiment, Flows, Transport};
use dumbbell_plan::Plan;
use dumbbell_plan::text::{millis, rounded};
use dumbbell_tc::quantity::float;
use serde::Serialize;

/// Bytes of a row of each table while it is made, summed up and written: one and a half times what the table takes.
const FLOW_ROW_BYTES: u128 = 380;
const QUEUE_ROW_BYTES: u128 = 200;
const PROBE_BYTES: u128 = 200;
/// A UDP packet that waits in a queue.
const DATAGRAM_BYTES: u128 = 200;
/// A flow in the plan, and its two ends in the simulator.
const FLOW_BYTES: u128 = 10_000;

/// What a run takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Rows of the flows' table.
    pub flow_rows: u128,
    /// Rows of the queues' table.
    pub queue_rows: u128,
    /// Probes.
    pub probe_packets: u128,
    /// UDP packets.
    pub udp_packets: u128,
    /// Flows.
    pub flows: u128,
    /// Full packets that the bottleneck can carry.
    pub data_packets: u128,
}

impl Size {
    /// Size of a planned run.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let duration = plan.duration_ns;
        let life = |stop: Option<u64>, start: u64| stop.unwrap_or(duration).min(duration).saturating_sub(start);
        let lives = plan.flows.iter().map(|flow| (flow, life(flow.stop_ns, flow.start_ns)));
        let udp = lives.clone().filter_map(|(flow, life)| Some(u128::from(life / flow.interval_ns?)));
        let samples = u128::from(duration / plan.sample_ns);
        Self {
            flow_rows: lives.map(|(_, life)| u128::from(life)).sum::<u128>() / u128::from(plan.sample_ns),
            queue_rows: samples * plan.queues.len() as u128,
            probe_packets: plan.probes.iter().map(|probe| u128::from(duration / probe.interval_ns)).sum(),
            udp_packets: udp.sum(),
            flows: plan.flows.len() as u128,
            data_packets: carried(plan),
        }
    }

    /// Memory of tables.
    const fn row_bytes(&self) -> u128 {
        self.flow_rows * FLOW_ROW_BYTES + self.queue_rows * QUEUE_ROW_BYTES
    }

    /// Memory of tables, datagrams and flows.
    #[must_use]
    pub const fn memory_bytes(&self) -> u128 {
        let packets = self.probe_packets * PROBE_BYTES + self.udp_packets * DATAGRAM_BYTES;
        self.row_bytes() + packets + self.flows * FLOW_BYTES
    }
}

/// Full packets that the queue under test lets through; 0 if its rate is unknown.
fn carried(plan: &Plan) -> u128 {
    let queue = plan.queues.iter().find(|queue| Some(&queue.name) == plan.bottleneck.as_ref());
    let rates = queue.map_or(&[][..], |queue| &queue.rates);
    let begins = rates.iter().map(|(at, _)| (*at).min(plan.duration_ns));
    let ends = begins.clone().skip(1).chain([plan.duration_ns]);
    let times = begins.zip(ends).map(|(begin, end)| end.saturating_sub(begin));
    let carried: u128 = rates.iter().zip(times).map(|((_, rate), time)| u128::from(*rate) * u128::from(time)).sum();
    let mtu = u128::from(plan.net.mtu);
    let packets = carried / (8_000_000_000 * mtu);
    let sized = plan.flows.iter().filter(|flow| flow.on_off_ns.is_none() && flow.transport != Transport::Udp);
    let bytes = sized.map(|flow| flow.bytes.map(u128::from)).sum::<Option<u128>>();
    bytes.map_or(packets, |bytes| packets.min(bytes / mtu))
}

/// Refuses too many groups, flows or changes, before they are planned.
pub(super) fn refuse_too_many(
    experiment: &Experiment,
    attachments: &Attachments,
    limits: &Limits,
) -> Result<(), Error> {
    let flows = experiment.flows.iter().map(|group| flows_of(group, experiment.duration)).sum::<u64>();
    let traced: usize = attachments.traces.values().map(Vec::len).sum();
    let rows: usize = attachments.changes.values().map(Vec::len).sum();
    let changes = (traced + rows + experiment.changes.len()) as u64;
    let groups = experiment.flows.len() as u64;
    for (name, count, limit) in
        [("groups", groups, limits.groups), ("flows", flows, limits.flows), ("changes", changes, limits.changes)]
    {
        if count > limit {
            let (many, most, hint) = (grouped(count), grouped(limit), raised(name, count.into()));
            return Err(Error::plan(format!("{many} {name}, more than {most}; ask for fewer, {hint}")));
        }
    }
    Ok(())
}

/// Flows of a group: with random arrivals, more than are likely.
fn flows_of(group: &Flows, duration_ns: u64) -> u64 {
    let Some(per_second) = group.arrivals.filter(|_| group.count > 0) else { return group.count.into() };
    let most = if group.count > 1 { group.count.into() } else { MAX_ARRIVALS };
    let time = float(group.stop.unwrap_or(duration_ns).min(duration_ns));
    most.min(rounded(per_second * time / 1e9 * 1.5).saturating_add(100))
}

/// Refuses more samples or packets than fit in memory, or than a run should take. `max_bytes` is a lower limit of the
/// caller.
///
/// # Errors
///
/// There are more.
pub fn refuse_too_much(plan: &Plan, limits: &Limits, max_bytes: Option<u64>) -> Result<(), Error> {
    let size = Size::of(plan);
    let allowed = max_bytes.unwrap_or(limits.memory);
    if size.memory_bytes() > allowed.into() {
        return Err(Error::plan(too_much(plan, &size, allowed.into(), max_bytes.is_some())));
    }
    if size.data_packets > limits.packets.into() {
        let (many, most) = (grouped(size.data_packets), grouped(limits.packets));
        return Err(Error::plan(format!(
            "the bottleneck can carry {many} packets in this time, more than {most}: make it shorter or slower, {}",
            raised("packets", size.data_packets)
        )));
    }
    Ok(())
}

fn too_much(plan: &Plan, size: &Size, allowed: u128, is_own: bool) -> String {
    let memory = size.memory_bytes();
    let (flows, queues) = (grouped(size.flows), grouped(plan.queues.len()));
    let rows = grouped(size.flow_rows + size.queue_rows);
    let packets = grouped(size.udp_packets + size.probe_packets);
    let text = format!(
        "this run needs about {} GB of memory, more than {} GB: {flows} flows and {queues} queues sampled every {} ms \
         would give {rows} samples, plus {packets} UDP packets and probes",
        gigabytes(memory),
        gigabytes(allowed),
        millis(plan.sample_ns)
    );
    let fixed = memory - size.row_bytes();
    let remedy = if fixed < allowed {
        let enough_ns = (size.row_bytes() * u128::from(plan.sample_ns)).div_ceil(allowed - fixed);
        format!("sample less often: --set sample={}ms", enough_ns.div_ceil(1_000_000))
    } else {
        "send fewer or larger ones".into()
    };
    let hint = if is_own { "or use dumbbell run".into() } else { raised_bytes("memory", memory) };
    format!("{text}; {remedy}, {hint}")
}
