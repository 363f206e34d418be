//! `dumbbell._sim`: the simulator as a Python extension, and nothing else.
//!
//! A plan goes in as JSON; tables come out as Arrow, by the `PyCapsule` protocol, without being copied. The
//! interpreter's lock is released while a world runs, so that several run side by side; now and then the run stops
//! for signals and for whoever watches. What a plan says is `dumbbell.plan.world`'s affair, what a table means
//! `dumbbell.result`'s.

mod arrow;
mod fault;
mod numbers;
mod run;

use pyo3::prelude::*;

/// The module. `dumbbell/_sim.pyi` says the same to type checkers.
#[pymodule]
mod _sim {
    #[pymodule_export]
    use super::arrow::Arrow;
    #[pymodule_export]
    use super::fault::{Fault, Outgrown, Refused};
    #[pymodule_export]
    use super::numbers::Numbers;
    #[pymodule_export]
    use super::run::{check, journeys, parameters, simulate};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::fault::catch_panics();
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("CONTROLLERS", dumbbell_core::cc::Controller::NAMES)
    }
}
