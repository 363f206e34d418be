//! `dumbbell._sim`: the simulator as a Python extension.
//!
//! Plans experiments, simulates plans, and returns tables as Arrow data without copying (`PyCapsule` protocol). The GIL
//! is released while a world runs, so that several run in parallel; the run pauses regularly for signals and progress
//! callbacks. `dumbbell.results` defines the tables.

mod arrow;
mod end;
mod endpoint;
mod errors;
mod experiment;
mod fault;
mod figures;
mod from_python;
mod keys;
mod loaded;
mod manifest;
mod metrics;
mod numbers;
mod plan;
mod run;
mod stacks;
mod sweep;
mod tc;
mod to_python;
mod values;

use pyo3::prelude::*;

/// The module. `dumbbell/_sim.pyi` holds the same signatures for type checkers.
#[pymodule]
mod _sim {
    #[pymodule_export]
    use super::arrow::Arrow;
    #[pymodule_export]
    use super::end::{Connection, End, ProgramReport, UdpFlow, closed_windows};
    #[pymodule_export]
    use super::endpoint::{Endpoint, SentSegment};
    #[pymodule_export]
    use super::experiment::{
        choose_case, declarations, inline_toml, keys_by_table, parse_experiment, parse_toml, random_experiment,
        read_experiment, set_keys, split_setting, upgrade_toml, write_toml,
    };
    #[pymodule_export]
    use super::fault::Outgrown;
    #[pymodule_export]
    use super::figures::{
        contrast, controller_hue, dark, figure, figure_groups, figure_lacks, figure_members, figure_page, kept_rows,
        shades, state_colours, written_limit,
    };
    #[pymodule_export]
    use super::keys::{Experiment, Keys, Qdisc};
    #[pymodule_export]
    use super::manifest::{
        Record, manifest_classes, manifest_keys, manifest_problem, manifest_text, of_document, parse_manifest, plain,
        run_manifest, write_manifest,
    };
    #[pymodule_export]
    use super::metrics::{Metrics, follows, infer_phase, jain_index, movement, period, spread, step_ns};
    #[pymodule_export]
    use super::numbers::Numbers;
    #[pymodule_export]
    use super::plan::{
        Change, Flow, Link, Plan, Probe, Program, Queue, RemoteHost, RemotePlan, Script, SimulatorPlan, Step,
        is_of_the_machine, socket_table,
    };
    #[pymodule_export]
    use super::run::{check, packet_trace, parameters, simulate};
    #[pymodule_export]
    use super::stacks::stacks;
    #[pymodule_export]
    use super::sweep::{
        fill, number_of, parse_axis, parse_sweep, placeholders, read_map, read_sweep, value_between, value_of_number,
    };
    #[pymodule_export]
    use super::tc::{TcChange, TcTree};
    #[pymodule_export]
    use super::values::{parse_expectation, parse_metric, parse_value, rate_text, suggest, time_text, units_of};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::fault::catch_panics();
        let mapping = module.py().import("collections.abc")?.getattr("Mapping")?;
        mapping.call_method1("register", (module.py().get_type::<super::manifest::Record>(),))?;
        module.add("MANIFEST_FORMAT", dumbbell::manifest::FORMAT)?;
        module.add("SOCKET_DROPS", dumbbell::validity::kernel::SOCKET_DROPS.to_vec())?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("CONTROLLERS", dumbbell_net::cc::Controller::NAMES)?;
        module.add("TABLES", super::metrics::declared())?;
        module.add("OLDER_COLUMNS", dumbbell_metrics::columns::OLDER.to_vec())?;
        module.add("TABLE_FORMAT", dumbbell_metrics::columns::FORMAT)?;
        module.add("METRIC_NAMES", crate::metrics::metric_names())?;
        module.add("SPREAD_PARTS", dumbbell_metrics::PARTS.to_vec())?;
        super::figures::add_names(module)?;
        super::experiment::add_defaults(module)?;
        super::plan::add_names(module)?;
        super::sweep::add_names(module)?;
        super::tc::add_grammar(module)
    }
}
