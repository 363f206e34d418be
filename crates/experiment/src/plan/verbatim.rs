//! A tc script's lines on every sender's device.

use super::building::Building;
use super::script_tree::{ScriptTree, handle, kind_position, word_after};
use super::types::{Command, Device, Queue};
use crate::script::{DEVICE, Script};

/// The script's commands; its qdiscs become queues of the plan, all of them under test.
pub(super) fn commands(building: &mut Building<'_>) -> Vec<Command> {
    let Some(script) = &building.attachments.script else { return Vec::new() };
    let tree = ScriptTree::read(&script.lines);
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
    commands
}

/// One queue per handle: a later command changes it, such as that of a gred's virtual queue.
fn queues(script: &Script, tree: &ScriptTree, device: &Device, suffix: &str) -> Vec<Queue> {
    let qdiscs = script.lines.iter().filter(|words| words.get(1).is_some_and(|word| word == "qdisc"));
    let queue = |words: &Vec<String>| {
        let written = word_after(words, "handle")?;
        let major = written.split(':').next().unwrap_or_default();
        let location = handle(written);
        Some(Queue {
            name: format!("tc.{major}{suffix}"),
            host: device.host.clone(),
            device: device.name.clone(),
            handle: format!("{major}:"),
            text: words[kind_position(words)?..].join(" "),
            under_test: true,
            key: format!("path.tc, {major}:"),
            may_drop: true,
            rates: Vec::new(),
            capped_bps: tree.capped_bps(&location),
            holds_netem: tree.holds_netem(&location),
        })
    };
    let mut queues = Vec::<Queue>::new();
    for queue in qdiscs.filter_map(queue) {
        match queues.iter_mut().find(|known| known.handle == queue.handle) {
            Some(known) => *known = queue,
            None => queues.push(queue),
        }
    }
    queues
}
