//! Every TCP and UDP socket of every host, by `inet_diag` dumps: what `ss -tunameio` shows.
//!
//! Records have a fixed size: time, host, protocol, then `struct inet_diag_msg`, the socket's memory, its controller's
//! name and its `tcp_info`, each zero where the socket has none. `dumbbell.engine.sockets` has the same layout.

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
                            diag::keep(answer.payload, &KEPT, &mut found);
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
        let size = 16 + MESSAGE_BYTES + KEPT.iter().map(|(_, size)| size).sum::<usize>();
        assert_eq!(bytes.len() % size, 0);
        // A listener's state is 10; its port follows family, state, timer and retransmits.
        let ours = |record: &&[u8]| record[16 + 1] == 10 && record[20..22] == port.to_be_bytes();
        assert_eq!(bytes.chunks(size).filter(ours).count(), 1);
    }
}
