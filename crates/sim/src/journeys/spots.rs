//! Which of a device's disciplines took a packet, or dropped it: the one whose counts have changed, the innermost of them.

use crate::net::DeviceId;
use dumbbell_core::queue::{Look, Place, Queue};

/// All disciplines that have names.
#[derive(Debug)]
pub struct Spots {
    /// Of every device.
    devices: Vec<Vec<Spot>>,
    /// Names of the watched disciplines, then of the devices.
    names: Vec<String>,
    /// How many of them are disciplines'.
    queues: usize,
}

/// A watched discipline.
#[derive(Debug)]
struct Spot {
    number: u32,
    place: Place,
    is_under_test: bool,
    /// What it showed when it was settled last.
    seen: Look,
}

impl Spots {
    /// Of devices with these names.
    pub fn new(queues: &[String], devices: impl Iterator<Item = String>) -> Self {
        let mut names = queues.to_vec();
        names.extend(devices);
        let devices = std::iter::repeat_with(Vec::new).take(names.len() - queues.len()).collect();
        Self { devices, names, queues: queues.len() }
    }

    /// The discipline with this number stands there.
    pub fn add(&mut self, number: u32, device: DeviceId, place: Place, is_under_test: bool, seen: Look) {
        let spots = &mut self.devices[device as usize];
        spots.push(Spot { number, place, is_under_test, seen });
        spots.sort_by_key(|spot| std::cmp::Reverse(spot.place.depth()));
    }

    /// The discipline under test that a packet was handed to.
    pub fn taker(&self, device: DeviceId, queue: &Queue) -> Option<u32> {
        let tested = self.devices[device as usize].iter().filter(|spot| spot.is_under_test);
        tested.into_iter().find(|spot| queue.look(&spot.place) != spot.seen).map(|spot| spot.number)
    }

    /// Who dropped a packet that `stood_in` this discipline, if it was in one: the number of a name.
    pub fn dropper(&self, device: DeviceId, queue: &Queue, stood_in: Option<u32>) -> u32 {
        let spots = &self.devices[device as usize];
        let has_dropped = |spot: &&Spot| deaths(&queue.look(&spot.place)) > deaths(&spot.seen);
        let its_own = spots.iter().filter(|spot| Some(spot.number) == stood_in).find(has_dropped);
        let found = its_own.or_else(|| spots.iter().find(has_dropped)).or_else(|| spots.first());
        found.map_or_else(|| self.name_of(device), |spot| spot.number)
    }

    /// What the device's disciplines show now is what they have shown.
    pub fn settled(&mut self, device: DeviceId, queue: &Queue) {
        for spot in &mut self.devices[device as usize] {
            spot.seen = queue.look(&spot.place);
        }
    }

    /// All names.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }

    fn name_of(&self, device: DeviceId) -> u32 {
        u32::try_from(self.queues).expect("few queues") + device
    }
}

/// Packets that died there; tc counts spoilt ones as sent.
const fn deaths(look: &Look) -> u64 {
    look.counters.drops + look.counters.corrupted
}
