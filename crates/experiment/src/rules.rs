//! Rules between several keys, by the table that they are about.

pub mod experiment;
pub mod flows;
pub mod hosts;
pub mod path;
pub mod programs;
pub mod settings;
pub mod source;
pub mod sweep;
