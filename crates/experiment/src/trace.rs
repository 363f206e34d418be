//! Mahimahi's trace files: when a link may send a packet.
//!
//! A line is a time in milliseconds at which one packet may leave; the file repeats from its last time on (Netravali et
//! al., "Mahimahi: Accurate Record-and-Replay for HTTP", 2015; mm-link(1)). The rate of each step is the number of
//! opportunities in it.

use crate::diagnostic::{Diagnostic, fail};
use crate::limits::{Limits, grouped};
use dumbbell_core::tc::Wrong;
use std::collections::HashMap;

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
    let right = "each line is a whole number of milliseconds, none smaller than the one before";
    Diagnostic::new("not a Mahimahi trace", right).key(format!("line {number}")).value(&line.into())
}

/// The trace as steps: time in nanoseconds and rate in bits per second, only where the rate changes.
///
/// A step without an opportunity gets the rate of one packet in ten steps: Linux's shapers have no rate of zero.
///
/// # Errors
///
/// More steps than the limits allow.
pub fn rates(times_ms: &[u32], step_ns: u64, duration_ns: u64, limits: &Limits) -> Result<Vec<(u64, u64)>, Wrong> {
    let milliseconds = (step_ns / MILLISECOND).max(1);
    let count = duration_ns.div_ceil(milliseconds * MILLISECOND);
    let count_shown = usize::try_from(count).unwrap_or(usize::MAX);
    if count_shown > limits.changes {
        let longer_ms = duration_ns.div_ceil(limits.changes as u64 * MILLISECOND);
        let problem = format!("{} steps in this time, more than {}", grouped(count_shown), grouped(limits.changes));
        let raised = limits.raised("changes", count_shown);
        return Err(Wrong::new(problem, format!("trace_step = \"{longer_ms}ms\" or a shorter duration, {raised}")));
    }
    let steps = u64::from(*times_ms.last().unwrap_or(&1)).div_ceil(milliseconds).max(1);
    let mut sent: HashMap<u64, u64> = HashMap::new();
    for time in times_ms {
        *sent.entry((u64::from(time.saturating_sub(1)) / milliseconds).min(steps - 1)).or_default() += 1;
    }
    let mut rates: Vec<(u64, u64)> = Vec::new();
    for number in 0..count {
        let tenths = sent.get(&(number % steps)).map_or(1, |packets| packets * 10);
        let rate = rounded(tenths * OPPORTUNITY_BYTES * 8 * 100, milliseconds);
        if rates.last().is_none_or(|(_, last)| *last != rate) {
            rates.push((number * milliseconds * MILLISECOND, rate));
        }
    }
    Ok(rates)
}

/// The nearest whole quotient; of two, the even one.
const fn rounded(dividend: u64, divisor: u64) -> u64 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let is_up = rest * 2 > divisor || (rest * 2 == divisor && !quotient.is_multiple_of(2));
    quotient + is_up as u64
}
