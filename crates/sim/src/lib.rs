//! A deterministic packet-level simulator: topology and event processing.
//!
//! Turns a [`Plan`] into a [`RunResult`]. `dumbbell-net` has protocols and queues.
//!
//! ```
//! use dumbbell_net::time::{Span, Time};
//! use dumbbell_sim::plan::{Flow, Link, Traffic, Udp};
//! use dumbbell_sim::{Plan, World};
//!
//! let flow = Flow {
//!     name: "u".into(),
//!     group: "u".into(),
//!     sender: "sender".into(),
//!     receiver: "receiver".into(),
//!     start: Time::ZERO,
//!     wait: dumbbell_plan::Wait::default(),
//!     stop: None,
//!     port: 5201,
//!     mark: 0,
//!     traffic: Traffic::Udp(Udp {
//!         payload: 1000,
//!         mtu: 1500,
//!         interval: Span::from_millis(10),
//!         on_off: None,
//!         ecn: false,
//!         sndbuf: None,
//!         rcvbuf: None,
//!     }),
//! };
//! let plan = Plan {
//!     seed: 1,
//!     duration: Span::from_secs(1),
//!     sample: Span::from_millis(100),
//!     ends_when_done: false,
//!     every_change: false,
//!     hosts: vec!["sender".into(), "receiver".into()],
//!     wires: vec![Link { left: "sender".into(), right: "receiver".into() }],
//!     devices: Vec::new(),
//!     flows: vec![flow],
//!     probes: Vec::new(),
//!     changes: Vec::new(),
//!     routes: Vec::new(),
//!     queues: Vec::new(),
//!     capture: None,
//! };
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
//! | [`Table`], [`report`] | output |
//! | [`capture`] | packets as a capture file |
//! | [`packet_trace`] | path of every packet in a time window |
//!
//! This crate uses no clock, threads or files: the caller reads the time and writes the results.

#![forbid(unsafe_code)]

pub mod capture;
mod ends;
pub mod error;
pub mod event_queue;
mod net;
pub mod packet_trace;
pub mod plan;
pub mod report;
mod sampler;
mod telemetry;
mod traffic;
pub mod world;

pub use dumbbell_table::{Column, Table};
pub use error::Error;
pub use plan::Plan;
pub use report::{Progress, Report, RunResult};
pub use world::World;
