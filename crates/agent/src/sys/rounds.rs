//! Questions that a ring asks again and again by itself, each time that a clock strikes.
//!
//! A round is a chain of requests: read the clock, then for each letter send it and receive its answers, into places of
//! the round's own. The kernel walks from one to the next without waking anybody; the last answer of the last round is
//! the one event, or the first request that failed. What is asked, and what answers mean, is the caller's affair.

use super::letter::Letter;
use io_uring::types::Fd;
use io_uring::{opcode, squeue};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

/// Room for one answer: one message, of which the longest seen has 900 bytes.
const ANSWER_BYTES: usize = 4096;
/// `nlmsg_len`, with which an answer begins.
const LENGTH_BYTES: usize = 4;
/// Requests of one chain.
const MOST_REQUESTS: usize = 512;
/// What the clock says when it is read: how often it has struck.
const STRIKES_BYTES: u32 = 8;

/// When the rounds are, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The first.
    pub first_ns: u64,
    /// From one to the next.
    pub period_ns: u64,
    /// How many.
    pub count: usize,
}

/// Rounds to come, under way or done. All that the kernel reads and writes is owned here, at a fixed place.
pub struct Rounds {
    clock: TimerFd,
    strikes: Box<u64>,
    letters: Vec<(RawFd, Vec<u8>, usize)>,
    room: Vec<u8>,
    count: usize,
}

impl Rounds {
    /// How many rounds of these letters one chain can hold.
    pub fn most(letters: &[Letter<'_>]) -> usize {
        MOST_REQUESTS / (1 + letters.iter().map(|letter| 1 + letter.answers).sum::<usize>())
    }

    /// None yet.
    pub fn open() -> io::Result<Self> {
        let clock = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        Ok(Self { clock, strikes: Box::new(0), letters: Vec::new(), room: Vec::new(), count: 0 })
    }

    /// Sets the clock. The last rounds must be over.
    pub(super) fn prepare(&mut self, letters: &[Letter<'_>], times: Times) -> io::Result<()> {
        let answers: usize = letters.iter().map(|letter| letter.answers).sum();
        self.letters = letters.iter().map(|letter| (letter.socket, letter.bytes.to_vec(), letter.answers)).collect();
        self.count = times.count;
        self.room.resize(times.count * answers * ANSWER_BYTES, 0);
        self.room.chunks_exact_mut(ANSWER_BYTES).for_each(|place| place[..LENGTH_BYTES].fill(0));
        let [first, period] =
            [times.first_ns, times.period_ns].map(|ns| TimeSpec::from_duration(Duration::from_nanos(ns)));
        Ok(self.clock.set(Expiration::IntervalDelayed(first, period), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }

    /// The chain, in order; every request has this word, and all but the last are silent when they succeed.
    pub(super) fn chain(&mut self, word: u64) -> Vec<squeue::Entry> {
        let mut places = self.room.chunks_exact_mut(ANSWER_BYTES);
        let size = u32::try_from(ANSWER_BYTES).expect("a page fits");
        let mut chain = Vec::new();
        for _ in 0..self.count {
            let clock = Fd(self.clock.as_fd().as_raw_fd());
            chain.push(opcode::Read::new(clock, (&raw mut *self.strikes).cast(), STRIKES_BYTES).build());
            for (socket, bytes, answers) in &self.letters {
                let length = u32::try_from(bytes.len()).expect("a letter is short");
                chain.push(opcode::Send::new(Fd(*socket), bytes.as_ptr(), length).build());
                chain.extend(places.by_ref().take(*answers).map(|place| {
                    let receive = opcode::Recv::new(Fd(*socket), place.as_mut_ptr(), size);
                    receive.flags(libc::MSG_DONTWAIT | libc::MSG_TRUNC).build()
                }));
            }
        }
        let then = squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS;
        let last = chain.len() - 1;
        let flagged = chain.into_iter().enumerate();
        flagged.map(|(place, entry)| if place < last { entry.flags(then) } else { entry }.user_data(word)).collect()
    }

    /// How many rounds have all their answers.
    pub fn done(&self) -> usize {
        (0..self.count)
            .take_while(|&round| self.answers(round).last().is_some_and(|(_, answer)| !answer.is_empty()))
            .count()
    }

    /// The answers of a round, each with the number of its letter; one that has not come, or was too long, is empty.
    pub fn answers(&self, round: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let letters = self.letters.iter().enumerate();
        let numbers = letters.flat_map(|(number, (_, _, answers))| std::iter::repeat_n(number, *answers));
        let each = self.room.len() / ANSWER_BYTES / self.count;
        numbers.zip(self.room.chunks_exact(ANSWER_BYTES).skip(round * each)).map(|(number, place)| {
            // An answer is one message, and says how long it is.
            let length = u32::from_ne_bytes(place[..LENGTH_BYTES].try_into().expect("four bytes")) as usize;
            (number, place.get(..length).unwrap_or_default())
        })
    }
}
