//! Data of all senders: pages of one file, spliced into the sockets without copying.

use crate::error::{Attempt, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use socket2::Socket;
use std::os::fd::OwnedFd;

/// A file shared by all senders, so that queued data costs no memory.
pub struct Payload {
    file: OwnedFd,
}

/// Length of the payload: one call can fill the free space of any socket buffer.
const PAYLOAD_BYTES: usize = 4 << 20;

impl Payload {
    /// Creates the file, filled with zeros.
    pub fn new() -> Result<Self> {
        let file = memfd_create(c"payload", MFdFlags::MFD_CLOEXEC).attempt(|| "creating the payload".into())?;
        nix::unistd::ftruncate(&file, i64::try_from(PAYLOAD_BYTES).expect("4 MiB fits"))
            .attempt(|| "sizing the payload".into())?;
        Ok(Self { file })
    }

    /// Sends up to `most` bytes; returns how many, and whether the socket is full.
    pub fn send(&self, socket: &Socket, most: u64) -> nix::Result<(u64, bool)> {
        let count = usize::try_from(most).unwrap_or(usize::MAX).min(PAYLOAD_BYTES);
        let mut offset = 0;
        let sent = sendfile(socket, &self.file, Some(&mut offset), count)?;
        Ok((sent as u64, sent < count))
    }
}
