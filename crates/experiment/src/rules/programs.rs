//! Rules of programs: when they run, and names that must differ.

use crate::declare::location::Report;
use crate::model::{Experiment, Program, Stop};
use std::collections::{HashMap, HashSet};

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

/// Do programs fit each other and the experiment?
pub fn check(made: &Experiment, report: &mut Report<'_>) {
    let flows: u64 = made.flows.iter().map(|flows| u64::from(flows.count)).sum();
    if made.programs.is_empty() && flows == 0 {
        report.fault("flows", "neither flows nor programs", "add [[flows]] or [[programs]]");
    }
    let groups = made.group_names();
    let outputs =
        made.programs.iter().flat_map(|each| ["out", "err"].map(|stream| (format!("{}.{stream}", each.name), each)));
    let outputs: HashMap<_, _> = outputs.collect();
    let mut names = HashSet::new();
    for (number, program) in made.programs.iter().enumerate() {
        let key = |name: &str| format!("programs.{number}.{name}");
        let name = &program.name;
        if !names.insert(name) {
            report.fault(&key("name"), format!("two programs called '{name}'"), "name each differently");
        }
        if let Some(other) = outputs.get(name) {
            // What it writes is kept in a folder of that name.
            let problem = format!("program '{name}' is called like the output of program '{}'", other.name);
            report.fault(&key("name"), problem, "name it differently");
        }
        if program.start >= made.duration {
            let problem = format!("program '{name}' starts after the end");
            report.fault(&key("start"), problem, "start it before the duration is over");
        }
        if let Some(group) = program.group.as_ref().filter(|group| !groups.contains(group)) {
            let right = format!("there is: {}", groups.join(", "));
            report.fault(&key("group"), format!("no group of flows is called '{group}'"), right);
        }
        if groups.contains(name) {
            let right = format!(
                "its connections become a group of that name too: give one of them another name, such as name = \
                 '{name}-program'"
            );
            report.fault(&key("name"), format!("program '{name}' is called like a group of flows"), right);
        }
    }
}

impl Program {
    /// Whether it runs until it is stopped.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.serves.is_some() || self.stop == Some(Stop::End)
    }
}
