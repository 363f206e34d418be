//! What the kernel says by netlink unasked, and who else may speak to a socket.

use super::{Answer, DUMP_BYTES, Netlink, messages};
use crate::error::{Attempt, Result};
use crate::sys;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, NetlinkAddr, bind, connect, getsockname, recv};
use std::os::fd::{AsRawFd, RawFd};

/// `RTM_NEWQDISC`.
const NEW_QDISC: u16 = 36;

impl Netlink {
    /// Joins groups that the kernel tells its news: bit 0 is group 1.
    pub fn join(&self, groups: u32) -> Result<()> {
        self.join_at(0, groups)
    }

    /// The same of a socket that has this port.
    pub fn join_at(&self, port: u32, groups: u32) -> Result<()> {
        bind(self.descriptor(), &NetlinkAddr::new(port, groups)).attempt(|| "joining groups of netlink".into())
    }

    /// What to wait for.
    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The port; 0 before the first request, when Linux chooses one.
    pub fn port(&self) -> Result<u32> {
        let address =
            getsockname::<NetlinkAddr>(self.descriptor()).attempt(|| "asking for a port of netlink".into())?;
        Ok(address.pid())
    }

    /// Lets nobody but the kernel answer, once the socket has a port; before, it can't be written to.
    ///
    /// A program that is root of its host may send to any port there. A socket that is connected to the kernel, which
    /// is port 0, refuses all others (`netlink_getsockbyportid`, `net/netlink/af_netlink.c`).
    pub fn hear_only_the_kernel(&self) -> Result<()> {
        if !self.is_guarded.get() && self.port()? != 0 {
            connect(self.descriptor(), &NetlinkAddr::new(0, 0))
                .attempt(|| "connecting netlink to the kernel".into())?;
            self.is_guarded.set(true);
        }
        Ok(())
    }

    /// Linux tells all who listen of each discipline that is asked for by itself: asked for from this port, it is no news.
    pub fn ignore_answers_to(&self, port: u32) -> Result<()> {
        sys::drop_messages(self.descriptor(), NEW_QDISC, port).attempt(|| "filtering netlink".into())
    }

    /// Hands over the news that have come, and waits for none; true where some found no room.
    pub fn hear_what_is_there(&self, mut hear: impl FnMut(Answer<'_>)) -> Result<bool> {
        let mut datagram = vec![0; DUMP_BYTES];
        let mut lost = false;
        loop {
            match recv(self.descriptor(), &mut datagram, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => messages(&datagram[..length]).for_each(&mut hear),
                Err(Errno::EAGAIN) => return Ok(lost),
                Err(Errno::ENOBUFS) => lost = true,
                Err(error) => return Err(error).attempt(|| "reading netlink".into()),
            }
        }
    }
}
