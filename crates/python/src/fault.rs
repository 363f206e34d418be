//! Errors as Python exceptions: invalid plans, and bugs in the simulator.

use crate::errors::{EngineError, PlanError};
use dumbbell_sim::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

create_exception!(dumbbell._sim, Outgrown, PyRuntimeError, "A run exceeds its memory limit.");

thread_local! {
    /// Message and location of this thread's last panic.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores panics instead of printing them; [`guarded`] converts them to exceptions.
pub fn catch_panics() {
    set_hook(Box::new(|panic| LAST.with_borrow_mut(|last| *last = panic.to_string())));
}

/// Runs simulator code; a panic becomes a [`EngineError`].
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    let Ok(answer) = catch_unwind(AssertUnwindSafe(work)) else {
        let last = LAST.with_borrow(String::clone);
        return Err(EngineError::new_err(format!(
            "{last}. This is a bug in Dumbbell: please report it with the experiment"
        )));
    };
    answer.map_err(raised)
}

fn raised(error: Error) -> PyErr {
    match error {
        Error::Violation { .. } => EngineError::new_err(error.to_string()),
        Error::Capture(error) => PyOSError::new_err(error),
        refused => PlanError::new_err(format!("the simulator can't run this: {refused}")),
    }
}
