//! What a receiver does: dialogues, runs of the real kernel, and laws for any arrival.

mod dialogues;
mod laws;
mod replay;
