//! What went wrong, as Python's exceptions: a plan that can't be carried out, or a fault of our own.

use dumbbell_sim::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

create_exception!(dumbbell._sim, Refused, PyValueError, "The simulator can't carry out this plan.");
create_exception!(dumbbell._sim, Outgrown, PyRuntimeError, "A run holds more than it may.");
create_exception!(dumbbell._sim, Fault, PyRuntimeError, "The simulator broke a law of its own.");

thread_local! {
    /// What this thread's last panic said, and where.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on a panic is remembered instead of printed: [`guarded`] makes an exception of it.
pub fn catch_panics() {
    set_hook(Box::new(|panic| LAST.with_borrow_mut(|last| *last = panic.to_string())));
}

/// Runs our own code; a panic in it becomes a [`Fault`].
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    let Ok(answer) = catch_unwind(AssertUnwindSafe(work)) else {
        let last = LAST.with_borrow(String::clone);
        return Err(Fault::new_err(format!(
            "{last}. This is a fault in Dumbbell: please report it with the experiment"
        )));
    };
    answer.map_err(raised)
}

fn raised(error: Error) -> PyErr {
    match error {
        Error::Violation { .. } => Fault::new_err(error.to_string()),
        Error::Capture(error) => PyOSError::new_err(error),
        refused => Refused::new_err(refused.to_string()),
    }
}
