//! Records every TCP and UDP socket of every host by `inet_diag` dumps, like `ss -tunameio`.
//!
//! Records have a fixed size: time, host, protocol, then `struct inet_diag_msg`, socket memory, congestion control
//! name and `tcp_info`, each zero if missing. `dumbbell.linux` has the same layout.

use crate::error::Result;
use crate::sample::diag::{
    self, CONTROLLER_KEPT, FAMILIES, INFO_KEPT, MEMORY_KEPT, MESSAGE_BYTES, SOCK_DIAG_BY_FAMILY, TCP,
};
use crate::sample::netlink::Netlink;
use crate::sample::record::Records;
use netlink_packet_sock_diag::inet::{ExtensionFlags, StateFlags};
use nix::sys::socket::SockProtocol;
use std::path::Path;

const UDP: u8 = 17;
const KEPT: [(u16, usize); 3] = [MEMORY_KEPT, CONTROLLER_KEPT, INFO_KEPT];
/// Netlink port that no process of a guest has.
const PORT: u32 = u32::MAX;

/// A netlink socket for every host.
pub struct AllSockets {
    hosts: Vec<Netlink>,
    records: Records,
}

impl AllSockets {
    /// Opens the netlink sockets.
    pub fn open(hosts: &[String], folder: &Path) -> Result<Self> {
        let open = |host: &String| Netlink::open_at(host, SockProtocol::NetlinkSockDiag, PORT);
        let hosts = hosts.iter().map(open).collect::<Result<_>>()?;
        Ok(Self { hosts, records: Records::create(folder, "sockets.bin")? })
    }

    /// Writes a record for each socket.
    pub fn record(&mut self, now_ns: u64) -> Result<()> {
        let mut found = Vec::new();
        for (number, host) in (0u32..).zip(&self.hosts) {
            for protocol in [TCP, UDP] {
                for family in FAMILIES {
                    let extensions = ExtensionFlags::INFO | ExtensionFlags::CONG | ExtensionFlags::SKMEMINFO;
                    let request = diag::dump(family, protocol, extensions, StateFlags::from_bits_retain(u32::MAX));
                    host.dump(&request, |answer| {
                        if answer.kind == SOCK_DIAG_BY_FAMILY && answer.payload.len() >= MESSAGE_BYTES {
                            found.extend(now_ns.to_le_bytes());
                            found.extend(number.to_le_bytes());
                            found.extend(u32::from(protocol).to_le_bytes());
                            diag::keep(answer.payload, &KEPT, &mut found);
                        }
                    })?;
                }
            }
        }
        self.records.bytes(&found)
    }

    /// Closes the file.
    pub fn finish(self) -> Result<()> {
        self.records.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_of_this_host_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let folder = std::env::temp_dir().join(format!("dumbbell-sockets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut sockets = AllSockets::open(&[String::new()], &folder).expect("netlink opens");
        sockets.record(7).expect("the kernel answers");
        sockets.finish().expect("written");
        let bytes = std::fs::read(folder.join("sockets.bin")).expect("a file");
        std::fs::remove_dir_all(&folder).expect("the test owns it");
        let size = 16 + MESSAGE_BYTES + KEPT.iter().map(|(_, size)| size).sum::<usize>();
        assert_eq!(bytes.len() % size, 0);
        // State 10 is LISTEN; the port follows family, state, timer and retransmits.
        let ours = |record: &&[u8]| record[16 + 1] == 10 && record[20..22] == port.to_be_bytes();
        assert_eq!(bytes.chunks(size).filter(ours).count(), 1);
    }
}
