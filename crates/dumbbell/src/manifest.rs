//! `run.json` and `sweep.json`: the keys that a file may have, each declared once with the kind of its value.
//!
//! | module | contents |
//! | --- | --- |
//! | [`shape`] | kinds of values: checks, names in the manual, types in Python |
//! | [`keys`] | the keys of both files |
//! | [`file`] | reading and writing |
//! | [`run`] | the manifest of a run, made of its plan and its end |

pub mod file;
pub mod keys;
pub mod run;
pub mod shape;

/// Version of both files; increased when an older reader would misread a newer folder.
pub const FORMAT: u64 = 1;
