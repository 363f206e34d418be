//! Programs of the host system that run in the experiment's hosts.
//!
//! ```text
//! plan      types of the plan
//! running   starts and stops programs, stores their output, reports on them
//! launch    child process: enters its host and sandbox, then executes the program
//! artifacts files that a program wrote, copied out at the end
//! processes process groups, owners of sockets
//! datagrams UDP flows of programs, from packets
//! sandbox   files and capabilities that a program can use
//! ```
//!
//! `event_loop` decides when programs start and which connections are theirs.

pub mod artifacts;
pub mod datagrams;
pub mod launch;
pub mod processes;
pub mod running;
mod sandbox;
