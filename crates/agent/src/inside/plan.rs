//! What is to be looked at, as types; `dumbbell.plan.inside` writes it.

use serde::Deserialize;

/// What is to be looked at; nothing by default.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wishes {
    /// Devices whose packets are wanted, in the order of the file's interfaces.
    pub captures: Vec<Place>,
    /// Bytes kept of a packet.
    pub snap_bytes: usize,
    /// Packets that may wait for a look, a device.
    pub ring_frames: usize,
    /// Time between looks at the packets that wait.
    pub capture_ns: Option<u64>,
    /// Time between looks at all sockets.
    pub sockets_ns: Option<u64>,
    /// Time between looks at the counters.
    pub counters_ns: Option<u64>,
    /// Trace events, as `SYSTEM:EVENT`.
    pub trace: Vec<String>,
    /// Time between looks at the trace.
    pub trace_ns: Option<u64>,
}

/// A device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its host.
    pub host: String,
    /// Its name there.
    pub device: String,
}
