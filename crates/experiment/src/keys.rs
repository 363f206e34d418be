//! Every key of an experiment: its type, its default, its bounds, its meaning. One entry makes everything else.

pub mod experiment;
pub mod flows;
pub mod hosts;
pub mod path;
pub mod programs;
pub mod settings;
pub mod source;
pub mod sweep;
