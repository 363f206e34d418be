//! Programs read and write when they are woken. A program that reads locks its socket: what arrives then waits in the
//! socket's backlog.

use super::{World, parts};
use crate::event_queue::Kind;
use dumbbell_core::time::Span;

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
        self.instant.reading = self.instant.readers.pop_front();
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
        while let Some(packet) = self.instant.held.take() {
            self.deliver_segment(&packet);
        }
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            endpoint.set_backlog(0);
        }
    }

    /// A woken application continues writing.
    pub(super) fn write_on(&mut self, id: u32) {
        let [flow, side] = parts(id);
        if let Some(endpoint) = &mut self.ends[flow][side].endpoint {
            endpoint.continue_writing(self.now);
            self.flush(flow, side);
        }
    }
}

/// From an interrupt to a woken program: the guest's clock moves by a nanosecond when it is read outside an interrupt
/// (`timer_read`). So what programs send does not share an instant with what the interrupt sent.
const SWITCH: Span = Span::from_nanos(1);
