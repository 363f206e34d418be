//! Rules of a program: when it runs.

use crate::declare::location::Report;
use crate::model::{Program, Stop};

/// When one program runs.
pub fn program(made: &Program, report: &mut Report<'_>) {
    if made.serves.is_some() && made.start > 0 {
        let right = "it starts before the experiment; leave 'start' out";
        report.fault("start", "a program that serves can't have a start", right);
    }
    if let Some(Stop::At(stop)) = made.stop
        && stop <= made.start
    {
        report.fault("stop", "stop is before start", "stop must be after start");
    }
    if made.ends && made.stays() {
        report.fault("ends", "'ends' needs a program that ends by itself", "leave 'ends' out");
    }
}
