//! Waits for sockets and one timer.
//!
//! ```text
//! ring    io_uring: the fewest system calls
//! epoll   epoll and `timerfd`: for hosts that forbid `io_uring`, and kernels before 6.1
//! ```
//!
//! Both report the same events in the same order.

mod epoll;
mod ring;

use crate::error::{Attempt, Result};
use crate::sys::request_batch::RequestBatch;
use crate::sys::ring::refused;
use crate::sys::rounds::{Rounds, Times};
use std::os::fd::RawFd;

/// What a descriptor belongs to; the number is an index into the event loop's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    /// The event loop's timer.
    Timer,
    /// A listening socket.
    Listener(usize),
    /// The sender of a flow.
    Sender(usize),
    /// The receiver of a TCP flow.
    Receiver(usize),
    /// The receiver of a UDP flow.
    Sink(usize),
    /// The client end of a probe.
    Answer(usize),
    /// The server end of a probe.
    Arrival(usize),
    /// A program has exited.
    Ended(usize),
    /// A program's output: twice its index, plus one for standard error.
    Stream(usize),
    /// Sockets of a host with programs were destroyed.
    SocketsDestroyed(usize),
    /// Something on a host's part of the path has changed.
    Path(usize),
    /// The interactive shell has written a line.
    Word,
    /// The controlling process ends the experiment.
    Order,
    /// Prefetched rounds of requests are done.
    Rounds,
}

/// A descriptor is ready.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// Which one.
    pub token: Token,
    /// For rounds, the last request's result; for a receiver that the kernel reads, the last byte count (0 at EOF).
    pub taken: Option<nix::Result<usize>>,
    /// How many reads this event reports: more than one only after [`Poller::coalesce_reads`].
    pub times: u32,
}

/// All watched descriptors, edge-triggered, and the timer.
pub struct Poller {
    waiting: Waiting,
    timer_ns: Option<u64>,
}

#[expect(clippy::large_enum_variant, reason = "there is one per experiment")]
enum Waiting {
    Ring(ring::Waiting),
    Epoll(epoll::Waiting),
}

impl Poller {
    /// Uses `io_uring` if Linux allows it.
    pub fn open() -> Result<Self> {
        let waiting = match ring::Waiting::open() {
            Err(error) if refused(&error) => Waiting::Epoll(epoll::Waiting::open()?),
            ring => Waiting::Ring(ring.attempt(|| "creating an io_uring".into())?),
        };
        Ok(Self { waiting, timer_ns: None })
    }

    /// Adds a descriptor.
    pub fn watch(&mut self, descriptor: RawFd, token: Token) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => {
                ring.watch(descriptor, token);
                Ok(())
            }
            Waiting::Epoll(epoll) => epoll.watch(descriptor, token),
        }
    }

    /// From the next wait on, one event may report this many reads of a receiver, or fewer.
    ///
    /// An event costs a context switch; this avoids unnecessary ones.
    pub fn coalesce_reads(&mut self, token: Token, times: u32) {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.coalesce_reads(token, times),
            Waiting::Epoll(_) => {} // It does not read by itself.
        }
    }

    /// Starts prefetched rounds of requests; false if unsupported. Earlier rounds must be done.
    pub fn begin(&mut self, request_batches: &[RequestBatch<'_>], times: Times) -> Result<bool> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.begin(request_batches, times).map(|()| true),
            Waiting::Epoll(_) => Ok(false),
        }
    }

    /// Cancels the remaining rounds; [`Token::Rounds`] becomes ready soon.
    pub fn cancel_rounds(&mut self) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.cancel_rounds(),
            Waiting::Epoll(_) => Ok(()),
        }
    }

    /// The rounds that were started last.
    pub fn rounds(&self) -> Option<&Rounds> {
        match &self.waiting {
            Waiting::Ring(ring) => ring.rounds(),
            Waiting::Epoll(_) => None,
        }
    }

    /// Removes a descriptor that is closed now or before the next wait.
    pub fn remove(&mut self, token: Token) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.remove(token),
            Waiting::Epoll(_) => Ok(()), // Closing it removes it.
        }
    }

    /// Releases removed descriptors, so that they are really closed; the next wait does this, too.
    pub fn flush_removed(&mut self) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.flush_removed(),
            Waiting::Epoll(_) => Ok(()),
        }
    }

    /// Sets the timer to an absolute monotonic time.
    pub fn wake_at(&mut self, at_ns: u64) -> Result<()> {
        if self.timer_ns.replace(at_ns) == Some(at_ns) {
            return Ok(());
        }
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.wake_at(at_ns),
            Waiting::Epoll(epoll) => epoll.wake_at(at_ns),
        }
    }

    /// Sleeps until something is ready; may wake up spuriously.
    pub fn wait(&mut self, events_ready: &mut Vec<Readiness>) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.wait(events_ready)?,
            Waiting::Epoll(epoll) => epoll.wait(events_ready)?,
        }
        if events_ready.iter().any(|readiness| readiness.token == Token::Timer) {
            self.timer_ns = None;
        }
        Ok(())
    }
}

impl Token {
    /// Events to wait for, as poll(2) and epoll(7) number them.
    fn events(self) -> u32 {
        let events = libc::EPOLLIN | libc::EPOLLRDHUP;
        let events = if matches!(self, Self::Sender(_)) { events | libc::EPOLLOUT } else { events };
        events.cast_unsigned()
    }

    fn pack(self) -> u64 {
        let (kind, number) = match self {
            Self::Timer => (0, 0),
            Self::Listener(number) => (1, number),
            Self::Sender(number) => (2, number),
            Self::Receiver(number) => (3, number),
            Self::Sink(number) => (4, number),
            Self::Answer(number) => (5, number),
            Self::Arrival(number) => (6, number),
            Self::Ended(number) => (7, number),
            Self::Stream(number) => (8, number),
            Self::SocketsDestroyed(number) => (9, number),
            Self::Word => (10, 0),
            Self::Order => (11, 0),
            Self::Rounds => (12, 0),
            Self::Path(number) => (13, number),
        };
        (kind << 32) | number as u64
    }

    fn unpack(word: u64) -> Self {
        let number = usize::try_from(word & 0xffff_ffff).expect("32 bits");
        match word >> 32 {
            0 => Self::Timer,
            1 => Self::Listener(number),
            2 => Self::Sender(number),
            3 => Self::Receiver(number),
            4 => Self::Sink(number),
            5 => Self::Answer(number),
            6 => Self::Arrival(number),
            7 => Self::Ended(number),
            8 => Self::Stream(number),
            9 => Self::SocketsDestroyed(number),
            10 => Self::Word,
            11 => Self::Order,
            12 => Self::Rounds,
            13 => Self::Path(number),
            other => panic!("Linux returned an unknown token: {other}"),
        }
    }
}

#[cfg(test)]
mod tests;
