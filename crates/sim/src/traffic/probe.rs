//! A series of probes, timed by the same clock at both ends.

use crate::plan;
use dumbbell_net::packet::{Body, Damage, Direction, Ecn, FlowId, Packet, UDP_HEADERS_BYTES};
use dumbbell_net::time::{Span, Time};
use dumbbell_table::{Cells, Names, Table, columns};

/// One series.
#[derive(Clone, Debug)]
pub struct Series {
    flow: FlowId,
    port: u16,
    bytes: u32,
    /// Time between probes.
    pub interval: Span,
    outcomes: Vec<ProbeOutcome>,
}

/// Outcome of a probe; [`Time::NEVER`] means that it did not happen.
#[derive(Clone, Copy, Debug)]
struct ProbeOutcome {
    sent: Time,
    arrived: Time,
    answered: Time,
}

columns! {
    /// The table `probes` without `kind`.
    ProbeRows {
        time_ns: Cells<i64>,
        probe: Names,
        seq: Cells<i64>,
        rtt_ns: Cells<i64>,
        forward_ns: Cells<i64>,
        backward_ns: Cells<i64>,
    }
}

impl Series {
    /// A series before its first probe.
    pub fn new(flow: FlowId, plan: &plan::Probe) -> Self {
        let bytes = plan.payload + UDP_HEADERS_BYTES;
        Self { flow, port: plan.port, bytes, interval: plan.interval, outcomes: Vec::new() }
    }

    /// The next probe.
    pub fn send(&mut self, now: Time) -> Packet {
        let seq = self.outcomes.len() as u64;
        self.outcomes.push(ProbeOutcome { sent: now, arrived: Time::NEVER, answered: Time::NEVER });
        Packet {
            flow: self.flow,
            direction: Direction::Forward,
            ecn: Ecn::NotEct,
            segments: 1,
            bytes: self.bytes,
            port: self.port,
            mark: 0,
            rehashes: 0,
            damage: Damage::None,
            queued_at: now,
            body: Body::Probe { seq, sent_at: now, turned_at: Time::ZERO },
        }
    }

    /// A probe arrived at the far end: replies at once. Of copies, the first counts.
    pub fn reply(&mut self, probe: &Packet, now: Time) -> Packet {
        let Body::Probe { seq, sent_at, .. } = probe.body else { unreachable!("a series receives only probes") };
        let outcome = self.outcome(seq);
        outcome.arrived = outcome.arrived.min(now);
        let body = Body::Probe { seq, sent_at, turned_at: now };
        Packet { direction: Direction::Backward, queued_at: now, body, ..*probe }
    }

    /// A reply returned.
    pub fn answered(&mut self, seq: u64, now: Time) {
        let outcome = self.outcome(seq);
        outcome.answered = outcome.answered.min(now);
    }

    /// Allocated bytes.
    pub fn capacity_bytes(&self) -> usize {
        self.outcomes.capacity() * size_of::<ProbeOutcome>()
    }

    fn outcome(&mut self, seq: u64) -> &mut ProbeOutcome {
        let at = usize::try_from(seq).expect("a probe's number is its index");
        &mut self.outcomes[at]
    }
}

/// Probes of all series, in order of send time, then series. `names` in the order of the plan, as `series`.
pub fn table(series: &[&Series], names: Vec<String>) -> Table {
    let mut rows = ProbeRows { probe: Names::of(names), ..ProbeRows::default() };
    let mut order: Vec<_> = series
        .iter()
        .enumerate()
        .flat_map(|(number, series)| {
            (0..series.outcomes.len()).map(move |seq| (series.outcomes[seq].sent, number, seq))
        })
        .collect();
    order.sort_unstable();
    for (sent, number, seq) in order {
        let outcome = series[number].outcomes[seq];
        let (came, back) = (outcome.arrived.is_set(), outcome.answered.is_set());
        rows.time_ns.push(sent.as_nanos().cast_signed());
        rows.probe.push_code(u32::try_from(number).expect("few series"));
        rows.seq.push((seq as u64).cast_signed());
        rows.rtt_ns.push(back.then(|| nanos(sent, outcome.answered)));
        rows.forward_ns.push(came.then(|| nanos(sent, outcome.arrived)));
        rows.backward_ns.push((came && back).then(|| nanos(outcome.arrived, outcome.answered)));
    }
    rows.into()
}

fn nanos(from: Time, to: Time) -> i64 {
    to.since(from).as_nanos().cast_signed()
}
