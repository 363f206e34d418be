//! A tc script's lines on every sender's device.

use super::building::Building;
use super::error::Error;
use super::script_tree::ScriptTree;
use super::types::{Command, Device, Queue};
use crate::script::{DEVICE, Script};
use dumbbell_tc::tree::Tree;

/// The script's commands; the qdiscs that it leaves become queues of the plan, all of them under test.
pub(super) fn commands(building: &mut Building<'_>) -> Result<Vec<Command>, Error> {
    let Some(script) = &building.attachments.script else { return Ok(Vec::new()) };
    let tree = script.tree().map_err(|wrong| Error::at("path.tc", wrong.problem, wrong.right))?;
    refuse_missing(building, &tree)?;
    let senders = building.sender_hosts();
    let mut commands = Vec::new();
    for host in &senders {
        let device = building.right_of(host);
        let suffix = if senders.len() > 1 { format!("@{host}") } else { String::new() };
        let word = |word: &String| if word == DEVICE { device.name.clone() } else { word.clone() };
        commands.extend(
            script
                .lines
                .iter()
                .map(|words| Command::from_words(host, words.iter().map(word).collect()).for_key("path.tc")),
        );
        building.queues.extend(queues(script, &tree, &device, &suffix));
    }
    Ok(commands)
}

/// The name of the queue that has this handle, however it is written: of `01:1` tc takes `1:`.
pub(super) fn queue_name(queues: &[Queue], handle: &str) -> Option<String> {
    let of_script = queues.iter().filter(|queue| queue.key.starts_with("path.tc"));
    let mut named = of_script.filter(|queue| major(&queue.handle) == major(handle));
    named.next().map(|queue| queue.name.split('@').next().unwrap_or_default().to_owned())
}

/// The number before the colon, in hexadecimal.
fn major(handle: &str) -> Option<u32> {
    u32::from_str_radix(handle.split(':').next()?, 16).ok()
}

/// Refuses a queue to report that the script does not leave.
fn refuse_missing(building: &Building<'_>, tree: &Tree) -> Result<(), Error> {
    let Some(handle) = building.experiment.path.tc.as_ref().and_then(|tc| tc.queue.as_ref()) else { return Ok(()) };
    let left: Vec<_> = tree.places().filter(|place| !place.is_class).map(|place| place.location).collect();
    if left.iter().any(|location| major(location) == major(handle)) {
        return Ok(());
    }
    let problem = "no discipline of this handle is there when the script has run";
    Err(Error::at("path.tc.queue", problem, format!("one of: {}", left.join(", "))).with(handle.as_str()))
}

fn queues(script: &Script, tree: &Tree, device: &Device, suffix: &str) -> Vec<Queue> {
    let limits = ScriptTree::of(tree);
    let words = || script.lines.iter().flat_map(|line| line.windows(2)).filter(|pair| pair[0] == "handle");
    let written = |location: &str| {
        let named = words().rfind(|pair| major(&pair[1]) == major(location));
        named.map_or(location, |pair| &pair[1]).split(':').next().unwrap_or_default().to_owned()
    };
    let qdiscs = tree.places().filter(|place| !place.is_class);
    qdiscs
        .map(|place| Queue {
            name: format!("tc.{}{suffix}", written(&place.location)),
            host: device.host.clone(),
            device: device.name.clone(),
            text: [&[place.kind.to_owned()], place.options].concat().join(" "),
            under_test: true,
            key: format!("path.tc, {}", place.location),
            may_drop: true,
            rates: Vec::new(),
            capped_bps: limits.capped_bps(&place.location),
            holds_netem: limits.holds_netem(&place.location),
            handle: format!("{}:", written(&place.location)),
        })
        .collect()
}
