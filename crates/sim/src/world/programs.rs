//! Programs read and write when they are woken. A program that reads or writes locks its socket: what arrives then waits
//! in the socket's backlog.

use super::{World, end_id, parts};
use crate::error::Error;
use crate::event_queue::Kind;
use dumbbell_net::time::Span;

impl World {
    /// Woken programs run after the interrupt: at once if nothing happens until then, else by an event.
    #[inline]
    pub(super) fn must_wait_for_program(&mut self) -> bool {
        let at = self.now + SWITCH;
        if !self.instant.program_is_due && self.event_queue.is_quiet_until(at) {
            (self.now, self.instant.in_process) = (at, true);
            self.run_programs();
            return false;
        }
        if !self.instant.program_is_due {
            self.instant.program_is_due = true;
            self.event_queue.add(at, Kind::Program, 0);
        }
        true
    }

    /// The first program locks its socket.
    pub(super) fn run_programs(&mut self) {
        self.instant.program_is_due = false;
        self.instant.locked = self.instant.readers.pop_front();
    }

    /// A woken application reads.
    pub(super) fn read(&mut self, id: u32) {
        let [flow, side] = parts(id);
        let has_backlog = self.instant.held.memory() > 0;
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            if has_backlog {
                endpoint.set_backlog(self.instant.held.memory());
            }
            let must_ack = endpoint.read(self.now);
            // Without an ACK the timers stay as they are.
            if must_ack || self.ends[flow][side].shut {
                self.flush(flow, side);
            }
            self.check_endpoint(flow, side);
        }
        if has_backlog {
            self.release_socket(flow, side);
        }
    }

    /// Processes what arrived while the socket was locked (`__release_sock`).
    fn release_socket(&mut self, flow: usize, side: usize) {
        self.instant.is_releasing = true;
        while let Some(packet) = self.instant.held.take() {
            self.deliver_segment(&packet);
        }
        self.instant.is_releasing = false;
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            endpoint.set_backlog(0);
        }
    }

    /// A woken application continues writing. The guest's clock moves when the first data leave, so an interrupt of this
    /// time finds the socket locked.
    pub(super) fn write_on(&mut self, id: u32) -> Result<(), Error> {
        let [flow, side] = parts(id);
        let is_woken = self.ends[flow][side].endpoint.as_ref().is_some_and(|endpoint| endpoint.wants_to_write());
        if self.instant.in_process && is_woken {
            self.instant.locked = Some(id);
            self.interrupt()?;
            self.instant.locked = None;
        }
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            endpoint.continue_writing(self.now);
            self.flush(flow, side);
        }
        self.lock(flow, side);
        Ok(())
    }

    /// A program that writes has its socket locked until all that it has sent has left.
    pub(super) fn lock(&mut self, flow: usize, side: usize) {
        if self.ends[flow][side].endpoint.as_ref().is_some_and(|endpoint| endpoint.is_in_call()) {
            self.instant.writing = Some(end_id(flow, side));
        }
    }

    /// A program that writes unlocks its socket, and continues.
    pub(super) fn unlock(&mut self, id: u32) {
        let [flow, side] = parts(id);
        self.release_socket(flow, side);
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            endpoint.continue_call(self.now);
            self.flush(flow, side);
        }
        self.lock(flow, side);
    }

    /// The interrupts of this time, and what they deliver.
    fn interrupt(&mut self) -> Result<(), Error> {
        while let Some(event) = self.event_queue.take_interrupt(self.now) {
            self.advance(event.at)?;
            self.act(event)?;
        }
        while !self.instant.backlog.is_empty() {
            self.process_backlog()?;
            self.step()?;
        }
        Ok(())
    }
}

/// From an interrupt to a woken program: the guest's clock moves by a nanosecond when it is read outside an interrupt
/// (`timer_read`). So what programs send does not share an instant with what the interrupt sent.
const SWITCH: Span = Span::from_nanos(1);
