//! An `io_uring` for waiting and for batched requests.
//!
//! Needs Linux 6.1 (`DEFER_TASKRUN`): completions are processed only inside the call that
//! waits, so nothing interrupts the event loop. A pending request keeps its socket open until
//! [`Ring::cancel`].

use super::request_batch::RequestBatch;
use super::rounds::{Rounds, Times};
use io_uring::types::{Fd, TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io;
use std::os::fd::RawFd;

/// `IORING_RECVSEND_POLL_FIRST`: poll the socket before the first attempt.
const POLL_FIRST: u16 = 1;
/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;
/// User data of requests whose completions are ignored.
const IGNORED: u64 = u64::MAX;
const WAITABLE: &str = "a ring with pending requests can be waited for";

/// A ring and the time its timer is set to.
pub struct Ring {
    ring: IoUring,
    /// Read by the kernel when the request is submitted, so its address must be stable.
    set_timer: Box<Timespec>,
}

/// One completion.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// User data of the request.
    pub word: u64,
    /// Result of the operation: a number, or a negative errno.
    pub result: i32,
    /// Will the request produce further completions?
    pub more: bool,
}

impl Ring {
    /// Creates a ring with this many submission and completion queue entries.
    pub fn open(requests: u32, events: u32) -> io::Result<Self> {
        let ring =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_cqsize(events).build(requests)?;
        Ok(Self { ring, set_timer: Box::new(Timespec::new()) })
    }

    /// Reports each edge at which a descriptor becomes ready for `events` (as in poll(2)).
    pub fn watch(&mut self, descriptor: RawFd, events: u32, word: u64) -> io::Result<()> {
        self.push(&opcode::PollAdd::new(Fd(descriptor), events).multi(true).build().user_data(word))
    }

    /// Discards a TCP socket's data whenever `SO_RCVLOWAT` is reached; one completion reports the last of `times`
    /// reads, or the first that failed.
    pub fn discard(&mut self, socket: RawFd, most: u32, times: u32, word: u64) -> io::Result<()> {
        self.reserve(times)?;
        for left in (0..times).rev() {
            // With MSG_TRUNC TCP never writes to the buffer (tcp(7)), so a null one is sound.
            let receive = opcode::Recv::new(Fd(socket), std::ptr::null_mut(), most);
            let entry = receive.flags(libc::MSG_TRUNC).ioprio(POLL_FIRST).build().user_data(word);
            let then = squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS;
            self.push(&if left > 0 { entry.flags(then) } else { entry })?;
        }
        Ok(())
    }

    /// Sets the timer to an absolute monotonic time; `is_set` if it is set and has not fired.
    pub fn set_timer(&mut self, at_ns: u64, is_set: bool, word: u64) -> io::Result<()> {
        let nanoseconds = u32::try_from(at_ns % 1_000_000_000).expect("less than a second");
        *self.set_timer = Timespec::new().sec(at_ns / 1_000_000_000).nsec(nanoseconds);
        let entry = if is_set {
            let update = opcode::TimeoutUpdate::new(word, &raw const *self.set_timer).flags(TimeoutFlags::ABS).build();
            // The update fails if the timer has just fired; then a new one is set.
            update.flags(squeue::Flags::SKIP_SUCCESS).user_data(IGNORED)
        } else {
            opcode::Timeout::new(&raw const *self.set_timer).flags(TimeoutFlags::ABS).build().user_data(word)
        };
        self.push(&entry)
    }

    /// Cancels a request; from the next call on it no longer keeps its socket open.
    pub fn cancel(&mut self, word: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(word).build();
        self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(IGNORED))
    }

    /// Starts rounds, which must not be dropped before their completion.
    pub fn begin(
        &mut self,
        rounds: &mut Rounds,
        request_batches: &[RequestBatch<'_>],
        times: Times,
        word: u64,
    ) -> io::Result<()> {
        rounds.prepare(request_batches, times)?;
        let chain = rounds.chain(word);
        self.reserve(u32::try_from(chain.len()).expect("a chain is short"))?;
        chain.iter().try_for_each(|entry| self.push(entry))
    }

    /// Sleeps until something completes; calls back for each completion.
    pub fn wait(&mut self, on_completion: impl FnMut(Event)) -> io::Result<()> {
        uninterrupted(|| self.ring.submit_and_wait(1))?;
        self.collect(on_completion);
        Ok(())
    }

    /// Submits everything pending, including cancellations, without sleeping; drops completions.
    pub fn submit_pending(&mut self) -> io::Result<()> {
        let count = u32::try_from(self.ring.submission().len()).expect("the ring is small");
        // SAFETY: without an argument the call reads nothing but the ring's own entries, and
        // each of those was pushed under the conditions of `push`.
        uninterrupted(|| unsafe { self.ring.submitter().enter::<()>(count, 0, GET_EVENTS, None) })?;
        self.collect(|_| ());
        Ok(())
    }

    /// Sends all batches and receives all answers with one system call.
    ///
    /// The answers are stored in `buffers`, `size` bytes each, batch by batch; `lengths` holds
    /// the length of each, or a negative errno. The kernel attempts requests in the order of
    /// submission, and netlink answers during the send: each receive finds its answer, and
    /// because of `MSG_DONTWAIT` none can complete after, and thus be swapped with, another.
    /// It can't fail: the kernel may write to `buffers` until all requests are done, so returning
    /// early would be unsound.
    pub fn exchange(
        &mut self,
        request_batches: &[RequestBatch<'_>],
        buffers: &mut [u8],
        size: usize,
        lengths: &mut Vec<i32>,
    ) {
        let mut slots = buffers.chunks_exact_mut(size);
        lengths.clear();
        for request_batch in request_batches {
            let length = u32::try_from(request_batch.bytes.len()).expect("a batch is short");
            let send = opcode::Send::new(Fd(request_batch.socket), request_batch.bytes.as_ptr(), length).build();
            self.push(&send.user_data(IGNORED)).expect(WAITABLE);
            for slot in slots.by_ref().take(request_batch.answers) {
                let size = u32::try_from(slot.len()).expect("a datagram is short");
                let receive = opcode::Recv::new(Fd(request_batch.socket), slot.as_mut_ptr(), size)
                    .flags(libc::MSG_DONTWAIT | libc::MSG_TRUNC)
                    .build();
                self.push(&receive.user_data(lengths.len() as u64)).expect(WAITABLE);
                lengths.push(-libc::ENODATA);
            }
        }
        let mut missing = request_batches.len() + lengths.len();
        while missing > 0 {
            uninterrupted(|| self.ring.submit_and_wait(missing)).expect(WAITABLE);
            self.collect(|event| {
                missing -= 1;
                if let Some(length) = usize::try_from(event.word).ok().and_then(|slot| lengths.get_mut(slot)) {
                    *length = event.result;
                }
            });
        }
    }

    /// Linked requests must be submitted together.
    fn reserve(&mut self, requests: u32) -> io::Result<()> {
        let queue = self.ring.submission();
        if queue.capacity() - queue.len() < requests as usize {
            drop(queue);
            uninterrupted(|| self.ring.submit())?;
        }
        Ok(())
    }

    fn collect(&mut self, mut on_completion: impl FnMut(Event)) {
        for entry in self.ring.completion() {
            on_completion(Event { word: entry.user_data(), result: entry.result(), more: cqueue::more(entry.flags()) });
        }
    }

    /// Queues a request for the next call.
    ///
    /// The kernel resolves its descriptor in that call. Pointers refer to the timer, to nothing, in
    /// `exchange` to memory borrowed until the request is done, or in `begin` to the rounds' buffers.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: every caller keeps the entry's pointers valid as stated above.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            uninterrupted(|| self.ring.submit())?;
        }
        Ok(())
    }
}

impl Event {
    /// Should the caller see it?
    pub fn is_visible(&self) -> bool {
        self.word != IGNORED
    }

    /// Was the request cancelled?
    pub fn is_cancelled(&self) -> bool {
        self.result == -libc::ECANCELED
    }
}

/// Is `io_uring` missing, forbidden, or too old for this module?
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
