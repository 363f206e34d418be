//! A deterministic packet-level simulator: when things happen, and who is connected to whom.
//!
//! A [`Plan`] goes in, an [`Outcome`] comes out; what a packet meets on its way is `dumbbell-core`'s affair.
//!
//! ```
//! use dumbbell_core::time::Time;
//! use dumbbell_sim::{Plan, World};
//!
//! let plan = Plan::from_json(
//!     r#"{
//!     "seed": 1, "duration": 1000000000, "sample": 100000000, "ends_when_done": false,
//!     "hosts": ["sender", "receiver"], "wires": [{"left": "sender", "right": "receiver"}],
//!     "devices": [], "changes": [], "queues": [], "probes": [],
//!     "flows": [{"name": "u", "sender": "sender", "receiver": "receiver", "start": 0, "port": 5201,
//!                "traffic": {"udp": {"payload": 1000, "interval": 10000000}}}]}"#,
//! )?;
//! let mut world = World::new(&plan)?;
//! world.run(Time::NEVER)?;
//! assert_eq!(world.finish().report.flows[0].bytes_received, 101_000);
//! # Ok::<(), dumbbell_sim::Error>(())
//! ```
//!
//! | room | decides |
//! | --- | --- |
//! | [`plan`] | what is to be simulated |
//! | [`agenda`] | what happens when, and what comes first at one instant |
//! | [`world`] | what each event and each packet sets in motion |
//! | [`table`], [`report`] | the form of what comes out |
//! | [`trace`] | packets as a capture file |
//! | [`journeys`] | where every packet was, for a window of time |
//!
//! No clock, no thread, no file: whoever runs a world reads the time and writes what comes out.

#![forbid(unsafe_code)]

pub mod agenda;
mod ends;
pub mod error;
pub mod journeys;
mod net;
pub mod plan;
pub mod report;
mod sampler;
pub mod table;
mod telemetry;
pub mod trace;
mod traffic;
pub mod world;

pub use error::Error;
pub use plan::Plan;
pub use report::{Outcome, Progress, Report};
pub use table::{Column, Table};
pub use world::World;
