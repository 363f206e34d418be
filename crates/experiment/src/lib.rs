//! The experiment language: TOML text to a typed [`Experiment`], and an experiment to a plan for an engine.
//!
//! The crate does no I/O. Files that an experiment names (traces, tc scripts) are handed in by a resolver.

pub mod model;
pub mod plan;

pub use model::Experiment;
