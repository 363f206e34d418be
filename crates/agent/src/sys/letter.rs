//! What a ring is given to send: requests, and how many answers they want. What they ask is the caller's affair.

use std::os::fd::RawFd;

/// Requests that go out by one socket, each to be answered by one datagram.
#[derive(Clone, Copy)]
pub struct Letter<'a> {
    /// The socket.
    pub socket: RawFd,
    /// The requests, as one datagram.
    pub bytes: &'a [u8],
    /// How many they are.
    pub answers: usize,
}
