//! Types of the optional recordings in the plan, which `dumbbell.plan.inside` writes.

use serde::Deserialize;

/// The requested recordings; none by default.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recordings {
    /// Captured devices, in the order of the file's interfaces.
    pub captures: Vec<Place>,
    /// Bytes captured of each packet.
    pub snap_bytes: usize,
    /// Ring size in packets, per device.
    pub ring_frames: usize,
    /// Interval for reading the rings.
    pub capture_ns: Option<u64>,
    /// Interval for recording all sockets.
    pub sockets_ns: Option<u64>,
    /// Interval for recording the counters.
    pub counters_ns: Option<u64>,
    /// Trace events, as `SYSTEM:EVENT`.
    pub trace: Vec<String>,
    /// Interval for reading the trace.
    pub trace_ns: Option<u64>,
}

/// A device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Host.
    pub host: String,
    /// Name in the host.
    pub device: String,
}
