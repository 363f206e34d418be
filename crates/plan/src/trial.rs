//! What a plan needs of a host's kernel, tried before the run: qdiscs and filters on a new link, controllers.

use crate::Plan;
use dumbbell_tc::{Command, Object, Verb};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The device on which commands are tried.
pub const TRIAL_DEVICE: &str = "trial";

/// `trial.json`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Commands on the device [`TRIAL_DEVICE`], by the kind of qdisc or filter that they try.
    pub commands: BTreeMap<String, Vec<Command>>,
    /// Controllers that a socket shall take.
    pub controllers: BTreeSet<String>,
}

impl Plan {
    /// A trial of each kind of qdisc, filter and controller in the plan.
    #[must_use]
    pub fn trial(&self) -> Trial {
        let mut commands = BTreeMap::<String, Vec<Command>>::new();
        let mut qdiscs = BTreeMap::<(&str, &str, &str), Command>::new();
        let steps = self.steps().filter_map(|step| Some((&step.host[..], step.tc()?)));
        for (host, command) in steps.filter(|(_, command)| !command.target().kind.is_empty()) {
            let target = command.target();
            let major = |word: &'_ str| word.split(':').next().unwrap_or_default().to_owned();
            let options = [&[&target.kind[..]], &command.options()[..]].concat().join(" ");
            match command.object() {
                Object::Qdisc => {
                    let place = if target.is_of_arrivals() { "" } else { "root handle 1:" };
                    let alone = tried(&format!("qdisc add dev {TRIAL_DEVICE} {place} {options}"));
                    commands.entry(target.kind.clone()).or_insert_with(|| vec![alone.clone()]);
                    let handle = target.handle.as_deref().unwrap_or_default().trim_end_matches(':');
                    qdiscs.insert((host, command.device(), handle), alone);
                }
                // The device that it names is not there yet.
                Object::Filter if command.mirrors_to().is_some() => {}
                Object::Filter => {
                    let protocol = target.protocol.as_deref().unwrap_or("all");
                    let filter =
                        tried(&format!("filter add dev {TRIAL_DEVICE} parent 1: protocol {protocol} prio 1 {options}"));
                    let parent = target.parent.as_deref().map(major).unwrap_or_default();
                    let qdisc = qdiscs.get(&(host, command.device(), &parent[..])).cloned();
                    let police = if command.options().contains(&"police") { " with police" } else { "" };
                    let what = format!("filter {}{police}", target.kind);
                    commands.entry(what).or_insert_with(|| qdisc.into_iter().chain([filter]).collect());
                }
                Object::Class => {}
            }
        }
        Trial { commands, controllers: self.linux_controllers().map(String::from).collect() }
    }

    /// The kinds of qdiscs that its commands add.
    #[must_use]
    pub fn kinds_of_qdiscs(&self) -> BTreeSet<String> {
        let adds = |command: &&Command| {
            command.object() == Object::Qdisc && matches!(command.verb(), Verb::Add | Verb::Replace)
        };
        self.tc_commands().filter(adds).map(|command| command.target().kind.clone()).collect()
    }

    /// Whether a netem drops exactly one packet in every so many, which only the simulator can do.
    #[must_use]
    pub fn drops_every_nth(&self) -> bool {
        self.tc_commands().any(|command| command.target().kind == "netem" && command.options().contains(&"every"))
    }
}

fn tried(line: &str) -> Command {
    Command::of_line(line).expect("it adds a qdisc or filter")
}
