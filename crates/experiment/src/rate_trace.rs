//! Mahimahi's trace files: when a link may send a packet.
//!
//! A line is a time in milliseconds at which one packet may leave; the file repeats from its last time on (Netravali et
//! al., "Mahimahi: Accurate Record-and-Replay for HTTP", 2015; mm-link(1)). The rate of each step is the number of
//! opportunities in it.

use crate::diagnostic::{Diagnostic, fail};
use crate::limits::{Limits, grouped};
use dumbbell_tc::Wrong;

/// What Mahimahi counts for one opportunity: 1500 bytes of IP and 4 of its tunnel.
pub const OPPORTUNITY_BYTES: u64 = 1_504;

const MILLISECOND: u64 = 1_000_000;

/// Opportunities in milliseconds, in order; at least one, and one is above 0.
///
/// # Errors
///
/// Another format; the diagnostic's key is the line.
pub fn read(content: &[u8], limits: &Limits) -> Result<Vec<u32>, Box<Diagnostic>> {
    let count = content.split(|byte| *byte == b'\n').count() - 1;
    if count > limits.lines {
        let problem = format!("{} lines, more than {}", grouped(count), grouped(limits.lines));
        return fail(Diagnostic::new(problem, format!("a part of it, {}", limits.raised("lines", count))));
    }
    let text = str::from_utf8(content).ok().filter(|text| text.is_ascii());
    let text = text.ok_or_else(|| Diagnostic::new("the trace can't be read: it is not ASCII", ""))?;
    let mut times: Vec<u32> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let is_number = line.len() <= 9 && line.bytes().all(|byte| byte.is_ascii_digit());
        let time = line.parse().ok().filter(|time| is_number && times.last().is_none_or(|last| time >= last));
        times.push(time.ok_or_else(|| not_a_trace(number, line))?);
    }
    if times.last().is_none_or(|last| *last == 0) {
        return fail(Diagnostic::new("the trace is empty", "it holds at least one time above 0"));
    }
    Ok(times)
}

fn not_a_trace(number: usize, line: &str) -> Diagnostic {
    let hint = "each line is a whole number of milliseconds, none smaller than the one before";
    Diagnostic::new("not a Mahimahi trace", hint).key(format!("line {number}")).value(&line.into())
}

/// The trace as steps: time in nanoseconds and rate in bits per second, only where the rate changes.
///
/// An opportunity counts for the millisecond before its time, and a step has the opportunities that fall into it, so
/// that the mean is right for every step and every length of the trace. Linux's shapers have no rate of zero: in steps
/// without an opportunity one packet, the first of the next step, is under way for all of them. If that is the only one
/// of the next step, it is under way for that, too.
///
/// # Errors
///
/// More steps than the limits allow.
pub fn rates(times_ms: &[u32], step_ns: u64, duration_ns: u64, limits: &Limits) -> Result<Vec<(u64, u64)>, Wrong> {
    let step_ns = step_ns.max(1);
    let count = duration_ns.div_ceil(step_ns);
    let count_shown = usize::try_from(count).unwrap_or(usize::MAX);
    if count_shown > limits.changes {
        let longer_ms = duration_ns.div_ceil(limits.changes as u64 * MILLISECOND);
        let problem = format!("{} steps in this time, more than {}", grouped(count_shown), grouped(limits.changes));
        let raised = limits.raised("changes", count_shown);
        return Err(Wrong::new(
            problem,
            format!("rate_trace_step = \"{longer_ms}ms\" or a shorter duration, {raised}"),
        ));
    }
    let trace = Opportunities(times_ms);
    let mut rates: Vec<(u64, u64)> = Vec::new();
    let mut add = |step: u64, packets: u128, steps: u64| {
        let rate = rate_bps(packets, steps.saturating_mul(step_ns));
        if rates.last().is_none_or(|(_, last)| *last != rate) {
            rates.push((step * step_ns, rate));
        }
    };
    let mut step = 0;
    while step < count {
        let next = trace.next_start(step * step_ns) / step_ns;
        let packets = trace.until((next + 1).saturating_mul(step_ns)) - trace.until(next * step_ns);
        let empty = next.saturating_sub(step);
        if empty > 0 && packets > PACKET {
            add(step, PACKET, empty);
            if next < count {
                add(next, packets - PACKET, 1);
            }
        } else {
            add(step, packets, empty + 1);
        }
        step = next + 1;
    }
    Ok(rates)
}

/// The times of a trace, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Opportunities<'a>(&'a [u32]);

/// One packet, in parts that are due within a nanosecond of its millisecond.
const PACKET: u128 = MILLISECOND as u128;

impl Opportunities<'_> {
    fn period_ns(self) -> u64 {
        u64::from(self.0.last().copied().unwrap_or(1)) * MILLISECOND
    }

    /// Opportunities of one period up to a millisecond; a time of 0 is in the first.
    fn up_to(self, millisecond: u64) -> usize {
        self.0.partition_point(|time| u64::from((*time).max(1)) <= millisecond)
    }

    /// Packets from the start to a time.
    fn until(self, time_ns: u64) -> u128 {
        let (periods, rest) = (time_ns / self.period_ns(), time_ns % self.period_ns());
        let (millisecond, part) = (rest / MILLISECOND, rest % MILLISECOND);
        let before = self.up_to(millisecond);
        let due = self.up_to(millisecond + 1) - before;
        let whole = u128::from(periods) * self.0.len() as u128 + before as u128;
        whole * PACKET + due as u128 * u128::from(part)
    }

    /// When the millisecond of the next opportunity begins; the time itself if it is in one.
    fn next_start(self, time_ns: u64) -> u64 {
        let rest = time_ns % self.period_ns();
        let next = self.0.get(self.up_to(rest / MILLISECOND)).map_or(0, |time| u64::from((*time).max(1)));
        time_ns.max((time_ns - rest) + next.saturating_sub(1) * MILLISECOND)
    }
}

/// The rate at which packets leave in a time; at least the lowest of tc, a byte per second.
fn rate_bps(packets: u128, time_ns: u64) -> u64 {
    let rate = rounded(packets * u128::from(OPPORTUNITY_BYTES) * 8 * 1000, u128::from(time_ns));
    u64::try_from(rate).unwrap_or(u64::MAX).max(8)
}

/// The nearest whole quotient; of two, the even one.
const fn rounded(dividend: u128, divisor: u128) -> u128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let is_up = rest * 2 > divisor || (rest * 2 == divisor && !quotient.is_multiple_of(2));
    quotient + is_up as u128
}
