//! Samples that Linux takes by itself while the lab sleeps.
//!
//! A sample costs two switches between the guest's kernel and the lab: to be woken, and to ask. Where the lab has nothing
//! else to do until some samples later, all of them are asked for at once ([`crate::sys::rounds`]). As soon as a socket
//! comes or goes, or anything else is to happen first, the rest is called back, and the agenda has the next sample again.

use super::agenda::Kind;
use super::{Lab, Traffic};
use crate::error::{Attempt, Result};
use crate::sample::netlink::messages;
use crate::sys::rounds::{Rounds, Times};

/// Samples under way.
pub struct Ahead {
    first_ns: u64,
    count: usize,
    /// Which questions each letter asks.
    positions: Vec<usize>,
    /// Those that are on record.
    booked: usize,
}

impl Lab<'_> {
    /// Puts the next sample on the agenda; some before it may be asked for ahead.
    pub(super) fn sample_later(&mut self, next_ns: u64) -> Result<()> {
        let next_ns = if self.looks_only_at_linux() { self.sample_ahead(next_ns)? } else { next_ns };
        self.agenda.add(next_ns.min(self.plan.duration_ns), Kind::Sample, self.sampling);
        Ok(())
    }

    /// Calls samples back that the lab has to take itself.
    pub(super) fn recall_if_late(&mut self) -> Result<()> {
        let Some(ahead) = &self.ahead else { return Ok(()) };
        let last_ns = ahead.first_ns + (ahead.count as u64 - 1) * self.plan.sample_ns;
        if self.sampler.is_stale() || self.agenda.next().is_some_and(|next_ns| next_ns <= last_ns) {
            self.doors.recall()?;
        }
        Ok(())
    }

    /// The samples are taken, or called back.
    pub(super) fn samples_came(&mut self, last: nix::Result<usize>) -> Result<()> {
        self.book()?;
        let Some(ahead) = self.ahead.take() else { return Ok(()) };
        if ahead.booked == ahead.count {
            return Ok(());
        }
        match last {
            Err(nix::Error::ECANCELED) => {}
            // Linux before 6.10 can't wait for this clock.
            Err(_) if ahead.booked == 0 => self.never_ahead = true,
            other => drop(other.attempt(|| "sampling".into())?),
        }
        self.sampling += 1;
        let next_ns = ahead.first_ns + ahead.booked as u64 * self.plan.sample_ns;
        self.agenda.add(next_ns, Kind::Sample, self.sampling);
        Ok(())
    }

    /// Puts on record what has been sampled.
    pub(super) fn book(&mut self) -> Result<()> {
        let (Some(ahead), Some(rounds)) = (&mut self.ahead, self.doors.rounds()) else { return Ok(()) };
        for round in ahead.booked..rounds.done() {
            let time_ns = ahead.first_ns + round as u64 * self.plan.sample_ns;
            for (letter, datagram) in rounds.answers(round) {
                let position = ahead.positions[letter];
                messages(datagram).try_for_each(|answer| self.sampler.hear(time_ns, position, &answer))?;
            }
            ahead.booked += 1;
        }
        Ok(())
    }

    /// Asks for what comes before anything else does; returns when the lab has to sample next.
    fn sample_ahead(&mut self, first_ns: u64) -> Result<u64> {
        let sample_ns = self.plan.sample_ns;
        let until_ns = self.agenda.next().unwrap_or(0).min(self.plan.duration_ns);
        let Some(letters) = self.sampler.letters(&self.flows) else { return Ok(first_ns) };
        let (positions, letters): (Vec<_>, Vec<_>) = letters.into_iter().unzip();
        let free = usize::try_from(until_ns.saturating_sub(first_ns).div_ceil(sample_ns)).unwrap_or(usize::MAX);
        let count = free.min(Rounds::most(&letters));
        if count < LEAST {
            return Ok(first_ns);
        }
        let times = Times { first_ns: self.clock.monotonic_ns(first_ns), period_ns: sample_ns, count };
        if !self.doors.begin(&letters, times)? {
            return Ok(first_ns);
        }
        self.ahead = Some(Ahead { first_ns, count, positions, booked: 0 });
        Ok(first_ns + count as u64 * sample_ns)
    }

    /// Is all that a sample tells asked of Linux, and the time virtual? On a machine it matters how late the lab was.
    fn looks_only_at_linux(&self) -> bool {
        let plain = self.ahead.is_none() && !self.never_ahead && self.machine.is_none();
        plain && self.company.connections.is_none() && self.flows.iter().all(|flow| matches!(flow, Traffic::Tcp(_)))
    }
}

/// Fewer are not worth the calls that prepare them.
const LEAST: usize = 3;
