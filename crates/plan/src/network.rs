//! Hosts, links and settings, for an engine that executes no steps.

use crate::operation::Hardware;
use crate::traffic::Ecn;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// A veth pair between neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Number, from 1.
    pub number: usize,
    /// Host on the senders' side.
    pub left_host: String,
    /// The left host's device.
    pub left_device: String,
    /// Host on the receivers' side.
    pub right_host: String,
    /// The right host's device.
    pub right_device: String,
}

impl Link {
    /// The address in its /24 that ends in this number.
    #[must_use]
    pub fn address(&self, last: u8) -> Ipv4Addr {
        let [high, middle, low] = self.number_bytes();
        Ipv4Addr::new(10_u8.saturating_add(high), middle, low, last)
    }

    /// Its number, which its addresses hold.
    fn number_bytes(&self) -> [u8; 3] {
        let [_, bytes @ ..] = u32::try_from(self.number).unwrap_or(u32::MAX).to_be_bytes();
        bytes
    }

    /// Address of the left host.
    #[must_use]
    pub fn left_address(&self) -> Ipv4Addr {
        self.address(1)
    }

    /// Address of the right host.
    #[must_use]
    pub fn right_address(&self) -> Ipv4Addr {
        self.address(2)
    }

    /// Hardware address; side 1 is left.
    #[must_use]
    pub fn hardware(&self, side: u8) -> Hardware {
        let [high, middle, low] = self.number_bytes();
        Hardware([2, 0, high, middle, low, side])
    }

    /// Both devices, the left one first.
    #[must_use]
    pub fn devices(&self) -> [Device; 2] {
        let device = |host: &String, name: &String| Device { host: host.clone(), name: name.clone() };
        [device(&self.left_host, &self.left_device), device(&self.right_host, &self.right_device)]
    }
}

/// Links and TCP settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Net {
    /// Links.
    pub wires: Vec<Link>,
    /// Sending hosts.
    pub senders: Vec<Sender>,
    /// MTU of every link.
    pub mtu: u32,
    /// Whether segmentation offloads are on.
    pub offloads: bool,
    /// TCP settings of every host.
    pub tcp: TcpSettings,
}

/// What distinguishes a sending host.
#[derive(Clone, Debug, PartialEq)]
pub struct Sender {
    /// Its name.
    pub host: String,
    /// Initial window in packets; None: Linux's.
    pub initial_window: Option<u32>,
    /// ECN of its connections; [`Ecn::Auto`]: as [`TcpSettings::ecn`], which is for all hosts.
    pub ecn: Ecn,
    /// Whether its data is acknowledged at once.
    pub quickack: bool,
}

/// TCP settings of every host.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSettings {
    /// Which ECN connections ask for and accept.
    pub ecn: Ecn,
    /// Limit of the receive buffer.
    pub rmem_max: u64,
    /// Limit of the send buffer.
    pub wmem_max: u64,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// Further settings by name.
    pub sysctl: Vec<(String, String)>,
}

/// A device of a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Host.
    pub host: String,
    /// Name in the host.
    #[serde(rename = "device")]
    pub name: String,
}
