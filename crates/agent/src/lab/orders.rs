//! A lab that is one of several, each on its own machine: they begin at one moment, and some end when told.
//!
//! ```text
//! said here    ready          everything is set up, and listens
//! heard here   begin TIME     the moment, on this machine's monotonic clock, in nanoseconds
//!              anything more  it is over (for a router, which knows of no flow)
//! ```
//!
//! Who says so is `remote`; how the clocks of several machines are compared, `dumbbell.engine.remote.clock` knows.

use super::doors::Door;
use super::{Lab, Traffic};
use crate::error::{Attempt, Error, Result};
use crate::sys::{Clock, monotonic_ns};
use socket2::Socket;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

impl Lab<'_> {
    /// Says that it is ready; waits for the moment, and from then on for the order to end.
    pub(super) fn obey(&mut self, orders: &UnixStream) -> Result<Clock> {
        let mut speaking = orders;
        speaking.write_all(b"ready\n").attempt(|| "saying that all is ready".into())?;
        let mut line = String::new();
        // Nothing follows this line until the experiment runs, so reading ahead takes nothing away.
        BufReader::new(orders).read_line(&mut line).attempt(|| "waiting for the beginning".into())?;
        let start_ns =
            begin(&line).ok_or_else(|| Error::Unfit("the experiment was given up before it began".into()))?;
        if start_ns < monotonic_ns() {
            return Err(Error::Unfit("the order to begin came too late: the connection is too slow".into()));
        }
        self.doors.watch(orders.as_raw_fd(), Door::Order)?;
        Ok(Clock::starting_at(start_ns))
    }

    /// A connection at the port of a flow whose sender is on another machine; strangers' are closed by being dropped.
    pub(super) fn welcome(&mut self, number: usize, socket: Socket, from: SocketAddrV4) -> Result<()> {
        let Traffic::Tcp(flow) = &mut self.flows[number] else { unreachable!("UDP doesn't connect") };
        if !flow.awaits(from) {
            return Ok(());
        }
        self.doors.watch(socket.as_raw_fd(), Door::Receiver(number))?;
        flow.came(socket, from, self.clock.now_ns())?;
        self.sampler.changed();
        Ok(())
    }
}

fn begin(line: &str) -> Option<u64> {
    line.strip_prefix("begin ")?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_order_with_a_time_begins() {
        assert_eq!(begin("begin 12\n"), Some(12));
        for line in ["", "\n", "begin", "begin \n", "begin -1\n", "end 12\n"] {
            assert_eq!(begin(line), None, "{line:?}");
        }
    }
}
