//! Requests that change something, one at a time, with the kernel's reason for a refusal (extended ACK, Linux 4.12).

use crate::error::{Attempt, Result};
use crate::sample::netlink::{Netlink, attributes, messages, number};
use crate::sys;
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockProtocol, recv, send};

/// Netlink port in each host: fixed, since Linux would draw a random one for a second socket.
const PORT: u32 = 0x4462_0003;
/// Longer than any answer.
const ANSWER_BYTES: usize = 16 << 10;
const HEADER_BYTES: usize = 16;
/// Error number and the header of the request (`struct nlmsgerr`), before the attributes of the extended ACK.
const ERROR_BYTES: usize = 20;
const ERROR: u16 = 2;
const MESSAGE: u16 = 1;
/// `NETLINK_CAP_ACK`: an error does not repeat the request; `NETLINK_EXT_ACK`: it has a text.
const OPTIONS: [i32; 2] = [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK];

const GET_LINK: u16 = 18;
const LINK_HEADER_BYTES: usize = 16;
const IFLA_IFNAME: u16 = 3;
/// Linux refuses longer names; with the final zero.
pub const MAX_NAME_BYTES: usize = libc::IFNAMSIZ;

/// A socket for requests in one host.
pub struct RequestSocket {
    netlink: Netlink,
}

/// Why the kernel refused a request, as ip and tc put it.
pub type Refusal = String;

impl RequestSocket {
    /// Opens a socket in a host; in the agent's own namespace at any port, since others may have sockets there.
    pub fn open(host: &str) -> Result<Self> {
        let netlink = match host {
            "" => Netlink::open(host, SockProtocol::NetlinkRoute)?,
            _ => Netlink::open_at(host, SockProtocol::NetlinkRoute, PORT)?,
        };
        for option in OPTIONS {
            sys::set_option(netlink.descriptor(), libc::SOL_NETLINK, option, 1_i32)
                .attempt(|| "preparing netlink".into())?;
        }
        Ok(Self { netlink })
    }

    /// The same, which accepts messages of the kernel only: programs may run in the host.
    pub fn open_guarded(host: &str) -> Result<Self> {
        let socket = Self::open(host)?;
        socket.netlink.accept_only_kernel()?;
        Ok(socket)
    }

    /// The socket's port.
    pub fn port(&self) -> Result<u32> {
        self.netlink.port()
    }

    /// Sends a request and waits for the kernel's acknowledgement.
    pub fn send(&self, kind: u16, flags: u16, body: &[u8]) -> Result<std::result::Result<(), Refusal>> {
        self.exchange(kind, flags | NLM_F_ACK, body, |_, _| ())
    }

    /// Index of a device; None: there is none of this name.
    pub fn device(&self, name: &str) -> Result<Option<u32>> {
        if name.len() >= MAX_NAME_BYTES || name.contains('\0') {
            return Ok(None);
        }
        let mut body = vec![0; LINK_HEADER_BYTES];
        let length = u16::try_from(5 + name.len()).expect("a name is short");
        body.extend(length.to_ne_bytes());
        body.extend(IFLA_IFNAME.to_ne_bytes());
        body.extend(name.as_bytes());
        body.resize(body.len() + 4 - name.len() % 4, 0);
        let mut index = None;
        let found = self.exchange(GET_LINK, 0, &body, |_, payload| index = Some(number(payload, 4)))?;
        Ok(found.ok().and(index))
    }

    /// Sends a request; passes an answer that is no acknowledgement to `on_answer`.
    fn exchange(
        &self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut on_answer: impl FnMut(u16, &[u8]),
    ) -> Result<std::result::Result<(), Refusal>> {
        let mut request = u32::try_from(HEADER_BYTES + body.len()).expect("a request is short").to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend((flags | NLM_F_REQUEST).to_ne_bytes());
        // The sequence number, and the port of the sender, which the kernel knows.
        request.extend([0; 8]);
        request.extend(body);
        let socket = self.netlink.descriptor();
        send(socket, &request, MsgFlags::empty()).attempt(|| "sending a netlink request".into())?;
        let mut datagram = vec![0; ANSWER_BYTES];
        let length = recv(socket, &mut datagram, MsgFlags::empty()).attempt(|| "reading netlink".into())?;
        for answer in messages(&datagram[..length]) {
            if answer.kind != ERROR {
                on_answer(answer.kind, answer.payload);
                continue;
            }
            let status = number(answer.payload, 0).cast_signed();
            if status != 0 {
                return Ok(Err(refusal(Errno::from_raw(-status), answer.payload)));
            }
        }
        Ok(Ok(()))
    }
}

fn refusal(error: Errno, payload: &[u8]) -> Refusal {
    let text = attributes(payload.get(ERROR_BYTES..).unwrap_or_default()).find(|(kind, _)| *kind == MESSAGE);
    let Some((_, text)) = text else { return format!("RTNETLINK answers: {}", error.desc()) };
    let text = String::from_utf8_lossy(text);
    format!("Error: {}.", text.trim_end_matches(['\0', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_reason_is_shown_as_tc_shows_it() {
        let mut payload = vec![0; ERROR_BYTES];
        assert_eq!(refusal(Errno::EEXIST, &payload), "RTNETLINK answers: File exists");
        payload.extend([10, 0, 1, 0]);
        payload.extend(b"Wrong\0\0\0");
        assert_eq!(refusal(Errno::EINVAL, &payload), "Error: Wrong.");
    }

    #[test]
    fn the_loopback_device_is_found() {
        let socket = RequestSocket::open("").expect("netlink opens");
        assert_eq!(socket.device("lo").expect("netlink answers"), Some(1));
        assert_eq!(socket.device("nonexistent").expect("netlink answers"), None);
        assert_eq!(socket.device(&"x".repeat(70_000)).expect("nothing is sent"), None);
    }
}
