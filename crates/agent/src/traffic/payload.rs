//! What all senders send: pages of one file, spliced into the sockets, so that nothing is copied.

use crate::error::{Attempt, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile;
use socket2::Socket;
use std::os::fd::OwnedFd;

/// The pages that all senders send: shared, so that queued data costs no memory.
pub struct Payload {
    file: OwnedFd,
}

/// Length of the payload; long enough that one call fills any socket buffer's free part.
const PAYLOAD_BYTES: usize = 4 << 20;

impl Payload {
    /// Makes the file; its bytes are zero.
    pub fn new() -> Result<Self> {
        let file = memfd_create(c"payload", MFdFlags::MFD_CLOEXEC).attempt(|| "making the payload".into())?;
        nix::unistd::ftruncate(&file, i64::try_from(PAYLOAD_BYTES).expect("4 MiB fits"))
            .attempt(|| "sizing the payload".into())?;
        Ok(Self { file })
    }

    /// Sends up to `most` bytes, as many as the socket takes; and was that all it could take?
    pub fn send(&self, socket: &Socket, most: u64) -> nix::Result<(u64, bool)> {
        let count = usize::try_from(most).unwrap_or(usize::MAX).min(PAYLOAD_BYTES);
        let mut offset = 0;
        let sent = sendfile(socket, &self.file, Some(&mut offset), count)?;
        Ok((sent as u64, sent < count))
    }
}
