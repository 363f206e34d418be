//! The agent on a real host: runs one end of an experiment and restores the host afterwards.
//!
//! ```text
//! control   exchanges messages with Python over standard input and output, which ssh forwards
//! frames    the messages and their encoding
//! facts     properties of the host, read before anything is changed
//! state     devices, settings and qdiscs that the plan may change: reads, compares and restores them
//! undo      the initial state in a file, for recovery after a crash
//! watchdog  a process in its own session that restores the host even if all others die
//! ```
//!
//! ```text
//! ssh ── control ── watchdog ── event loop      three processes; the event loop dies with the watchdog
//!            └─ restores the host if the watchdog dies; if both die, the next agent does
//! ```
//!
//! `event_loop` runs the experiment; `crates/experiment/src/plan/remote.rs` decides which part runs on which
//! host.

mod control;
mod facts;
mod frames;
mod state;
mod undo;
mod watchdog;

pub use control::run;
