//! The two ends of a flow: a host's state of a connection. [`crate::world`] acts on it.

use crate::event_queue::Timer;
use crate::net::DeviceId;
use crate::traffic::tcp::SocketInterest;
use dumbbell_net::time::Time;
use dumbbell_net::transport::Endpoint;

/// One end of a flow; those of UDP flows have no endpoint.
#[derive(Debug, Default)]
pub struct End {
    /// The TCP endpoint, from the flow's start until both ends have closed.
    pub endpoint: Option<Box<Endpoint>>,
    /// Its timer.
    pub timer: Timer,
    /// The device that sends its packets.
    pub device: DeviceId,
    /// The socket event that its application waits for.
    pub interest: SocketInterest,
    /// When its program has opened it and can use it.
    pub opened: Time,
    /// Whether its device splits super-packets because offloads are off.
    pub cuts: bool,
    /// Whether packets of its flow carry telemetry.
    pub has_telemetry: bool,
    /// Whether the application closed the socket; new data is then answered with a reset.
    pub shut: bool,
}
