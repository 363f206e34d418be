//! `dumbbell._sim`: the simulator as a Python extension.
//!
//! Plans experiments, simulates plans, and returns tables as Arrow data without copying (`PyCapsule` protocol). The GIL
//! is released while a world runs, so that several run in parallel; the run pauses regularly for signals and progress
//! callbacks. `dumbbell.results` defines the tables.

mod arrow;
mod experiment;
mod fault;
mod numbers;
mod plan;
mod run;
mod tc;

use pyo3::prelude::*;

/// The module. `dumbbell/_sim.pyi` holds the same signatures for type checkers.
#[pymodule]
mod _sim {
    #[pymodule_export]
    use super::arrow::Arrow;
    #[pymodule_export]
    use super::experiment::{
        Mistakes, Wrong, declarations, parse_expectation, parse_experiment, parse_metric, parse_toml,
        random_experiment, read_experiment, units_of, write_toml,
    };
    #[pymodule_export]
    use super::fault::{Fault, Outgrown, Refused};
    #[pymodule_export]
    use super::numbers::Numbers;
    #[pymodule_export]
    use super::plan::{Plan, PlanRefused, RemotePlan, SimulatorPlan, is_of_the_machine};
    #[pymodule_export]
    use super::run::{check, packet_trace, parameters, simulate};
    #[pymodule_export]
    use super::tc::{TcChange, TcError, TcTree};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::fault::catch_panics();
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("CONTROLLERS", dumbbell_core::cc::Controller::NAMES)?;
        super::tc::add_grammar(module)
    }
}
