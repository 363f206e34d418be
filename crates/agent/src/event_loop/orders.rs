//! Synchronises event loops on several hosts: all start at the same time, and some end on request.
//!
//! ```text
//! written   ready          setup is complete and flows can connect
//! read      begin TIME     start time on this host's monotonic clock, in nanoseconds
//!           anything else  end now (for a router, which has no flows that could end)
//! ```
//!
//! `remote` holds the other end; `dumbbell.engines.remote_records` compares the clocks of the hosts.

use super::poller::Token;
use super::{EventLoop, Traffic};
use crate::error::{Attempt, Error, Result};
use crate::sys::{Clock, monotonic_ns};
use socket2::Socket;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

impl EventLoop<'_> {
    /// Reports that setup is complete and waits for the start time; afterwards watches for the order to end.
    pub(super) fn wait_for_start(&mut self, orders: &UnixStream) -> Result<Clock> {
        let mut control = orders;
        control.write_all(b"ready\n").attempt(|| "reporting that setup is complete".into())?;
        let mut line = String::new();
        // Nothing follows this line until the experiment runs, so the buffer holds no further input.
        BufReader::new(orders).read_line(&mut line).attempt(|| "waiting for the start time".into())?;
        let start_ns =
            begin(&line).ok_or_else(|| Error::Unfit("the experiment was cancelled before it started".into()))?;
        if start_ns < monotonic_ns() {
            return Err(Error::Unfit("the start time had passed when it arrived: the connection is too slow".into()));
        }
        self.poller.watch(orders.as_raw_fd(), Token::Order)?;
        Ok(Clock::starting_at(start_ns))
    }

    /// Accepts a connection for a flow whose sender is on another host; drops any other connection.
    pub(super) fn accept_remote_sender(&mut self, number: usize, socket: Socket, from: SocketAddr) -> Result<()> {
        let Traffic::Tcp(flow) = &mut self.flows[number] else { unreachable!("UDP doesn't connect") };
        if !flow.expects(from) {
            return Ok(());
        }
        self.poller.watch(socket.as_raw_fd(), Token::Receiver(number))?;
        flow.connected_from(socket, from, self.clock.now_ns())?;
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
    fn only_an_order_with_a_time_starts_the_experiment() {
        assert_eq!(begin("begin 12\n"), Some(12));
        for line in ["", "\n", "begin", "begin \n", "begin -1\n", "end 12\n"] {
            assert_eq!(begin(line), None, "{line:?}");
        }
    }
}
