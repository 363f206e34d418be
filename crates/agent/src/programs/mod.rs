//! The machine's own programs in the experiment's hosts.
//!
//! ```text
//! plan      what is to run, as types
//! running   the agent's side: starts them, keeps what they say, stops them, reports
//! launch    the child's side: enters its host and its room, then becomes the program
//! leavings  what it left in its working folder, carried out at the end
//! processes who belongs to a program
//! room      what a program sees of the machine, and what it may write
//! ```
//!
//! When one starts and whose connections are whose is `lab`'s.

pub mod launch;
pub mod leavings;
pub mod plan;
pub mod processes;
mod room;
pub mod running;
