//! The agent on a real host: its part of an experiment on somebody's machine, which is left as it was.
//!
//! ```text
//! speaker  talks with Python over standard input and output, which ssh carries; knows what comes next
//! frames   what is said, and how it looks on the wire
//! facts    what this machine is and has, before anything is changed
//! state    the devices, settings and disciplines that a part may change: read, compared, put back
//! undo     what there was, on file, for whoever comes after a crash
//! warden   a process of its own session that puts everything back, whatever becomes of the others
//! ```
//!
//! ```text
//! ssh ── speaker ── warden ── lab      each a process; a lab dies with its warden
//!            └─ when the warden dies, the speaker puts everything back; when both die, the next speaker
//! ```
//!
//! The experiment itself is `lab`'s; which part of it is this machine's, `dumbbell.plan.remote` says.

mod facts;
mod frames;
mod speaker;
mod state;
mod undo;
mod warden;

pub use speaker::speak;
