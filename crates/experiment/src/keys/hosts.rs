//! Real hosts: ssh destinations, and the devices under test. Only the engine `host` uses them.

mod rules;

use crate::declare::hosts::{Address, Device, Target};
use crate::declare::table;

table! {
    /// A sending or receiving host.
    #[derive(Eq)]
    pub struct End {
        /// ssh destination: `"root@192.0.2.1"`, an alias of `~/.ssh/config`, or `"ssh://root@lab:2222"`; neither user nor
        /// host starts with a dash. The login is root, or a user with passwordless `sudo`.
        ssh: Target, required("ssh = \"root@192.0.2.1\"");
        /// Address of the device under test, IPv4 or IPv6, the same family on both hosts; not a link-local one.
        address: Address, required("address = \"192.168.7.1\"");
        /// That device, such as `"eth1"`. tc and offload settings touch only these devices and the router's two.
        device: Device, required("device = \"eth1\"");
    }
}

table! {
    /// A host between them that forwards.
    #[derive(Eq)]
    pub struct Router, rules rules::router {
        /// ssh destination, as that of a sender.
        ssh: Target, required("ssh = \"root@192.0.2.3\"");
        /// The device toward the receiver.
        to_receiver: Device, required("to_receiver = \"eth1\"");
        /// The device toward the sender.
        to_sender: Device, required("to_sender = \"eth2\"");
    }
}

table! {
    /// Real hosts.
    #[derive(Eq)]
    pub struct Hosts, rules rules::hosts {
        /// The sending host.
        sender: End, required("[hosts.sender] with ssh, address and device");
        /// The receiving host.
        receiver: End, required("[hosts.receiver] with ssh, address and device");
        /// A host between them that forwards.
        router: Router, optional;
    }
}
