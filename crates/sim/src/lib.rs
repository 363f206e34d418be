//! A deterministic packet-level simulator: topology and event processing.
//!
//! Turns a [`Plan`] into a [`RunResult`]. `dumbbell-net` has protocols and queues.
//!
//! ```
//! use dumbbell_net::time::Time;
//! use dumbbell_sim::{Plan, World};
//!
//! let plan = Plan::from_json(
//!     r#"{
//!     "seed": 1, "duration": 1000000000, "sample": 100000000, "ends_when_done": false,
//!     "hosts": ["sender", "receiver"], "wires": [{"left": "sender", "right": "receiver"}],
//!     "devices": [], "changes": [], "queues": [], "probes": [],
//!     "flows": [{"name": "u", "sender": "sender", "receiver": "receiver", "start": 0, "port": 5201,
//!                "traffic": {"udp": {"payload": 1000, "mtu": 1500, "interval": 10000000}}}]}"#,
//! )?;
//! let mut world = World::new(&plan)?;
//! world.run(Time::NEVER)?;
//! assert_eq!(world.finish().report.flows[0].bytes_received, 101_000);
//! # Ok::<(), dumbbell_sim::Error>(())
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`plan`] | input |
//! | [`event_queue`] | order of events |
//! | [`world`] | processing of events and packets |
//! | [`table`], [`report`] | output |
//! | [`trace`] | packets as a capture file |
//! | [`packet_trace`] | path of every packet in a time window |
//!
//! This crate uses no clock, threads or files: the caller reads the time and writes the results.

#![forbid(unsafe_code)]

mod ends;
pub mod error;
pub mod event_queue;
mod net;
pub mod packet_trace;
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
pub use report::{Progress, Report, RunResult};
pub use table::{Column, Table};
pub use world::World;
