//! What is done to a host: links, addresses, routes, settings, tc commands. Each prints as the command that does it.

use dumbbell_tc::Command as TcCommand;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;

/// Hardware address of an Ethernet device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Hardware(pub [u8; 6]);

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.map(|byte| format!("{byte:02x}")).join(":"))
    }
}

/// One end of a veth pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VethEnd {
    /// Name of the device.
    pub device: String,
    /// Hardware address; None: a random one.
    pub hardware: Option<Hardware>,
    /// MTU in bytes; None: 1500.
    pub mtu: Option<u32>,
    /// Network namespace; None: that of the operation.
    pub host: Option<String>,
}

/// Addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Address.
    pub address: Ipv4Addr,
    /// Length of the prefix in bits.
    pub prefix: u8,
}

impl Network {
    /// Every address.
    pub const ALL: Self = Self { address: Ipv4Addr::UNSPECIFIED, prefix: 0 };
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix == 0 { f.write_str("default") } else { write!(f, "{}/{}", self.address, self.prefix) }
    }
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Whether it takes the place of one to the same network.
    pub replaces: bool,
    /// Where it leads.
    pub to: Network,
    /// Next hop.
    pub via: Option<Ipv4Addr>,
    /// Device; None: the one that reaches the next hop.
    pub device: Option<String>,
    /// Initial window in packets; None: Linux's.
    pub initial_window: Option<u32>,
    /// Whether its connections negotiate ECN.
    pub ecn: bool,
    /// Whether data that comes by it is acknowledged at once.
    pub quickack: bool,
}

impl Route {
    /// A new route without options.
    #[must_use]
    pub const fn to(to: Network) -> Self {
        Self { replaces: false, to, via: None, device: None, initial_window: None, ecn: false, quickack: false }
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Creates a network namespace with a name.
    AddHost {
        /// Its name.
        name: String,
    },
    /// Creates a veth pair.
    AddVeth {
        /// Its first end.
        end: VethEnd,
        /// The other.
        peer: VethEnd,
    },
    /// Creates an ifb: packets that are redirected to it pass its qdiscs.
    AddIfb {
        /// Its name.
        device: String,
    },
    /// Starts a device.
    Up {
        /// Its name.
        device: String,
    },
    /// Deletes a device.
    DeleteDevice {
        /// Its name.
        device: String,
    },
    /// Gives a device an address.
    AddAddress {
        /// The address, with the prefix of its network.
        address: Network,
        /// The device.
        device: String,
    },
    /// Adds or replaces a route.
    Route(Route),
    /// Adds a permanent neighbour, so that nothing asks for it.
    AddNeighbour {
        /// Its address.
        address: Ipv4Addr,
        /// Its hardware address.
        hardware: Hardware,
        /// The device that reaches it.
        device: String,
    },
    /// Sets a sysctl.
    Sysctl {
        /// Name, with dots.
        key: String,
        /// Value; may be several numbers.
        value: String,
    },
    /// Sets a parameter of a controller's module: Linux has it once for all sockets.
    ModuleParameter {
        /// Name of the controller.
        cc: String,
        /// Name of the parameter.
        name: String,
        /// Value.
        value: String,
    },
    /// Turns segmentation and receive offloads of a device on or off.
    Offloads {
        /// The device.
        device: String,
        /// On?
        on: bool,
    },
    /// Changes qdiscs, classes and filters.
    Tc(TcCommand),
}

/// The offloads that [`Operation::Offloads`] sets, as `ethtool -K` names them.
pub const OFFLOADS: [&str; 3] = ["tso", "gso", "gro"];

impl Operation {
    /// The file of a module's parameter.
    #[must_use]
    pub fn parameter_file(cc: &str, name: &str) -> String {
        format!("/sys/module/tcp_{}/parameters/{name}", cc.replace('-', "_"))
    }

    /// The command that does the same, in words; `write FILE TEXT` means `echo TEXT > FILE`.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let words = |line: String| line.split(' ').map(String::from).collect();
        match self {
            Self::AddHost { name } => words(format!("ip netns add {name}")),
            Self::AddVeth { end, peer } => words(format!("ip link add {end} type veth peer name {peer}")),
            Self::AddIfb { device } => words(format!("ip link add {device} type ifb")),
            Self::Up { device } => words(format!("ip link set {device} up")),
            Self::DeleteDevice { device } => words(format!("ip link del {device}")),
            Self::AddAddress { address, device } => words(format!("ip addr add {address} dev {device}")),
            Self::Route(route) => words(format!("ip route {route}")),
            Self::AddNeighbour { address, hardware, device } => {
                words(format!("ip neigh add {address} lladdr {hardware} dev {device} nud permanent"))
            }
            Self::Sysctl { key, value } => vec!["sysctl".into(), "-w".into(), format!("{key}={value}")],
            Self::ModuleParameter { cc, name, value } => {
                vec!["write".into(), Self::parameter_file(cc, name), value.clone()]
            }
            Self::Offloads { device, on } => {
                let state = if *on { "on" } else { "off" };
                let pairs: Vec<_> = OFFLOADS.iter().map(|offload| format!("{offload} {state}")).collect();
                words(format!("ethtool -K {device} {}", pairs.join(" ")))
            }
            Self::Tc(command) => std::iter::once("tc".to_owned()).chain(command.words().iter().cloned()).collect(),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

impl fmt::Display for VethEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.device)?;
        if let Some(hardware) = self.hardware {
            write!(f, " address {hardware}")?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, " mtu {mtu}")?;
        }
        self.host.as_ref().map_or(Ok(()), |host| write!(f, " netns {host}"))
    }
}

impl fmt::Display for Route {
    /// As `ip route` takes it, from the verb on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.replaces { "replace" } else { "add" }, self.to)?;
        if let Some(via) = self.via {
            write!(f, " via {via}")?;
        }
        if let Some(device) = &self.device {
            write!(f, " dev {device}")?;
        }
        if let Some(window) = self.initial_window {
            write!(f, " initcwnd {window}")?;
        }
        f.write_str(if self.ecn { " features ecn" } else { "" })?;
        f.write_str(if self.quickack { " quickack 1" } else { "" })
    }
}

/// Where in an experiment an operation comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Dotted key.
    pub key: String,
    /// Its value as written, or the command.
    pub text: String,
}

/// An operation on a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Network namespace; empty for the machine's own.
    pub host: String,
    /// What is done.
    pub operation: Operation,
    /// The key that requests it; tc commands have one.
    #[serde(skip)]
    pub origin: Option<Box<Origin>>,
}

impl Step {
    /// An operation on this host.
    #[must_use]
    pub fn new(host: &str, operation: Operation) -> Self {
        Self { host: host.into(), operation, origin: None }
    }

    /// A sysctl; a value may have spaces.
    #[must_use]
    pub fn sysctl(host: &str, key: &str, value: &str) -> Self {
        Self::new(host, Operation::Sysctl { key: key.into(), value: value.into() })
    }

    /// The same with the key and the value that request it.
    #[must_use]
    pub fn with_key(self, key: &str, text: &str) -> Self {
        Self { origin: Some(Box::new(Origin { key: key.into(), text: text.into() })), ..self }
    }

    /// The same with the key that requests it; the value is the command.
    #[must_use]
    pub fn for_key(self, key: &str) -> Self {
        let line = self.line();
        self.with_key(key, &line)
    }

    /// Its command as typed.
    #[must_use]
    pub fn line(&self) -> String {
        self.operation.to_string()
    }

    /// Its tc command, if it is one.
    #[must_use]
    pub const fn tc(&self) -> Option<&TcCommand> {
        if let Operation::Tc(command) = &self.operation { Some(command) } else { None }
    }
}

impl fmt::Display for Step {
    /// As typed, behind the host's name in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.host.is_empty() {
            write!(f, "[{}] ", self.host)?;
        }
        write!(f, "{}", self.operation)
    }
}

/// A step with a time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// What.
    pub step: Step,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: [u8; 4], prefix: u8) -> Network {
        Network { address: address.into(), prefix }
    }

    #[test]
    fn operations_print_as_the_commands_that_do_the_same() {
        let end = |device: &str, last, mtu| VethEnd {
            device: device.into(),
            hardware: Some(Hardware([2, 0, 0, 0, 1, last])),
            mtu,
            host: Some("router".into()),
        };
        let route =
            Route { via: Some([10, 0, 1, 2].into()), initial_window: Some(20), ecn: true, ..Route::to(Network::ALL) };
        let back = Route {
            replaces: true,
            device: Some("left".into()),
            quickack: true,
            ..Route::to(network([10, 0, 1, 1], 32))
        };
        let device = || "right".to_owned();
        for (operation, line) in [
            (Operation::AddHost { name: "router".into() }, "ip netns add router"),
            (
                Operation::AddVeth { end: end("right", 1, Some(9000)), peer: end("left", 2, None) },
                "ip link add right address 02:00:00:00:01:01 mtu 9000 netns router type veth \
                 peer name left address 02:00:00:00:01:02 netns router",
            ),
            (Operation::AddIfb { device: "ifb0".into() }, "ip link add ifb0 type ifb"),
            (Operation::Up { device: "lo".into() }, "ip link set lo up"),
            (
                Operation::AddAddress { address: network([10, 0, 1, 1], 24), device: device() },
                "ip addr add 10.0.1.1/24 dev right",
            ),
            (Operation::Route(route), "ip route add default via 10.0.1.2 initcwnd 20 features ecn"),
            (Operation::Route(back), "ip route replace 10.0.1.1/32 dev left quickack 1"),
            (
                Operation::AddNeighbour {
                    address: [10, 0, 1, 2].into(),
                    hardware: Hardware([2, 0, 0, 0, 1, 2]),
                    device: device(),
                },
                "ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent",
            ),
            (
                Operation::ModuleParameter { cc: "bbr-x".into(), name: "gain".into(), value: "3".into() },
                "write /sys/module/tcp_bbr_x/parameters/gain 3",
            ),
            (Operation::Offloads { device: device(), on: false }, "ethtool -K right tso off gso off gro off"),
        ] {
            assert_eq!(operation.to_string(), line);
            let json = serde_json::to_string(&operation).expect("it is numbers and texts");
            assert_eq!(serde_json::from_str::<Operation>(&json).expect("the same"), operation);
        }
    }

    #[test]
    fn a_value_of_several_numbers_is_one_word() {
        let step = Step::sysctl("h", "net.ipv4.tcp_rmem", "4096 131072 6291456");
        assert_eq!(step.operation.words(), ["sysctl", "-w", "net.ipv4.tcp_rmem=4096 131072 6291456"]);
        assert_eq!(step.to_string(), "[h] sysctl -w net.ipv4.tcp_rmem=4096 131072 6291456");
    }
}
