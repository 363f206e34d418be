//! Samples that Linux takes while the event loop sleeps.
//!
//! A sample costs two context switches in the guest: one to wake the loop, one to query the kernel. If no other event
//! is due before the next few samples, the loop requests all of them at once ([`crate::sys::rounds`]). When a socket
//! opens or closes, or an earlier event is added, it cancels the rest and schedules the next sample itself.

use super::event_queue::Kind;
use super::{EventLoop, Traffic};
use crate::error::{Attempt, Result};
use crate::sample::netlink::messages;
use crate::sys::rounds::{Rounds, Times};

/// Samples in progress.
pub struct Prefetch {
    first_ns: u64,
    count: usize,
    /// Position of each batch in the sampler's list of queries.
    positions: Vec<usize>,
    /// How many are recorded.
    recorded: usize,
}

impl EventLoop<'_> {
    /// Schedules the next sample; prefetches those that nothing else precedes.
    pub(super) fn sample_later(&mut self, next_ns: u64) -> Result<()> {
        let next_ns = if self.only_needs_kernel_samples() { self.prefetch_samples(next_ns)? } else { next_ns };
        self.event_queue.add(next_ns.min(self.plan.duration_ns), Kind::Sample, self.sampling);
        Ok(())
    }

    /// Cancels prefetched samples if another event precedes them.
    pub(super) fn cancel_prefetch_if_late(&mut self) -> Result<()> {
        let Some(prefetch) = &self.prefetch else { return Ok(()) };
        let last_ns = prefetch.first_ns + (prefetch.count as u64 - 1) * self.plan.sample_ns;
        if self.sampler.is_stale() || self.event_queue.next().is_some_and(|next_ns| next_ns <= last_ns) {
            self.poller.cancel_rounds()?;
        }
        Ok(())
    }

    /// All prefetched samples are taken or cancelled.
    pub(super) fn samples_arrived(&mut self, last: nix::Result<usize>) -> Result<()> {
        self.record_prefetched()?;
        let Some(prefetch) = self.prefetch.take() else { return Ok(()) };
        if prefetch.recorded == prefetch.count {
            return Ok(());
        }
        match last {
            Err(nix::Error::ECANCELED) => {}
            // This kernel can't read a timerfd in a chain.
            Err(_) if prefetch.recorded == 0 => self.prefetch_unsupported = true,
            other => drop(other.attempt(|| "sampling".into())?),
        }
        self.sampling += 1;
        let next_ns = prefetch.first_ns + prefetch.recorded as u64 * self.plan.sample_ns;
        self.event_queue.add(next_ns, Kind::Sample, self.sampling);
        Ok(())
    }

    /// Records the prefetched samples taken so far.
    pub(super) fn record_prefetched(&mut self) -> Result<()> {
        let (Some(prefetch), Some(rounds)) = (&mut self.prefetch, self.poller.rounds()) else { return Ok(()) };
        for round in prefetch.recorded..rounds.done() {
            let time_ns = prefetch.first_ns + round as u64 * self.plan.sample_ns;
            for (request_batch, datagram) in rounds.answers(round) {
                let position = prefetch.positions[request_batch];
                messages(datagram).try_for_each(|answer| self.sampler.record_answer(time_ns, position, &answer))?;
            }
            prefetch.recorded += 1;
        }
        Ok(())
    }

    /// Prefetches the samples due before any other event; returns the time of the next regular sample.
    fn prefetch_samples(&mut self, first_ns: u64) -> Result<u64> {
        let sample_ns = self.plan.sample_ns;
        let until_ns = self.event_queue.next().unwrap_or(0).min(self.plan.duration_ns);
        let Some(request_batches) = self.sampler.request_batches(&self.flows) else { return Ok(first_ns) };
        let (positions, request_batches): (Vec<_>, Vec<_>) = request_batches.into_iter().unzip();
        let free = usize::try_from(until_ns.saturating_sub(first_ns).div_ceil(sample_ns)).unwrap_or(usize::MAX);
        let count = free.min(Rounds::most(&request_batches));
        if count < MIN_PREFETCH {
            return Ok(first_ns);
        }
        let times = Times { first_ns: self.clock.monotonic_ns(first_ns), period_ns: sample_ns, count };
        if !self.poller.begin(&request_batches, times)? {
            return Ok(first_ns);
        }
        self.prefetch = Some(Prefetch { first_ns, count, positions, recorded: 0 });
        Ok(first_ns + count as u64 * sample_ns)
    }

    /// Does a sample consist only of kernel queries, in virtual time? In real time the loop measures its own lateness.
    fn only_needs_kernel_samples(&self) -> bool {
        let plain = self.prefetch.is_none() && !self.prefetch_unsupported && self.host_load.is_none();
        plain && self.programs.connections.is_none() && self.flows.iter().all(|flow| matches!(flow, Traffic::Tcp(_)))
    }
}

/// Fewer samples do not repay the setup.
const MIN_PREFETCH: usize = 3;
