//! What programs do with an endpoint: write, close and read. They run after the packets of an instant.

use super::Endpoint;
use crate::time::Time;

impl Endpoint {
    /// The application writes `bytes` more; `u64::MAX` means unlimited data, 0 ends unlimited data.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.wake(now).write(now, bytes);
    }

    /// The application has written everything: FIN follows the last byte.
    pub fn close(&mut self, now: Time) {
        self.closed = true;
        self.wake(now).close(now);
    }

    /// The application will read `bytes` in total, so that an infrequent reader does not wait for more than is left.
    pub fn expect(&mut self, bytes: u64) {
        self.receiver.expect(bytes);
    }

    /// Was this end's program woken to continue writing? Then call [`Endpoint::continue_writing`] after the packets of this
    /// instant are processed.
    #[must_use]
    pub fn wants_to_write(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.wants_to_write())
    }

    /// Was this end's program woken to read? True once; then call [`Endpoint::read`] after the packets of this instant
    /// are processed.
    #[must_use]
    #[inline]
    pub fn take_read_request(&mut self) -> bool {
        self.receiver.take_read_request()
    }

    /// This end's program reads everything. Returns whether that causes an ACK: then poll.
    pub fn read(&mut self, now: Time) -> bool {
        self.receiver.read(now)
    }

    /// The program releases the socket; its backlog takes this much memory until all of it is processed, then none.
    pub fn set_backlog(&mut self, memory: u32) {
        self.receiver.set_backlog(memory);
    }

    /// This end's program continues writing; poll afterwards.
    pub fn continue_writing(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.continue_writing(now);
        }
    }

    /// Has this end's program locked the socket to write? Then call [`Endpoint::continue_call`] when all that was polled
    /// has left its host.
    #[must_use]
    pub fn is_in_call(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.is_in_call())
    }

    /// This end's program has unlocked the socket, what waited for it is processed, and it continues its call; poll
    /// afterwards.
    pub fn continue_call(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.continue_call(now);
        }
    }
}
