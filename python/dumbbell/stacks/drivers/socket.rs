//! The socket and the clock of stacks that do no I/O themselves: one socket, one timer, SIGTERM.

use crate::common::failed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A socket that is waited on together with SIGTERM.
pub struct Socket {
    udp: UdpSocket,
    terminated: UnixStream,
}

impl Socket {
    /// A server's.
    pub fn bind(at: SocketAddr) -> Self {
        let udp = UdpSocket::bind(at).unwrap_or_else(|problem| failed("--listen", problem));
        udp.set_nonblocking(true).unwrap_or_else(|problem| failed("socket", problem));
        let (terminated, notified) = UnixStream::pair().unwrap_or_else(|problem| failed("socket", problem));
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, notified)
            .unwrap_or_else(|problem| failed("SIGTERM", problem));
        Self { udp, terminated }
    }

    /// A client's, which sends from the address that reaches the server.
    pub fn towards(server: SocketAddr) -> Self {
        let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let route =
            UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(server).and_then(|()| socket.local_addr()));
        Self::bind(SocketAddr::new(route.unwrap_or_else(|problem| failed("--connect", problem)).ip(), 0))
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.udp.local_addr().unwrap_or_else(|problem| failed("socket", problem))
    }

    /// Waits for a datagram, at most so long; false after SIGTERM.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut polled = [PollFd::new(&self.udp, PollFlags::IN), PollFd::new(&self.terminated, PollFlags::IN)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => polled[1].revents().is_empty(),
            Err(Errno::INTR) => true,
            Err(problem) => failed("poll", problem),
        }
    }

    /// The next datagram, if one is there.
    pub fn receive(&self, space: &mut [u8]) -> Option<(usize, SocketAddr)> {
        loop {
            match self.udp.recv_from(space) {
                Ok(received) => return Some(received),
                Err(problem) if problem.kind() == ErrorKind::WouldBlock => return None,
                // The answer to an earlier datagram, such as port unreachable.
                Err(problem) if matches!(problem.kind(), ErrorKind::ConnectionRefused | ErrorKind::Interrupted) => {}
                Err(problem) => failed("recvfrom", problem),
            }
        }
    }

    /// Sends a datagram; waits while the socket's buffer is full.
    pub fn send(&self, datagram: &[u8], to: SocketAddr) {
        loop {
            match self.udp.send_to(datagram, to) {
                Err(problem) if problem.kind() == ErrorKind::WouldBlock => {
                    let _ = poll(&mut [PollFd::new(&self.udp, PollFlags::OUT)], None);
                }
                Err(problem) if matches!(problem.kind(), ErrorKind::ConnectionRefused | ErrorKind::Interrupted) => {}
                // Like a datagram that the network loses: the stack sends again.
                _ => return,
            }
        }
    }
}
