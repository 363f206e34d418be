//! A batch of netlink requests for an `io_uring`.

use std::os::fd::RawFd;

/// Requests sent on one socket; each is answered by one datagram.
#[derive(Clone, Copy)]
pub struct RequestBatch<'a> {
    /// The socket.
    pub socket: RawFd,
    /// The requests, as one datagram.
    pub bytes: &'a [u8],
    /// Number of requests.
    pub answers: usize,
}
