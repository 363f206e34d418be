//! Every TCP and UDP socket of every host, by `inet_diag` dumps: what `ss -tunameio` shows.
//!
//! Records have a fixed size: time, host, protocol, then `struct inet_diag_msg`, the socket's memory, its controller's
//! name and its `tcp_info`, each zero where the socket has none. `dumbbell.engine.sockets` has the same layout.

use crate::error::Result;
use crate::sample::diag::{self, FAMILIES, MESSAGE_BYTES, SOCK_DIAG_BY_FAMILY, TCP};
use crate::sample::netlink::{Netlink, attributes};
use crate::sample::record::Records;
use crate::sys::TCP_INFO_BYTES;
use netlink_packet_sock_diag::inet::{ExtensionFlags, StateFlags};
use nix::sys::socket::SockProtocol;
use std::path::Path;

const UDP: u8 = 17;
/// Numbers of `INET_DIAG_*` attributes, and the bytes kept of each.
const INFO: (u16, usize) = (2, TCP_INFO_BYTES);
const CONTROLLER: (u16, usize) = (4, 16);
const MEMORY: (u16, usize) = (7, 36);
/// No process of a guest has this number.
const PORT: u32 = u32::MAX;

/// A conversation with every host.
pub struct AllSockets {
    hosts: Vec<Netlink>,
    records: Records,
}

impl AllSockets {
    /// Opens the conversations.
    pub fn open(hosts: &[String], folder: &Path) -> Result<Self> {
        let open = |host: &String| Netlink::open_at(host, SockProtocol::NetlinkSockDiag, PORT);
        let hosts = hosts.iter().map(open).collect::<Result<_>>()?;
        Ok(Self { hosts, records: Records::create(folder, "sockets.bin")? })
    }

    /// A record for each socket.
    pub fn look(&mut self, now_ns: u64) -> Result<()> {
        let mut found = Vec::new();
        for (number, host) in (0u32..).zip(&self.hosts) {
            for protocol in [TCP, UDP] {
                for family in FAMILIES {
                    let told = ExtensionFlags::INFO | ExtensionFlags::CONG | ExtensionFlags::SKMEMINFO;
                    let request = diag::dump(family, protocol, told, StateFlags::from_bits_retain(u32::MAX));
                    host.dump(&request, |answer| {
                        if answer.kind == SOCK_DIAG_BY_FAMILY && answer.payload.len() >= MESSAGE_BYTES {
                            found.extend(now_ns.to_le_bytes());
                            found.extend(number.to_le_bytes());
                            found.extend(u32::from(protocol).to_le_bytes());
                            found.extend(record(answer.payload));
                        }
                    })?;
                }
            }
        }
        self.records.bytes(&found)
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<()> {
        self.records.finish()
    }
}

/// What is kept of an answer, each part at its place.
fn record(payload: &[u8]) -> Vec<u8> {
    let mut bytes = payload[..MESSAGE_BYTES].to_vec();
    for (wanted, size) in [MEMORY, CONTROLLER, INFO] {
        let value = attributes(&payload[MESSAGE_BYTES..]).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        let kept = value.map_or(&[][..], |value| &value[..value.len().min(size)]);
        bytes.extend(kept);
        bytes.resize(bytes.len() + size - kept.len(), 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_of_this_machine_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let folder = std::env::temp_dir().join(format!("dumbbell-sockets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut sockets = AllSockets::open(&[String::new()], &folder).expect("netlink opens");
        sockets.look(7).expect("the kernel answers");
        sockets.finish().expect("written");
        let bytes = std::fs::read(folder.join("sockets.bin")).expect("a file");
        std::fs::remove_dir_all(&folder).expect("it was ours");
        let size = 16 + MESSAGE_BYTES + MEMORY.1 + CONTROLLER.1 + INFO.1;
        assert_eq!(bytes.len() % size, 0);
        // A listener's state is 10; its port follows family, state, timer and retransmits.
        let ours = |record: &&[u8]| record[16 + 1] == 10 && record[20..22] == port.to_be_bytes();
        assert_eq!(bytes.chunks(size).filter(ours).count(), 1);
    }
}
