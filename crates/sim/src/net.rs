//! Who is connected to whom: devices, and the next one on every packet's way.
//!
//! ```text
//!     host                    host
//!   +------+ device    device +------+
//!   | left |o----- wire -----o| right|      data goes right, acknowledgements go left
//!   +------+                  +------+
//! ```
//!
//! Devices are numbered by the names of their hosts, so that the order of wires in a plan does not matter. What
//! happens at a device is `world`'s affair; which packet leaves its discipline next is `dumbbell_core::queue`'s.

mod build;
mod device;

pub use build::{Pair, build};
pub use device::Device;

use dumbbell_core::packet::{Direction, FlowId, Packet};

/// Number of a host: its place among the names, sorted.
pub type HostId = u32;
/// Number of a device: its place among (host, neighbour), sorted.
pub type DeviceId = u32;

/// All hosts and devices, and the way of every flow.
#[derive(Debug)]
pub struct Net {
    /// Devices.
    pub devices: Vec<Device>,
    /// Names of the hosts, sorted.
    pub hosts: Vec<String>,
    /// Sender's and receiver's host of every flow and every series of probes.
    ends: Vec<[HostId; 2]>,
    /// The device towards a host: `[at * hosts + to]`; [`NOWHERE`] where no flow goes.
    next: Vec<DeviceId>,
    /// Device of every (wire, side).
    device_of: Vec<[DeviceId; 2]>,
}

/// No device leads there.
const NOWHERE: DeviceId = DeviceId::MAX;

impl Net {
    /// The device by which this packet leaves `host`; None when it has arrived.
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

    /// The device by which a flow's packets leave their own host.
    pub fn first_device(&self, flow: FlowId, direction: Direction) -> DeviceId {
        let [sender, receiver] = self.ends[flow.0 as usize];
        let (from, to) = if direction == Direction::Forward { (sender, receiver) } else { (receiver, sender) };
        self.next[from as usize * self.hosts.len() + to as usize]
    }

    /// How many devices with a discipline stand on this packet's way, as far as `before` if that is one of them.
    pub fn disciplines(&self, packet: &Packet, before: Option<DeviceId>) -> u32 {
        let after = |host: HostId| self.next(host, packet).filter(|&device| Some(device) != before);
        let way =
            std::iter::successors(after(self.source(packet)), |&device| after(self.devices[device as usize].peer));
        way.map(|device| u32::from(self.devices[device as usize].queue.is_some())).sum()
    }

    /// The devices on the way of a flow's data.
    pub fn way(&self, flow: FlowId) -> impl Iterator<Item = DeviceId> + '_ {
        let [sender, receiver] = self.ends[flow.0 as usize];
        let after =
            move |at: HostId| (at != receiver).then(|| self.next[at as usize * self.hosts.len() + receiver as usize]);
        std::iter::successors(after(sender), move |&device| after(self.devices[device as usize].peer))
    }

    /// The device at this end of a wire; None when there is no such wire.
    pub fn device_at(&self, end: crate::plan::End) -> Option<DeviceId> {
        self.device_of.get(end.wire).map(|sides| sides[end.side as usize])
    }

    /// Sender's and receiver's host of every flow and series.
    pub fn ends(&self) -> &[[HostId; 2]] {
        &self.ends
    }

    /// Bytes that it holds, without what stands in its queues.
    pub fn capacity_bytes(&self) -> usize {
        self.devices.capacity() * size_of::<Device>()
            + self.next.capacity() * size_of::<DeviceId>()
            + self.ends.capacity() * size_of::<[HostId; 2]>()
    }

    #[inline]
    fn target(&self, packet: &Packet) -> HostId {
        let [sender, receiver] = self.ends[packet.flow.0 as usize];
        if packet.direction == Direction::Forward { receiver } else { sender }
    }
}
