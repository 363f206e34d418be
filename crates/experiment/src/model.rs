//! The values of an experiment: what each key holds after parsing.
//!
//! Times are nanoseconds, rates bits per second, sizes bytes. A field has the name of its key. The tables are declared in
//! `keys`, the values of single keys in `single`.

pub use crate::keys::experiment::{Experiment, Probe, Trace};
pub use crate::keys::flows::Flows;
pub use crate::keys::hosts::{End, Hosts, Router};
pub use crate::keys::path::{Bottleneck, Impairment, Link, PacketFate, Path, Position, Segment, Side, Verbatim};
pub use crate::keys::programs::Program;
pub use crate::keys::settings::{Change, Tcp, TcpDefaults};
pub use crate::keys::source::{Seen, Source};
pub use crate::single::{BdpSize, BitsPerSecond, Bytes, FileContent, Nanoseconds, NetemArguments, Qdisc, Stop};
pub use dumbbell_plan::{Direction, ParameterValue, ProbeKind, Transport};
