//! Rules between programs and the experiment: times, and names that must differ.

use crate::declare::location::Report;
use crate::model::Experiment;
use std::collections::{HashMap, HashSet};

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
            let hint = format!("there is: {}", groups.join(", "));
            report.fault(&key("group"), format!("no group of flows is called '{group}'"), hint);
        }
        if groups.contains(name) {
            let hint = format!(
                "its connections become a group of that name too: give one of them another name, such as name = \
                 '{name}-program'"
            );
            report.fault(&key("name"), format!("program '{name}' is called like a group of flows"), hint);
        }
    }
}
