//! The experiment language: TOML text to a typed [`Experiment`], and an experiment to a plan for an engine.
//!
//! The crate does no I/O. Files that an experiment names (traces, tc scripts) are handed in by a resolver.
//!
//! | module | holds |
//! | --- | --- |
//! | [`document`], [`cases`], [`keypath`] | a text to cases: settings, crossed lists, dotted keys |
//! | [`toml`], [`value`], [`write`](mod@write) | TOML to values with their places, and back; values by serde |
//! | [`keys`] | each key, declared once; `keys::rules` between them |
//! | [`declare`] | the macro of the declarations, and what a key may hold |
//! | [`model`] | the values of an experiment |
//! | [`units`], [`qdisc`], [`netem`], [`expectation`], [`script`], [`rate_trace`] | the languages of single values |
//! | [`diagnostic`], `render`, `texts` | mistakes as values; as text with an excerpt |
//! | [`schema`], [`reference`](mod@reference), [`stubs`] | what else is made of the declarations |
//! | [`sweep`], [`axes`], [`placeholders`] | sweep files; the values of an axis; names in braces |
//! | [`random`] | random valid experiments |

pub mod axes;
pub mod cases;
pub mod changes_file;
pub mod declare;
pub mod diagnostic;
pub mod document;
pub mod draw;
pub mod expectation;
pub mod figures;
pub mod format;
mod interchange;
pub mod keypath;
pub mod keys;
pub mod limits;
pub mod model;
pub mod names;
pub mod netem;
mod overrides;
pub mod placeholders;
pub mod plan;
pub mod qdisc;
pub mod random;
pub mod rate_trace;
pub mod reference;
pub mod renames;
#[cfg(feature = "excerpts")]
pub mod render;
pub mod schema;
pub mod script;
mod script_lines;
pub mod shell_words;
mod single;
pub mod sizes;
pub mod stubs;
pub mod suggest;
pub mod sweep;
mod texts;
pub mod toml;
pub mod units;
pub mod value;
pub mod write;

pub use diagnostic::Diagnostic;
pub use document::{Case, Options, parse, read};
pub use model::Experiment;
