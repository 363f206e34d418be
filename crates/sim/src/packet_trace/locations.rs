//! Which qdisc of a device accepted or dropped a packet: the innermost one whose counters changed.

use crate::net::DeviceId;
use dumbbell_net::queue::{QdiscPath, QdiscSnapshot, Queue};

/// All named qdiscs.
#[derive(Debug)]
pub struct Locations {
    /// Qdiscs by device.
    devices: Vec<Vec<Location>>,
    /// Names of the watched qdiscs, then of the devices.
    names: Vec<String>,
    /// Number of qdisc names.
    queues: usize,
}

/// A watched qdisc.
#[derive(Debug)]
struct Location {
    number: u32,
    path: QdiscPath,
    is_under_test: bool,
    /// Its snapshot after the last settled call.
    last: QdiscSnapshot,
}

impl Locations {
    /// Creates the list for devices with these names.
    pub fn new(queues: &[String], devices: impl Iterator<Item = String>) -> Self {
        let mut names = queues.to_vec();
        names.extend(devices);
        let devices = std::iter::repeat_with(Vec::new).take(names.len() - queues.len()).collect();
        Self { devices, names, queues: queues.len() }
    }

    /// Adds the qdisc with this index.
    pub fn add(&mut self, number: u32, device: DeviceId, path: QdiscPath, is_under_test: bool, last: QdiscSnapshot) {
        let locations = &mut self.devices[device as usize];
        locations.push(Location { number, path, is_under_test, last });
        locations.sort_by_key(|location| std::cmp::Reverse(location.path.depth()));
    }

    /// The qdisc under test that accepted a packet.
    pub fn entered_at(&self, device: DeviceId, queue: &Queue) -> Option<u32> {
        let tested = self.devices[device as usize].iter().filter(|location| location.is_under_test);
        tested
            .into_iter()
            .find(|location| queue.snapshot(&location.path) != location.last)
            .map(|location| location.number)
    }

    /// Index of the name of the qdisc or device that dropped a packet, which was queued in `queued_in` if any.
    pub fn dropped_by(&self, device: DeviceId, queue: &Queue, queued_in: Option<u32>) -> u32 {
        let locations = &self.devices[device as usize];
        let has_dropped =
            |location: &&Location| drop_count(&queue.snapshot(&location.path)) > drop_count(&location.last);
        let its_own = locations.iter().filter(|location| Some(location.number) == queued_in).find(has_dropped);
        let found = its_own.or_else(|| locations.iter().find(has_dropped)).or_else(|| locations.first());
        found.map_or_else(|| self.name_of(device), |location| location.number)
    }

    /// Stores the current snapshots of a device's qdiscs.
    pub fn settled(&mut self, device: DeviceId, queue: &Queue) {
        for location in &mut self.devices[device as usize] {
            location.last = queue.snapshot(&location.path);
        }
    }

    /// All names.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }

    /// Index of a device's name.
    pub fn name_of(&self, device: DeviceId) -> u32 {
        u32::try_from(self.queues).expect("few queues") + device
    }
}

const fn drop_count(snapshot: &QdiscSnapshot) -> u64 {
    snapshot.counters.drops
}
