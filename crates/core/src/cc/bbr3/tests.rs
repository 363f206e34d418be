//! BBR 3 behind a real sender, on a path that does as it is told.

mod cases;
mod changes;
mod lane;
mod loss;
mod models;
