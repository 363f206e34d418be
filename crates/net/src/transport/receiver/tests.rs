//! Receiver tests: dialogues, replayed runs of the real kernel, and invariants for any arrival.

mod dialogues;
mod invariants;
mod replay;
