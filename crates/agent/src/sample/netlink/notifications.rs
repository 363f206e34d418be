//! Unsolicited netlink messages, and which senders a socket accepts.

use super::{Answer, DUMP_BYTES, Netlink, messages};
use crate::error::{Attempt, Result};
use crate::sys;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, NetlinkAddr, bind, connect, getsockname, recv};
use std::os::fd::{AsRawFd, RawFd};

/// `RTM_NEWQDISC`.
const NEW_QDISC: u16 = 36;

impl Netlink {
    /// Joins multicast groups: bit 0 is group 1.
    pub fn join(&self, groups: u32) -> Result<()> {
        self.join_at(0, groups)
    }

    /// The same for a socket bound to this port.
    pub fn join_at(&self, port: u32, groups: u32) -> Result<()> {
        bind(self.descriptor(), &NetlinkAddr::new(port, groups)).attempt(|| "joining netlink groups".into())
    }

    /// Descriptor to wait for.
    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The port; 0 before the first request, when Linux chooses one.
    pub fn port(&self) -> Result<u32> {
        let address = getsockname::<NetlinkAddr>(self.descriptor()).attempt(|| "reading a netlink port".into())?;
        Ok(address.pid())
    }

    /// Accepts only messages from the kernel. The socket needs a port; without one it can't be sent to.
    ///
    /// A program with root in its host may send to any port there. A socket that is connected to the kernel (port 0)
    /// refuses all other senders (`netlink_getsockbyportid`, `net/netlink/af_netlink.c`).
    pub fn accept_only_kernel(&self) -> Result<()> {
        if !self.is_guarded.get() && self.port()? != 0 {
            connect(self.descriptor(), &NetlinkAddr::new(0, 0))
                .attempt(|| "connecting netlink to the kernel".into())?;
            self.is_guarded.set(true);
        }
        Ok(())
    }

    /// Linux also multicasts the answer to a request for one qdisc: ignores those requested from this port.
    pub fn ignore_answers_to(&self, port: u32) -> Result<()> {
        sys::drop_messages(self.descriptor(), NEW_QDISC, port).attempt(|| "filtering netlink".into())
    }

    /// Reads the pending notifications without blocking; true if some were lost.
    pub fn drain_notifications(&self, mut on_answer: impl FnMut(Answer<'_>)) -> Result<bool> {
        let mut datagram = vec![0; DUMP_BYTES];
        let mut lost = false;
        loop {
            match recv(self.descriptor(), &mut datagram, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => messages(&datagram[..length]).for_each(&mut on_answer),
                Err(Errno::EAGAIN) => return Ok(lost),
                Err(Errno::ENOBUFS) => lost = true,
                Err(error) => return Err(error).attempt(|| "reading netlink".into()),
            }
        }
    }
}
