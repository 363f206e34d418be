//! The files between Dumbbell and its agent, each declared once.
//!
//! `crates/experiment` writes plans and `crates/agent` reads them. The agent writes records and Python decodes them, by
//! the layouts that `crates/python` passes on. Pure: no I/O.

pub mod plan;
pub mod records;
