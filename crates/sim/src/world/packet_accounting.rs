//! Packet accounting: counts every segment from sending to its end.

use dumbbell_net::packet::{Body, FlowId, Packet};

/// All segments. A super-packet counts each of its segments.
#[derive(Clone, Debug)]
pub struct PacketAccounting {
    accounts: Vec<Account>,
    /// Segments in flight.
    pub in_flight: u64,
    /// Maximum in flight.
    pub peak: u64,
    /// Data segments sent by TCP and UDP flows.
    pub data_packets: u64,
    /// Segments sent by hosts.
    pub sent: u64,
    /// Copies not attributed to a flow.
    pub unclaimed: u64,
}

/// Segments of one flow, both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Sent by its hosts, netem's copies included.
    pub sent: u64,
    /// Arrived at its hosts.
    pub received: u64,
    /// Dropped.
    pub dropped: u64,
}

impl Account {
    /// Number of segments beyond the counters if `found` are in flight; None if some are missing. The surplus must be
    /// unattributed copies.
    pub const fn surplus(&self, found: u64) -> Option<u64> {
        (found + self.received + self.dropped).checked_sub(self.sent)
    }
}

impl PacketAccounting {
    /// No segments.
    pub fn of(flows: usize) -> Self {
        Self {
            accounts: vec![Account::default(); flows],
            in_flight: 0,
            peak: 0,
            data_packets: 0,
            sent: 0,
            unclaimed: 0,
        }
    }

    /// A host sends a packet.
    #[inline]
    pub fn add_sent(&mut self, packet: &Packet) {
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

    /// netem duplicated segments of a flow.
    #[inline]
    pub fn copied(&mut self, flow: FlowId, segments: u64) {
        self.accounts[flow.0 as usize].sent += segments;
        self.in_flight += segments;
        self.peak = self.peak.max(self.in_flight);
    }

    /// netem duplicated segments of an unknown flow, during dequeue.
    #[inline]
    pub fn copied_somewhere(&mut self, segments: u64) {
        self.unclaimed += segments;
        self.in_flight += segments;
    }

    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet) {
        self.accounts[packet.flow.0 as usize].received += u64::from(packet.segments);
        self.in_flight = self.in_flight.wrapping_sub(u64::from(packet.segments));
    }

    /// A packet was dropped.
    pub fn add_dropped(&mut self, packet: &Packet) {
        self.accounts[packet.flow.0 as usize].dropped += u64::from(packet.segments);
        self.in_flight = self.in_flight.wrapping_sub(u64::from(packet.segments));
    }

    /// Counters of a flow.
    pub fn account(&self, flow: usize) -> Account {
        self.accounts[flow]
    }

    /// Allocated bytes.
    pub fn capacity_bytes(&self) -> usize {
        self.accounts.capacity() * size_of::<Account>()
    }
}
