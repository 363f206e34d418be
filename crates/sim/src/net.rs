//! Topology: devices, and the next device on every packet's path.
//!
//! ```text
//!     host                    host
//!   +------+ device    device +------+
//!   | left |o----- link -----o| right|      data goes right, acknowledgements go left
//!   +------+                  +------+
//! ```
//!
//! Devices are numbered by host names, so the order of links in a plan does not matter. [`crate::world`] handles events
//! at a device; `dumbbell_net::queue` decides which packet leaves next.

mod build;
mod device;
mod meter;

pub use build::{Pair, build};
pub use device::Device;

use crate::error::Error;
use crate::plan::HostRoute;
use dumbbell_net::packet::{Direction, FlowId, Packet};

/// Index of a host in the sorted list of names.
pub type HostId = u32;
/// Index of a device in the list sorted by (host, neighbour).
pub type DeviceId = u32;

/// All hosts, devices and routes.
#[derive(Debug)]
pub struct Net {
    /// Devices.
    pub devices: Vec<Device>,
    /// Host names, sorted.
    pub hosts: Vec<String>,
    /// Sender's and receiver's host of every flow and probe series.
    ends: Vec<[HostId; 2]>,
    /// The device towards a host, at `[at * hosts + to]`; [`NO_DEVICE`] where no flow goes.
    next: Vec<DeviceId>,
    /// Devices of every link (left, right).
    device_of: Vec<[DeviceId; 2]>,
}

/// No device.
const NO_DEVICE: DeviceId = DeviceId::MAX;

impl Net {
    /// The device by which this packet leaves `host`; None if it has arrived.
    #[inline]
    pub fn next(&self, host: HostId, packet: &Packet) -> Option<DeviceId> {
        let to = self.target(packet);
        (to != host).then(|| self.next[host as usize * self.hosts.len() + to as usize])
    }

    /// The host that sent this packet.
    #[inline]
    pub fn source(&self, packet: &Packet) -> HostId {
        let [sender, receiver] = self.ends[packet.flow.0 as usize];
        if packet.direction == Direction::Forward { sender } else { receiver }
    }

    /// The device by which a flow's packets leave their host.
    pub fn first_device(&self, flow: FlowId, direction: Direction) -> DeviceId {
        let [sender, receiver] = self.ends[flow.0 as usize];
        let (from, to) = if direction == Direction::Forward { (sender, receiver) } else { (receiver, sender) };
        self.next[from as usize * self.hosts.len() + to as usize]
    }

    /// Number of devices with a queue on this packet's path, up to `before` if that is one of them.
    pub fn queues_before(&self, packet: &Packet, before: Option<DeviceId>) -> u32 {
        let after = |host: HostId| self.next(host, packet).filter(|&device| Some(device) != before);
        let way =
            std::iter::successors(after(self.source(packet)), |&device| after(self.devices[device as usize].peer));
        way.map(|device| u32::from(self.devices[device as usize].queue.is_some())).sum()
    }

    /// The devices on the path of a flow's data.
    pub fn way(&self, flow: FlowId) -> impl Iterator<Item = DeviceId> + '_ {
        let [sender, receiver] = self.ends[flow.0 as usize];
        let after =
            move |at: HostId| (at != receiver).then(|| self.next[at as usize * self.hosts.len() + receiver as usize]);
        std::iter::successors(after(sender), move |&device| after(self.devices[device as usize].peer))
    }

    /// The device at this end of a link; None if there is no such link.
    pub fn device_at(&self, end: crate::plan::End) -> Option<DeviceId> {
        self.device_of.get(end.wire).map(|sides| sides[end.side as usize])
    }

    /// Enters how a host reaches another from now on.
    pub fn set_route(&mut self, HostRoute { host, to, by }: &HostRoute) -> Result<(), Error> {
        let object = || format!("the route of '{host}' to '{to}'");
        let id = |name: &str| self.hosts.binary_search_by(|known| known.as_str().cmp(name));
        let unknown = |name: &str| Error::UnknownHost { object: object(), host: name.into() };
        let at = id(host).map_err(|_| unknown(host))?;
        let target = id(to).map_err(|_| unknown(to))?;
        let missing = || Error::NoLink { object: object(), link: by.wire, links: self.device_of.len() };
        let device = self.device_at(*by).ok_or_else(missing)?;
        self.next[at * self.hosts.len() + target] = device;
        Ok(())
    }

    /// Sender's and receiver's host of every flow and probe series.
    pub fn ends(&self) -> &[[HostId; 2]] {
        &self.ends
    }

    /// Allocated bytes, queues excluded.
    pub fn capacity_bytes(&self) -> usize {
        self.devices.capacity() * size_of::<Device>()
            + self.next.capacity() * size_of::<DeviceId>()
            + self.ends.capacity() * size_of::<[HostId; 2]>()
    }

    /// The device of `host` at which this packet arrived.
    pub fn arrived_by(&self, host: HostId, packet: &Packet) -> DeviceId {
        self.next[host as usize * self.hosts.len() + self.source(packet) as usize]
    }

    /// The host that receives this packet.
    #[inline]
    pub fn target(&self, packet: &Packet) -> HostId {
        let [sender, receiver] = self.ends[packet.flow.0 as usize];
        if packet.direction == Direction::Forward { receiver } else { sender }
    }
}
