//! A series of probes, timed at both ends on one clock.

use crate::plan;
use crate::table::{Cells, Names, Table, columns};
use dumbbell_core::packet::{Body, Direction, Ecn, FlowId, Packet, UDP_HEADERS_BYTES};
use dumbbell_core::time::{Span, Time};

/// One series.
#[derive(Clone, Debug)]
pub struct Series {
    flow: FlowId,
    port: u16,
    bytes: u32,
    /// Time between two.
    pub interval: Span,
    fates: Vec<Fate>,
}

/// What became of a probe; [`Time::NEVER`] did not happen.
#[derive(Clone, Copy, Debug)]
struct Fate {
    sent: Time,
    arrived: Time,
    answered: Time,
}

columns! {
    /// The table `probes`, without `kind`, which a plan does not know.
    ProbeRows {
        sent_ns: Cells<i64>,
        probe: Names,
        seq: Cells<i64>,
        rtt_ns: Cells<i64>,
        forward_ns: Cells<i64>,
        backward_ns: Cells<i64>,
    }
}

impl Series {
    /// A series that has not begun.
    pub fn new(flow: FlowId, plan: &plan::Probe) -> Self {
        let bytes = plan.payload + UDP_HEADERS_BYTES;
        Self { flow, port: plan.port, bytes, interval: plan.interval, fates: Vec::new() }
    }

    /// The next probe.
    pub fn send(&mut self, now: Time) -> Packet {
        let seq = self.fates.len() as u64;
        self.fates.push(Fate { sent: now, arrived: Time::NEVER, answered: Time::NEVER });
        Packet {
            flow: self.flow,
            direction: Direction::Forward,
            ecn: Ecn::NotEct,
            segments: 1,
            bytes: self.bytes,
            port: self.port,
            mark: 0,
            queued_at: now,
            body: Body::Probe { seq, sent_at: now, turned_at: Time::ZERO },
        }
    }

    /// A probe has arrived at the far end: the answer goes back at once. Of copies the first counts.
    pub fn turn(&mut self, probe: &Packet, now: Time) -> Packet {
        let Body::Probe { seq, sent_at, .. } = probe.body else { unreachable!("only probes come to a series") };
        let fate = self.fate(seq);
        fate.arrived = fate.arrived.min(now);
        let body = Body::Probe { seq, sent_at, turned_at: now };
        Packet { direction: Direction::Backward, queued_at: now, body, ..*probe }
    }

    /// An answer came back.
    pub fn answered(&mut self, seq: u64, now: Time) {
        let fate = self.fate(seq);
        fate.answered = fate.answered.min(now);
    }

    /// Bytes that it holds.
    pub fn capacity_bytes(&self) -> usize {
        self.fates.capacity() * size_of::<Fate>()
    }

    fn fate(&mut self, seq: u64) -> &mut Fate {
        let at = usize::try_from(seq).expect("a probe's number is its place");
        &mut self.fates[at]
    }
}

/// The probes of all series, in order of sending, then of the series. `names` in the order of the plan, as `series`.
pub fn table(series: &[&Series], names: Vec<String>) -> Table {
    let mut rows = ProbeRows { probe: Names::of(names), ..ProbeRows::default() };
    let mut order: Vec<_> = series
        .iter()
        .enumerate()
        .flat_map(|(number, series)| (0..series.fates.len()).map(move |seq| (series.fates[seq].sent, number, seq)))
        .collect();
    order.sort_unstable();
    for (sent, number, seq) in order {
        let fate = series[number].fates[seq];
        let (came, back) = (fate.arrived.is_set(), fate.answered.is_set());
        rows.sent_ns.push(sent.as_nanos().cast_signed());
        rows.probe.push_code(u32::try_from(number).expect("few series"));
        rows.seq.push((seq as u64).cast_signed());
        rows.rtt_ns.push(back.then(|| nanos(sent, fate.answered)));
        rows.forward_ns.push(came.then(|| nanos(sent, fate.arrived)));
        rows.backward_ns.push((came && back).then(|| nanos(fate.arrived, fate.answered)));
    }
    rows.into()
}

fn nanos(from: Time, to: Time) -> i64 {
    to.since(from).as_nanos().cast_signed()
}
