//! TCP congestion control experiments on a deterministic packet simulator, for programs and tests in Rust.
//!
//! An experiment is a TOML text: a path, a queue, some flows. One call runs it; the result has metrics and columns.
//!
//! ```
//! use dumbbell::Experiment;
//!
//! let experiment = Experiment::from_toml(
//!     r#"
//!     duration = "20s"
//!     [path]
//!     rtt = "20ms"
//!     [path.bottleneck]
//!     rate = "10mbit"
//!     qdisc = "fq_codel"
//!     [[flows]]
//!     cc = "bbr"
//!     [[flows]]
//!     cc = "cubic"
//!     "#,
//! )?;
//! let run = experiment.run(1)?;
//! let metrics = run.metrics();
//! assert!(metrics.utilization.unwrap() > 0.9);
//! assert!(metrics.group("bbr").unwrap().share.unwrap() > 0.3);
//! # Ok::<(), dumbbell::Error>(())
//! ```
//!
//! A run is a function of the experiment, the seed and this build: the same three give the same bytes on every machine,
//! and the same as `dumbbell run` of the same version.
//!
//! The crate reads no file, no clock and no network. Files that an experiment names come from a [`Files`] that the
//! caller hands in.
//!
//! The keys of an experiment, the columns and the controllers are described in the project's documentation; the types
//! of the parsed values are in [`model`].

#![forbid(unsafe_code)]

mod error;
mod experiment;
mod files;
pub mod manifest;
mod metrics;
mod run;
mod simulation;
mod time_text;
pub mod validity;

pub use dumbbell_experiment::{Diagnostic, model};
pub use dumbbell_figures::{Figure, written_limit};
pub use dumbbell_metrics::{FlowMetrics, GroupMetrics, Metrics, QueueMetrics, Spread, cycle};
pub use dumbbell_net::time::Time;
pub use dumbbell_plan as plan;
pub use dumbbell_sim::packet_trace::{TraceResult, Window};
pub use dumbbell_table::{Cells, Column, Table};
pub use error::Error;
pub use experiment::Experiment;
pub use files::{Files, NoFiles};
pub use run::{Phase, Run, Series};
pub use simulation::Simulation;
