//! What the lab waits for: sockets and one timer.
//!
//! ```text
//! ring    by io_uring: the fewest system calls
//! epoll   by epoll and `timerfd`: for hosts that forbid `io_uring`, and kernels before 6.1
//! ```
//!
//! Both tell the same in the same order. What a knock leads to is the lab's affair.

mod epoll;
mod ring;

use crate::error::{Attempt, Result};
use crate::sys::letter::Letter;
use crate::sys::ring::refused;
use crate::sys::rounds::{Rounds, Times};
use std::os::fd::RawFd;

/// Who is behind a descriptor; the number is a position in the lab's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Door {
    /// The lab's timer.
    Timer,
    /// A listening socket.
    Listener(usize),
    /// The sending end of a flow.
    Sender(usize),
    /// The receiving end of a TCP flow.
    Receiver(usize),
    /// The receiving end of a UDP flow.
    Sink(usize),
    /// The asking end of a probe.
    Answer(usize),
    /// The listening end of a probe.
    Arrival(usize),
    /// The end of a program.
    Ended(usize),
    /// What a program says: twice its number, and one more for standard error.
    Stream(usize),
    /// Sockets of a host with programs are gone.
    Gone(usize),
    /// Somebody has changed something of a host's part of the path.
    Path(usize),
    /// A person's shell has said something.
    Word,
    /// Whoever began the experiment says that it is over.
    Order,
    /// Rounds of questions are over.
    Rounds,
}

/// Something has happened at a door.
#[derive(Clone, Copy, Debug)]
pub struct Knock {
    /// Where.
    pub door: Door,
    /// For rounds what the last request returned; for a receiver whose bytes have been thrown away already: how many at last, 0 at the stream's end.
    pub taken: Option<nix::Result<usize>>,
    /// How often the door has been opened since its last knock: more than once only where [`Doors::knock_after`] said so.
    pub times: u32,
}

/// All descriptors that the lab waits for, edge-triggered, and its timer.
pub struct Doors {
    waiting: Waiting,
    armed_ns: Option<u64>,
}

#[expect(clippy::large_enum_variant, reason = "there is one in a lab")]
enum Waiting {
    Ring(ring::Waiting),
    Epoll(epoll::Waiting),
}

impl Doors {
    /// By `io_uring` if Linux allows it.
    pub fn open() -> Result<Self> {
        let waiting = match ring::Waiting::open() {
            Err(error) if refused(&error) => Waiting::Epoll(epoll::Waiting::open()?),
            ring => Waiting::Ring(ring.attempt(|| "making an io_uring".into())?),
        };
        Ok(Self { waiting, armed_ns: None })
    }

    /// Waits for a descriptor too.
    pub fn watch(&mut self, descriptor: RawFd, door: Door) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => {
                ring.watch(descriptor, door);
                Ok(())
            }
            Waiting::Epoll(epoll) => epoll.watch(descriptor, door),
        }
    }

    /// From its next wait on, a receiver may be emptied so often before it knocks. It may knock earlier.
    ///
    /// A knock is a switch between processes; what nobody has to hear of needs none.
    pub fn knock_after(&mut self, door: Door, times: u32) {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.knock_after(door, times),
            Waiting::Epoll(_) => {} // It empties nothing by itself.
        }
    }

    /// Lets rounds of questions be asked while the lab sleeps; false where that can't be. The last rounds must be over.
    pub fn begin(&mut self, letters: &[Letter<'_>], times: Times) -> Result<bool> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.begin(letters, times).map(|()| true),
            Waiting::Epoll(_) => Ok(false),
        }
    }

    /// Asks no further round; they knock soon, if they have not already.
    pub fn recall(&mut self) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.recall(),
            Waiting::Epoll(_) => Ok(()),
        }
    }

    /// The rounds that were begun last.
    pub fn rounds(&self) -> Option<&Rounds> {
        match &self.waiting {
            Waiting::Ring(ring) => ring.rounds(),
            Waiting::Epoll(_) => None,
        }
    }

    /// The descriptor has been closed, or will be before the next wait.
    pub fn forget(&mut self, door: Door) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.forget(door),
            Waiting::Epoll(_) => Ok(()), // Closing was all.
        }
    }

    /// What is forgotten is really closed when this returns; the next wait does it too.
    pub fn settle(&mut self) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.settle(),
            Waiting::Epoll(_) => Ok(()),
        }
    }

    /// Sets the timer to an absolute monotonic time.
    pub fn wake_at(&mut self, at_ns: u64) -> Result<()> {
        if self.armed_ns.replace(at_ns) == Some(at_ns) {
            return Ok(());
        }
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.wake_at(at_ns),
            Waiting::Epoll(epoll) => epoll.wake_at(at_ns),
        }
    }

    /// Sleeps until something happens; now and then it wakes for nothing.
    pub fn wait(&mut self, knocks: &mut Vec<Knock>) -> Result<()> {
        match &mut self.waiting {
            Waiting::Ring(ring) => ring.wait(knocks)?,
            Waiting::Epoll(epoll) => epoll.wait(knocks)?,
        }
        if knocks.iter().any(|knock| knock.door == Door::Timer) {
            self.armed_ns = None;
        }
        Ok(())
    }
}

impl Door {
    /// What to wait for, as poll(2) and epoll(7) number it.
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
            Self::Gone(number) => (9, number),
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
            9 => Self::Gone(number),
            10 => Self::Word,
            11 => Self::Order,
            12 => Self::Rounds,
            13 => Self::Path(number),
            other => panic!("Linux returned a door that was never packed: {other}"),
        }
    }
}

#[cfg(test)]
mod tests;
