//! BBR version 3 with a real sender on a configurable path.

mod cases;
mod changes;
mod loss;
mod models;
mod test_path;
