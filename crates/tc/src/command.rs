//! A tc command, split once: what it changes, how, where, and the options.

use crate::stab;
use crate::syntax::Wrong;
use crate::syntax::location::{Location, class_id};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Index of the first word behind object and verb.
const FIRST: usize = 2;

/// Handle of `ingress` and `clsact`, which tc sets.
pub const ARRIVALS: &str = "ffff:";
/// The words of a filter for the two blocks of a clsact, and its parents (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
const INGRESS_BLOCKS: [(&str, &str); 2] = [("ingress", "ffff:fff2"), ("egress", "ffff:fff3")];

/// Whether a kind of qdisc holds filters of packets that arrive, and no packets.
#[must_use]
pub fn is_of_arrivals(kind: &str) -> bool {
    matches!(kind, "ingress" | "clsact")
}

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A queue discipline.
    Qdisc,
    /// A class of one.
    Class,
    /// A filter of one.
    Filter,
}

impl Object {
    /// As tc writes it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Qdisc => "qdisc",
            Self::Class => "class",
            Self::Filter => "filter",
        }
    }
}

/// What a command does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Adds one that is not there.
    Add,
    /// Changes one that is there.
    Change,
    /// Changes it or adds it.
    Replace,
    /// Deletes it.
    Delete,
}

/// The words between the verb and the options: where the object is, and its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Name of the device.
    pub device: Option<String>,
    /// Whether it is the root; a later `parent` does not undo that.
    pub is_root: bool,
    /// Handle or class above, as written.
    pub parent: Option<String>,
    /// Handle of a qdisc or filter, as written.
    pub handle: Option<String>,
    /// Class id of a class, as written.
    pub classid: Option<String>,
    /// Protocol of a filter.
    pub protocol: Option<String>,
    /// Priority of a filter.
    pub priority: Option<String>,
    /// The words behind `stab` of a qdisc: how its device's link layer counts sizes.
    pub stab: Vec<String>,
    /// Kind; empty if it is left out.
    pub kind: String,
}

impl Target {
    /// Reads words from index `at` on; the index of the kind.
    fn read(object: Object, words: &[String], mut at: usize) -> (Self, usize) {
        let mut target = Self::default();
        while let Some(word) = words.get(at) {
            if word == "root" {
                (target.parent, target.is_root) = (None, true);
                at += 1;
                continue;
            }
            if let (Object::Filter, Some((_, parent))) =
                (object, INGRESS_BLOCKS.iter().find(|(block, _)| *block == &word[..]))
            {
                target.parent = Some((*parent).into());
                at += 1;
                continue;
            }
            if word == "stab" && object == Object::Qdisc {
                at += 1;
                while let Some([option, value]) = words.get(at..at + 2).filter(|pair| stab::is_option(&pair[0])) {
                    target.stab.extend([option.clone(), value.clone()]);
                    at += 2;
                }
                continue;
            }
            let place = match (&word[..], object) {
                ("dev", _) => &mut target.device,
                ("parent", _) => &mut target.parent,
                ("handle", _) => &mut target.handle,
                ("classid", Object::Qdisc | Object::Class) => &mut target.classid,
                ("protocol", Object::Filter) => &mut target.protocol,
                ("prio" | "pref" | "priority", Object::Filter) => &mut target.priority,
                _ => break,
            };
            let Some(value) = words.get(at + 1) else { break };
            *place = Some(value.clone());
            at += 2;
        }
        target.kind = words.get(at).cloned().unwrap_or_default();
        if object == Object::Qdisc && target.is_of_arrivals() {
            target.handle = Some(ARRIVALS.into());
        }
        (target, at)
    }

    /// Whether it is `ingress` or `clsact`, which hold filters of packets that arrive, and no packets.
    #[must_use]
    pub fn is_of_arrivals(&self) -> bool {
        is_of_arrivals(&self.kind)
    }

    /// The place as messages name it.
    #[must_use]
    pub fn parent_text(&self) -> &str {
        if self.is_of_arrivals() { &self.kind } else { self.parent.as_deref().unwrap_or("root") }
    }
}

/// A command. It prints as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Command {
    object: Object,
    verb: Verb,
    /// The words after `tc`.
    words: Vec<String>,
    target: Target,
    /// Index of the kind, before which its place is.
    kind_at: usize,
}

impl Command {
    /// Reads the words after `tc`.
    ///
    /// # Errors
    ///
    /// It is no command that adds, changes, replaces or deletes a qdisc, class or filter.
    pub fn read(words: Vec<String>) -> Result<Self, Wrong> {
        let unknown = || Wrong::new("not a tc command of setup", "tc qdisc, tc class or tc filter");
        let [object, verb, ..] = &words[..] else { return Err(unknown()) };
        let object = match &object[..] {
            "qdisc" => Object::Qdisc,
            "class" => Object::Class,
            "filter" => Object::Filter,
            _ => return Err(unknown()),
        };
        let verb = match &verb[..] {
            "add" => Verb::Add,
            "change" => Verb::Change,
            "replace" => Verb::Replace,
            "del" | "delete" => Verb::Delete,
            other => {
                let problem = format!("'{other}' can't be applied to a {}", object.word());
                return Err(Wrong::new(problem, "add, replace, change or del"));
            }
        };
        let (target, kind_at) = Target::read(object, &words, FIRST);
        Ok(Self { object, verb, words, target, kind_at })
    }

    /// Reads a line of plain words, without `tc`.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn of_line(line: &str) -> Result<Self, Wrong> {
        Self::read(line.split_ascii_whitespace().map(String::from).collect())
    }

    /// What it is about.
    #[must_use]
    pub const fn object(&self) -> Object {
        self.object
    }

    /// What it does.
    #[must_use]
    pub const fn verb(&self) -> Verb {
        self.verb
    }

    /// Where the object is, and its kind.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Name of its device; empty if it names none.
    #[must_use]
    pub fn device(&self) -> &str {
        self.target.device.as_deref().unwrap_or_default()
    }

    /// The words after the kind.
    #[must_use]
    pub fn options(&self) -> Vec<&str> {
        self.words.iter().skip(self.kind_at + 1).map(String::as_str).collect()
    }

    /// The words after `tc`, as written.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether this is the object that netlink knows by a handle, however that is written: of `01:1`, tc takes `1:1`.
    #[must_use]
    pub fn names(&self, id: u32) -> bool {
        let Target { handle, classid, .. } = &self.target;
        match self.object {
            Object::Qdisc => handle.as_deref().and_then(|word| Location::read(word).ok()?.handle().ok()) == Some(id),
            Object::Class => classid.as_deref().and_then(|word| class_id(word).ok()) == Some(id),
            Object::Filter => false,
        }
    }

    /// The device to which its action `mirred` gives packets.
    #[must_use]
    pub fn mirrors_to(&self) -> Option<&str> {
        let mirred = self.words.iter().skip(self.kind_at).skip_while(|word| *word != "mirred");
        mirred.skip_while(|word| *word != "dev").nth(1).map(String::as_str)
    }

    /// The same command for another device; one that names no device stays as it is.
    #[must_use]
    pub fn on(&self, device: &str) -> Self {
        let Some(old) = &self.target.device else { return self.clone() };
        let mut words = self.words.clone();
        let of_device = |at: &usize| words[*at] == "dev" && words[at + 1] == *old;
        if let Some(at) = (FIRST..self.kind_at - 1).rev().find(of_device) {
            words[at + 1] = device.into();
        }
        Self { target: Target { device: Some(device.into()), ..self.target.clone() }, words, ..*self }
    }

    /// The same command with a handle.
    #[must_use]
    pub fn with_handle(mut self, handle: String) -> Self {
        self.words.splice(self.kind_at..self.kind_at, ["handle".to_owned(), handle.clone()]);
        self.target.handle = Some(handle);
        self.kind_at += 2;
        self
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tc {}", self.words.join(" "))
    }
}

impl TryFrom<Vec<String>> for Command {
    type Error = Wrong;

    fn try_from(words: Vec<String>) -> Result<Self, Wrong> {
        Self::read(words)
    }
}

impl From<Command> for Vec<String> {
    fn from(command: Command) -> Self {
        command.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_command_is_split_into_place_kind_and_options() {
        let command =
            Command::of_line("qdisc add dev right parent 1:1 handle 10: fq_codel limit 100").expect("tc has it");
        let target = command.target();
        assert_eq!((command.object(), command.verb(), command.device()), (Object::Qdisc, Verb::Add, "right"));
        assert_eq!(
            (target.parent_text(), target.handle.as_deref(), &target.kind[..]),
            ("1:1", Some("10:"), "fq_codel")
        );
        assert_eq!(command.options(), ["limit", "100"]);
        assert!(command.names(0x10_0000) && !command.names(0x11_0000));
    }

    #[test]
    fn prio_is_a_kind_of_qdisc_and_a_key_of_a_filter() {
        let qdisc = Command::of_line("qdisc add dev d root handle 1: prio").expect("tc has it");
        assert_eq!((&qdisc.target().kind[..], qdisc.target().is_root), ("prio", true));
        let filter = Command::of_line("filter add dev d parent 1: prio 3 handle 7 fw flowid 1:2").expect("tc has it");
        let target = filter.target();
        assert_eq!((target.priority.as_deref(), &target.kind[..]), (Some("3"), "fw"));
        assert_eq!(filter.options(), ["flowid", "1:2"]);
    }

    #[test]
    fn the_sizes_of_a_link_layer_are_before_the_kind() {
        let command = Command::of_line("qdisc add dev d root handle 1: stab linklayer atm overhead 44 htb default 10");
        let command = command.expect("tc has it");
        assert_eq!(command.target().stab, ["linklayer", "atm", "overhead", "44"]);
        assert_eq!((&command.target().kind[..], command.options()), ("htb", vec!["default", "10"]));
    }

    #[test]
    fn ingress_has_its_own_place_and_handle() {
        for line in ["qdisc add dev d ingress", "qdisc add dev d handle ffff: ingress", "qdisc add dev d clsact"] {
            let command = Command::of_line(line).expect("tc has it");
            assert!(command.target().is_of_arrivals() && command.names(0xFFFF_0000), "{line}");
        }
        let filter = "filter add dev d ingress matchall action mirred egress redirect dev ifb0";
        let filter = Command::of_line(filter).expect("tc has it");
        assert_eq!((filter.target().parent_text(), filter.mirrors_to()), ("ffff:fff2", Some("ifb0")));
        assert_eq!(filter.on("e").mirrors_to(), Some("ifb0"));
    }

    #[test]
    fn another_device_and_a_handle_change_only_these_words() {
        let command = Command::of_line("qdisc add root dev {device} pfifo limit 3").expect("tc has it");
        let there = command.on("right").with_handle("db00:".into());
        assert_eq!(there.to_string(), "tc qdisc add root dev right handle db00: pfifo limit 3");
        assert_eq!(there, Command::read(there.words().to_vec()).expect("it is a command"));
    }

    #[test]
    fn other_commands_are_refused() {
        assert_eq!(Command::of_line("qdisc show").unwrap_err().problem, "'show' can't be applied to a qdisc");
        assert_eq!(Command::of_line("action add").unwrap_err().problem, "not a tc command of setup");
    }

    proptest! {
        #[test]
        fn any_words_are_read_or_refused(
            object in prop::sample::select(&["qdisc", "class", "filter", "x"][..]),
            verb in prop::sample::select(&["add", "del", "change", "replace", "show"][..]),
            rest in prop::collection::vec(prop::sample::select(
                &["dev", "root", "parent", "handle", "classid", "prio", "protocol", "1:", "1:1", "pfifo", "limit"][..]
            ), 0..12),
        ) {
            let words: Vec<String> = [object, verb].into_iter().chain(rest).map(String::from).collect();
            if let Ok(command) = Command::read(words.clone()) {
                prop_assert_eq!(command.words(), &words);
                prop_assert!(command.options().len() <= words.len() - 2);
                let on = command.on("d");
                prop_assert!(command.target().device.is_none() || on.device() == "d");
                prop_assert_eq!(&Command::read(on.words().to_vec()).expect("it is a command"), &on);
            }
        }
    }
}
