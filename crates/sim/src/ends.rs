//! The two ends of a flow: what a host knows of its side of a connection. What happens there is the world's.

use crate::agenda::Alarm;
use crate::net::DeviceId;
use crate::traffic::tcp::Attention;
use dumbbell_core::transport::Endpoint;

/// One end of a flow; a UDP flow's have no endpoint.
#[derive(Debug, Default)]
pub struct End {
    /// The TCP machine, from the flow's start until both ends have closed.
    pub endpoint: Option<Box<Endpoint>>,
    /// Its timer.
    pub alarm: Alarm,
    /// The device by which its packets leave.
    pub device: DeviceId,
    /// What its program waits for.
    pub attention: Attention,
    /// Does its device cut super-packets into their segments, having no offloads?
    pub cuts: bool,
    /// Do its flow's packets have telemetry?
    pub has_telemetry: bool,
    /// Has its program closed the socket? Then new data is answered with a reset.
    pub shut: bool,
}
