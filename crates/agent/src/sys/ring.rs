//! An `io_uring` as a lab uses one: things to wait for, and errands done at once.
//!
//! Needs Linux 6.1 (`DEFER_TASKRUN`): completions are worked off only inside the call that
//! waits, so nothing interrupts the lab. What an event means is the caller's affair, and so is
//! which descriptors stay open: a request under way keeps its socket alive until [`Ring::cancel`].

use super::letter::Letter;
use super::rounds::{Rounds, Times};
use io_uring::types::{Fd, TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io;
use std::os::fd::RawFd;

/// `IORING_RECVSEND_POLL_FIRST`: wait for the socket before the first attempt.
const POLL_FIRST: u16 = 1;
/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;
/// Events with this word concern nobody.
const NOBODY: u64 = u64::MAX;
const WAITABLE: &str = "a ring with requests under way can be waited for";

/// A ring and the time that its alarm is set to.
pub struct Ring {
    ring: IoUring,
    /// Read by the kernel when the request is submitted, so it needs a fixed place.
    alarm: Box<Timespec>,
}

/// One completion.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Given with the request.
    pub word: u64,
    /// What a system call would have returned: a number, or a negative errno.
    pub result: i32,
    /// Will the request bring further events?
    pub more: bool,
}

impl Ring {
    /// Makes a ring for so many requests a call and so many events between two calls.
    pub fn open(requests: u32, events: u32) -> io::Result<Self> {
        let ring =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_cqsize(events).build(requests)?;
        Ok(Self { ring, alarm: Box::new(Timespec::new()) })
    }

    /// Tells of every edge at which a descriptor becomes ready for `events` (as poll(2) has them).
    pub fn watch(&mut self, descriptor: RawFd, events: u32, word: u64) -> io::Result<()> {
        self.push(&opcode::PollAdd::new(Fd(descriptor), events).multi(true).build().user_data(word))
    }

    /// Throws away what a TCP socket has, each time that it is worth waking for; one event tells how much the last of
    /// so many times, or the first that failed.
    pub fn discard(&mut self, socket: RawFd, most: u32, times: u32, word: u64) -> io::Result<()> {
        self.make_room(times)?;
        for left in (0..times).rev() {
            // With MSG_TRUNC TCP never writes to the buffer (tcp(7)), so a null one is sound.
            let receive = opcode::Recv::new(Fd(socket), std::ptr::null_mut(), most);
            let entry = receive.flags(libc::MSG_TRUNC).ioprio(POLL_FIRST).build().user_data(word);
            let then = squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS;
            self.push(&if left > 0 { entry.flags(then) } else { entry })?;
        }
        Ok(())
    }

    /// Sets the alarm to an absolute monotonic time; `again` if it has been set and not gone off.
    pub fn alarm(&mut self, at_ns: u64, again: bool, word: u64) -> io::Result<()> {
        let nanoseconds = u32::try_from(at_ns % 1_000_000_000).expect("less than a second");
        *self.alarm = Timespec::new().sec(at_ns / 1_000_000_000).nsec(nanoseconds);
        let entry = if again {
            let update = opcode::TimeoutUpdate::new(word, &raw const *self.alarm).flags(TimeoutFlags::ABS).build();
            // It fails when the alarm has just gone off, and then there is nothing to set.
            update.flags(squeue::Flags::SKIP_SUCCESS).user_data(NOBODY)
        } else {
            opcode::Timeout::new(&raw const *self.alarm).flags(TimeoutFlags::ABS).build().user_data(word)
        };
        self.push(&entry)
    }

    /// Ends a request; from the next call on it holds its socket no longer.
    pub fn cancel(&mut self, word: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(word).build();
        self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(NOBODY))
    }

    /// Begins rounds, which must not be dropped before their one event has come.
    pub fn begin(&mut self, rounds: &mut Rounds, letters: &[Letter<'_>], times: Times, word: u64) -> io::Result<()> {
        rounds.prepare(letters, times)?;
        let chain = rounds.chain(word);
        self.make_room(u32::try_from(chain.len()).expect("a chain is short"))?;
        chain.iter().try_for_each(|entry| self.push(entry))
    }

    /// Sleeps until something happens and hands each event over.
    pub fn wait(&mut self, hear: impl FnMut(Event)) -> io::Result<()> {
        uninterrupted(|| self.ring.submit_and_wait(1))?;
        self.collect(hear);
        Ok(())
    }

    /// Carries out what was asked for, cancellations too, without sleeping; events are dropped.
    pub fn settle(&mut self) -> io::Result<()> {
        let count = u32::try_from(self.ring.submission().len()).expect("the ring is small");
        // SAFETY: without an argument the call reads nothing but the ring's own entries, and
        // each of those was pushed under the promise of `push`.
        uninterrupted(|| unsafe { self.ring.submitter().enter::<()>(count, 0, GET_EVENTS, None) })?;
        self.collect(|_| ());
        Ok(())
    }

    /// Sends all letters and receives all answers, with one system call.
    ///
    /// The answers come into `room`, one for each `size` bytes, letter by letter; `lengths` says
    /// how long each is, or with a negative errno that there is none. Requests are attempted in
    /// the order of submission, and netlink answers while it is being asked: so each attempt to
    /// receive finds its answer, and because of `MSG_DONTWAIT` none can be finished later than,
    /// and thus swapped with, another. It can't fail: the kernel may write to `room` until all
    /// is done, so that to give up halfway would not be sound.
    pub fn exchange(&mut self, letters: &[Letter<'_>], room: &mut [u8], size: usize, lengths: &mut Vec<i32>) {
        let mut places = room.chunks_exact_mut(size);
        lengths.clear();
        for letter in letters {
            let length = u32::try_from(letter.bytes.len()).expect("a letter is short");
            let send = opcode::Send::new(Fd(letter.socket), letter.bytes.as_ptr(), length).build();
            self.push(&send.user_data(NOBODY)).expect(WAITABLE);
            for place in places.by_ref().take(letter.answers) {
                let size = u32::try_from(place.len()).expect("a datagram is short");
                let receive = opcode::Recv::new(Fd(letter.socket), place.as_mut_ptr(), size)
                    .flags(libc::MSG_DONTWAIT | libc::MSG_TRUNC)
                    .build();
                self.push(&receive.user_data(lengths.len() as u64)).expect(WAITABLE);
                lengths.push(-libc::ENODATA);
            }
        }
        let mut missing = letters.len() + lengths.len();
        while missing > 0 {
            uninterrupted(|| self.ring.submit_and_wait(missing)).expect(WAITABLE);
            self.collect(|event| {
                missing -= 1;
                if let Some(length) = usize::try_from(event.word).ok().and_then(|place| lengths.get_mut(place)) {
                    *length = event.result;
                }
            });
        }
    }

    /// Links hold only among requests that are submitted together.
    fn make_room(&mut self, requests: u32) -> io::Result<()> {
        let queue = self.ring.submission();
        if queue.capacity() - queue.len() < requests as usize {
            drop(queue);
            uninterrupted(|| self.ring.submit())?;
        }
        Ok(())
    }

    fn collect(&mut self, mut hear: impl FnMut(Event)) {
        for entry in self.ring.completion() {
            hear(Event { word: entry.user_data(), result: entry.result(), more: cqueue::more(entry.flags()) });
        }
    }

    /// Queues a request for the next call.
    ///
    /// Its descriptor is looked at in that call; what it points to is the alarm, nothing, or in
    /// `exchange` memory that is borrowed until the request is done, in `begin` what the rounds own.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: every caller keeps what the entry points to as said above.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            uninterrupted(|| self.ring.submit())?;
        }
        Ok(())
    }
}

impl Event {
    /// Is it for somebody?
    pub fn matters(&self) -> bool {
        self.word != NOBODY
    }

    /// Is it only the end of a request that was given up?
    pub fn is_cancelled(&self) -> bool {
        self.result == -libc::ECANCELED
    }
}

/// Is there no `io_uring` of the kind that this module needs: none, forbidden, or too old?
pub fn refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EACCES | libc::EINVAL))
}

fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
