//! Counts every segment of every flow from its birth to its end.

use dumbbell_core::packet::{Body, FlowId, Packet};

/// All segments. A super-packet counts each of its own.
#[derive(Clone, Debug)]
pub struct Census {
    accounts: Vec<Account>,
    /// Segments that are under way.
    pub alive: u64,
    /// Most that were.
    pub peak: u64,
    /// Segments with payload that TCP and UDP flows have sent.
    pub data_packets: u64,
    /// Segments that hosts have sent.
    pub sent: u64,
    /// Copies in nobody's account.
    pub unclaimed: u64,
}

/// What one flow's hosts have sent, and what became of it; both directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Sent by its hosts, copies that netem made included.
    pub sent: u64,
    /// Arrived at its hosts.
    pub received: u64,
    /// Died on the way.
    pub dropped: u64,
}

impl Account {
    /// How many more segments than it knows of there are, when `found` are under way; None when some are missing. Those
    /// more must be copies in nobody's account.
    pub const fn surplus(&self, found: u64) -> Option<u64> {
        (found + self.received + self.dropped).checked_sub(self.sent)
    }
}

impl Census {
    /// Nobody lives yet.
    pub fn of(flows: usize) -> Self {
        Self { accounts: vec![Account::default(); flows], alive: 0, peak: 0, data_packets: 0, sent: 0, unclaimed: 0 }
    }

    /// A host sends a packet.
    #[inline]
    pub fn born(&mut self, packet: &Packet) {
        let segments = u64::from(packet.segments);
        let is_data = match &packet.body {
            Body::Tcp(segment) => segment.len > 0,
            Body::Udp { .. } => true,
            Body::Probe { .. } => false,
        };
        self.sent += segments;
        self.data_packets += if is_data { segments } else { 0 };
        self.copied(packet.flow, segments);
    }

    /// netem copied so many segments.
    #[inline]
    pub fn copied(&mut self, flow: FlowId, segments: u64) {
        self.accounts[flow.0 as usize].sent += segments;
        self.alive += segments;
        self.peak = self.peak.max(self.alive);
    }

    /// A netem that is fed on the way out copied so many segments: whose isn't known.
    #[inline]
    pub fn copied_somewhere(&mut self, segments: u64) {
        self.unclaimed += segments;
        self.alive += segments;
    }

    /// A packet has arrived.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet) {
        self.accounts[packet.flow.0 as usize].received += u64::from(packet.segments);
        self.alive = self.alive.wrapping_sub(u64::from(packet.segments));
    }

    /// A packet has died.
    pub fn died(&mut self, packet: &Packet) {
        self.accounts[packet.flow.0 as usize].dropped += u64::from(packet.segments);
        self.alive = self.alive.wrapping_sub(u64::from(packet.segments));
    }

    /// What became of a flow's packets.
    pub fn account(&self, flow: usize) -> Account {
        self.accounts[flow]
    }

    /// Bytes that it holds.
    pub fn capacity_bytes(&self) -> usize {
        self.accounts.capacity() * size_of::<Account>()
    }
}
