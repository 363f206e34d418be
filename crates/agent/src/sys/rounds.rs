//! Requests that a ring repeats periodically without waking the process.
//!
//! A round is a chain of operations: read the timer, then for each batch send it and receive its answers into the
//! round's buffers. The kernel executes the chain on its own; the only completion is that of the last answer of the
//! last round, or of the first operation that failed.

use super::request_batch::RequestBatch;
use io_uring::types::Fd;
use io_uring::{opcode, squeue};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

/// Buffer size of one answer; the longest seen has 900 bytes.
const ANSWER_BYTES: usize = 4096;
/// Length of `nlmsg_len`, the first field of an answer.
const LENGTH_BYTES: usize = 4;
/// Maximum operations of a chain.
const MAX_REQUESTS: usize = 512;
/// A timerfd returns its number of expirations.
const EXPIRATIONS_BYTES: u32 = 8;

/// When the rounds run, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// First round.
    pub first_ns: u64,
    /// Interval.
    pub period_ns: u64,
    /// Number of rounds.
    pub count: usize,
}

/// Rounds that are prepared, in progress or done. Owns all memory that the kernel accesses, at a stable address.
pub struct Rounds {
    clock: TimerFd,
    signals_sent: Box<u64>,
    request_batches: Vec<(RawFd, Vec<u8>, usize)>,
    buffer: Vec<u8>,
    count: usize,
}

impl Rounds {
    /// Can this kernel wait for a timer in a chain? Before Linux 6.10 the read fails, and on 6.1 it is retried forever.
    pub fn are_supported() -> nix::Result<bool> {
        let system = nix::sys::utsname::uname()?;
        Ok(has_chained_timers(&system.release().to_string_lossy()))
    }

    /// How many rounds of these batches fit into one chain.
    pub fn most(request_batches: &[RequestBatch<'_>]) -> usize {
        MAX_REQUESTS / (1 + request_batches.iter().map(|request_batch| 1 + request_batch.answers).sum::<usize>())
    }

    /// Creates the timer.
    pub fn open() -> io::Result<Self> {
        let clock = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        Ok(Self { clock, signals_sent: Box::new(0), request_batches: Vec::new(), buffer: Vec::new(), count: 0 })
    }

    /// Sets the timer. Earlier rounds must be done.
    pub(super) fn prepare(&mut self, request_batches: &[RequestBatch<'_>], times: Times) -> io::Result<()> {
        let answers: usize = request_batches.iter().map(|request_batch| request_batch.answers).sum();
        self.request_batches = request_batches
            .iter()
            .map(|request_batch| (request_batch.socket, request_batch.bytes.to_vec(), request_batch.answers))
            .collect();
        self.count = times.count;
        self.buffer.resize(times.count * answers * ANSWER_BYTES, 0);
        self.buffer.chunks_exact_mut(ANSWER_BYTES).for_each(|slot| slot[..LENGTH_BYTES].fill(0));
        let [first, period] =
            [times.first_ns, times.period_ns].map(|ns| TimeSpec::from_duration(Duration::from_nanos(ns)));
        Ok(self.clock.set(Expiration::IntervalDelayed(first, period), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }

    /// The chain, in order; all operations have this user data, and all but the last are silent on success.
    pub(super) fn chain(&mut self, word: u64) -> Vec<squeue::Entry> {
        let mut slots = self.buffer.chunks_exact_mut(ANSWER_BYTES);
        let size = u32::try_from(ANSWER_BYTES).expect("a page fits");
        let mut chain = Vec::new();
        for _ in 0..self.count {
            let clock = Fd(self.clock.as_fd().as_raw_fd());
            chain.push(opcode::Read::new(clock, (&raw mut *self.signals_sent).cast(), EXPIRATIONS_BYTES).build());
            for (socket, bytes, answers) in &self.request_batches {
                let length = u32::try_from(bytes.len()).expect("a batch is short");
                chain.push(opcode::Send::new(Fd(*socket), bytes.as_ptr(), length).build());
                chain.extend(slots.by_ref().take(*answers).map(|slot| {
                    let receive = opcode::Recv::new(Fd(*socket), slot.as_mut_ptr(), size);
                    receive.flags(libc::MSG_DONTWAIT | libc::MSG_TRUNC).build()
                }));
            }
        }
        let then = squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS;
        let last = chain.len() - 1;
        let flagged = chain.into_iter().enumerate();
        flagged.map(|(slot, entry)| if slot < last { entry.flags(then) } else { entry }.user_data(word)).collect()
    }

    /// Number of rounds with all their answers.
    pub fn done(&self) -> usize {
        (0..self.count)
            .take_while(|&round| self.answers(round).last().is_some_and(|(_, answer)| !answer.is_empty()))
            .count()
    }

    /// The answers of a round, each with the number of its batch; empty if missing or too long.
    pub fn answers(&self, round: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let request_batches = self.request_batches.iter().enumerate();
        let numbers = request_batches.flat_map(|(number, (_, _, answers))| std::iter::repeat_n(number, *answers));
        let each = self.buffer.len() / ANSWER_BYTES / self.count;
        numbers.zip(self.buffer.chunks_exact(ANSWER_BYTES).skip(round * each)).map(|(number, slot)| {
            // An answer is one message, which starts with its length.
            let length = u32::from_ne_bytes(slot[..LENGTH_BYTES].try_into().expect("four bytes")) as usize;
            (number, slot.get(..length).unwrap_or_default())
        })
    }
}

fn has_chained_timers(release: &str) -> bool {
    let mut numbers = release.split(|each: char| !each.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(10))
}

#[cfg(test)]
mod tests {
    use super::has_chained_timers;

    #[test]
    fn timers_are_chained_since_linux_6_10() {
        assert!(["6.10.0", "6.12.117+mine", "7.3.4", "10.0"].into_iter().all(has_chained_timers));
        assert!(!["6.1.192", "6.9.12", "5.15.0-91-generic", "odd"].into_iter().any(has_chained_timers));
    }
}
