//! The qdiscs of a device after each command.
//!
//! Commands come in the order in which tc executes them; what the kernel refuses is refused here, too.

use super::classes::{self, Class};
use super::disciplines::AnyAttributes;
use super::filters::{FilterWords, Filters};
use crate::queue::config::{Config, Holds};
use crate::queue::{HtbClass, Node, drr};
use crate::tc_syntax::grammar::Options;
use crate::tc_syntax::location::{Location, Target, handle_text, minor};
use crate::tc_syntax::{Device, Wrong};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// A change of a running tree.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// `tc qdisc change`: new settings without children, or a drr with a changed class.
    #[serde(rename = "discipline")]
    Qdisc(Node),
    /// `tc class change` on the htb with this handle.
    Class {
        /// Handle of the htb.
        htb: String,
        /// New settings of the class.
        class: HtbClass,
    },
}

/// One qdisc of a tree.
#[derive(Clone, Debug)]
struct Qdisc {
    major: u32,
    /// None: the root.
    parent: Option<Location>,
    attributes: AnyAttributes,
    /// Settings without children.
    config: Config,
    classes: Vec<Class>,
    filters: Filters,
}

/// The tree of one device.
#[derive(Clone, Debug)]
pub struct Tree {
    device: Device,
    /// Parents before their children.
    qdiscs: Vec<Qdisc>,
}

impl Tree {
    /// A device without a qdisc.
    #[must_use]
    pub const fn new(device: Device) -> Self {
        Self { device, qdiscs: Vec::new() }
    }

    /// The root qdisc with all children; None before the first command.
    #[must_use]
    pub fn root(&self) -> Option<Node> {
        self.at(None).map(|index| self.node(&self.qdiscs[index]))
    }

    /// Executes a command, given from the word after `tc` on; the change that it makes to a running tree, if it is one.
    ///
    /// # Errors
    ///
    /// tc or Linux refuses the command, or the simulator does not have what it asks for. The tree stays as it was.
    pub fn execute(&mut self, words: &[&str]) -> Result<Option<Change>, Wrong> {
        let unknown = || Wrong::new("not a tc command of setup", "tc qdisc, tc class or tc filter");
        let [subject, verb, ref rest @ ..] = *words else { return Err(unknown()) };
        if !matches!(verb, "add" | "change" | "replace") {
            let problem = format!("'{verb}' can't be applied to a {subject}");
            return Err(Wrong::new(problem, "add, replace or change"));
        }
        match subject {
            "filter" => self.filter(verb, rest).map(|()| None),
            "qdisc" => self.qdisc(verb, rest),
            "class" => self.class(verb, rest),
            _ => Err(unknown()),
        }
    }

    fn qdisc(&mut self, verb: &str, words: &[&str]) -> Result<Option<Change>, Wrong> {
        let target = Target::read(words);
        let kind = target.kind;
        let attributes = AnyAttributes::parse(kind, target.options)?;
        let parent = target.parent.map(Location::read).transpose()?;
        let major = target.handle.map(|word| Location::read(word).map(|location| location.major)).transpose()?;
        let current = self.child(parent)?;
        if verb == "add" && current.is_some() {
            return Err(Wrong::new(format!("there is a discipline at '{}' already", target.parent_text()), ""));
        }
        let is_same = |qdisc: &Qdisc| qdisc.attributes.kind() == kind && major.is_none_or(|major| major == qdisc.major);
        let same = current.filter(|index| is_same(&self.qdiscs[*index]));
        match (verb, same) {
            ("change" | "replace", Some(index)) => return self.change(index, attributes).map(Some),
            ("change", None) => {
                return Err(Wrong::new(format!("no {kind} to change at '{}'", target.parent_text()), ""));
            }
            _ => {}
        }
        let major = major.ok_or_else(|| Wrong::new("a discipline without a handle", "such as handle 10:"))?;
        let config = self.seeded(attributes.config(&self.device)?, major);
        let others = self.qdiscs.iter().enumerate().filter(|(index, _)| Some(*index) != current);
        if others.into_iter().any(|(_, other)| other.major == major) {
            return Err(Wrong::new(format!("two disciplines of handle {}", handle_text(major)), ""));
        }
        if let Some(index) = current {
            self.remove(self.qdiscs[index].major);
        }
        let (classes, filters) = (Vec::new(), Filters::default());
        self.qdiscs.push(Qdisc { major, parent, attributes, config, classes, filters });
        Ok(None)
    }

    /// A netem without a seed takes that of its device.
    fn seeded(&self, mut config: Config, major: u32) -> Config {
        if let Config::Netem(netem) = &mut config {
            netem.seed = netem.seed.or_else(|| self.device.seeds.get(&major).copied());
        }
        config
    }

    fn change(&mut self, index: usize, new: AnyAttributes) -> Result<Change, Wrong> {
        let qdisc = &mut self.qdiscs[index];
        let mut attributes = qdisc.attributes.clone();
        attributes.change(new)?;
        qdisc.config = attributes.config(&self.device)?;
        qdisc.attributes = attributes;
        let mut node = self.node(&self.qdiscs[index]);
        node.config.set_inner(None);
        Ok(Change::Qdisc(node))
    }

    fn class(&mut self, verb: &str, words: &[&str]) -> Result<Option<Change>, Wrong> {
        let target = Target::read(words);
        let id = target.classid.ok_or_else(|| Wrong::new("a class without a classid", "such as classid 1:10"))?;
        let kind = target.kind;
        let grammar = classes::KINDS.iter().find(|(known, _)| *known == kind).map(|(_, grammar)| *grammar);
        let grammar = grammar
            .ok_or_else(|| Wrong::lacking(format!("the simulator has no classes of '{kind}'"), "htb, drr or ets"))?;
        let owner = self.owner(Some(id), |qdisc| qdisc.attributes.kind() == kind, kind)?;
        let minor = minor(id)?;
        let options = Options::read(kind, target.options, grammar)?;
        if let AnyAttributes::Ets(_) = self.qdiscs[owner].attributes {
            return self.change_band(owner, verb, minor, &options).map(Some);
        }
        let existing = self.qdiscs[owner].classes.iter().position(|class| class.minor() == minor);
        match (verb, existing) {
            ("add", Some(_)) => return Err(Wrong::new(format!("there is a class {id} already"), "")),
            ("change", None) => return Err(Wrong::new(format!("no class {id} to change"), "")),
            _ => {}
        }
        let class = self.parse_class(owner, existing, minor, &options, &target)?;
        match existing {
            None => self.qdiscs[owner].classes.push(class),
            Some(index) => {
                self.qdiscs[owner].classes[index] = class.clone();
                return Ok(Some(self.class_change(owner, class)));
            }
        }
        Ok(None)
    }

    fn parse_class(
        &mut self,
        owner: usize,
        existing: Option<usize>,
        minor: u32,
        options: &Options<'_>,
        target: &Target<'_>,
    ) -> Result<Class, Wrong> {
        let existing = existing.map(|index| &self.qdiscs[owner].classes[index]);
        match (&self.qdiscs[owner].attributes, existing) {
            (AnyAttributes::Htb(htb), Some(class)) => htb.class(minor, class.parent(), options).map(Class::Htb),
            (AnyAttributes::Htb(htb), None) => {
                let parent = target.parent.map_or(Ok(0), crate::tc_syntax::location::minor)?;
                let class = htb.class(minor, parent, options)?;
                self.make_inner(owner, parent, target.parent_text())?;
                Ok(Class::Htb(class))
            }
            // A change without a quantum keeps the old one.
            (_, Some(class)) if !options.has("quantum") => Ok(class.clone()),
            _ => drr::tc::class(minor, options, &self.device).map(Class::Drr),
        }
    }

    /// `tc class change` of a band of an ets.
    fn change_band(&mut self, owner: usize, verb: &str, minor: u32, options: &Options<'_>) -> Result<Change, Wrong> {
        let qdisc = &mut self.qdiscs[owner];
        let mut attributes = qdisc.attributes.clone();
        if let AnyAttributes::Ets(ets) = &mut attributes {
            ets.change_class(minor, options, &self.device)?;
        }
        if verb == "add" {
            let problem = format!("there is a class {:x}:{minor:x} already", qdisc.major);
            return Err(Wrong::new(problem, "tc class change"));
        }
        qdisc.config = attributes.config(&self.device)?;
        qdisc.attributes = attributes;
        Ok(Change::Qdisc(self.node(&self.qdiscs[owner])))
    }

    fn class_change(&self, owner: usize, class: Class) -> Change {
        let owner = &self.qdiscs[owner];
        match class {
            Class::Htb(class) => Change::Class { htb: handle_text(owner.major), class },
            Class::Drr(_) => Change::Qdisc(self.node(owner)),
        }
    }

    /// A class with children holds no packets, so its qdisc goes.
    fn make_inner(&mut self, owner: usize, minor: u32, text: &str) -> Result<(), Wrong> {
        let major = self.qdiscs[owner].major;
        if minor == 0 {
            return Ok(());
        }
        if !self.qdiscs[owner].classes.iter().any(|class| class.minor() == minor) {
            return Err(Wrong::new(format!("no class {text} to be the parent"), ""));
        }
        if let Some(leaf) = self.at(Some(Location { major, minor })) {
            self.remove(self.qdiscs[leaf].major);
        }
        Ok(())
    }

    fn filter(&mut self, verb: &str, words: &[&str]) -> Result<(), Wrong> {
        let words = FilterWords::read(words)?;
        let has_filters = |qdisc: &Qdisc| matches!(qdisc.config, Config::Htb(_)) || qdisc.config.rules().is_some();
        let owner = self.owner(words.parent, has_filters, "discipline that can have filters")?;
        if verb != "add" || words.parent.map_or(Ok(0), crate::tc_syntax::location::minor)? > 0 {
            let problem = "the simulator has filters on a discipline itself only, added once";
            return Err(Wrong::lacking(problem, "tc filter add … parent 1:"));
        }
        let mut filters = self.qdiscs[owner].filters.clone();
        filters.add(&words)?;
        if filters.have_policer() && matches!(self.qdiscs[owner].attributes, AnyAttributes::Htb(_)) {
            let right = "tc qdisc add … prio";
            return Err(Wrong::lacking("the simulator has no policers on an htb", right));
        }
        self.qdiscs[owner].filters = filters;
        Ok(())
    }

    /// The qdisc that a class or filter belongs to; without a location the root. `wanted` names what `fits`.
    fn owner(&self, location: Option<&str>, fits: impl Fn(&Qdisc) -> bool, wanted: &str) -> Result<usize, Wrong> {
        let found = match location {
            Some(word) => self.with_major(Location::read(word)?.major),
            None => self.at(None),
        };
        found
            .filter(|index| fits(&self.qdiscs[*index]))
            .ok_or_else(|| Wrong::new(format!("no {wanted} at '{}'", location.unwrap_or(":")), "tc qdisc add … first"))
    }

    fn with_major(&self, major: u32) -> Option<usize> {
        self.qdiscs.iter().position(|qdisc| qdisc.major == major)
    }

    /// The qdisc whose parent this is; None: the root.
    fn at(&self, parent: Option<Location>) -> Option<usize> {
        self.qdiscs.iter().position(|qdisc| qdisc.parent == parent)
    }

    /// The first qdisc below another, at any of its locations.
    fn below(&self, major: u32) -> Option<usize> {
        self.qdiscs.iter().position(|qdisc| qdisc.parent.is_some_and(|parent| parent.major == major))
    }

    /// As [`Tree::at`].
    ///
    /// # Errors
    ///
    /// There is no such location.
    fn child(&self, parent: Option<Location>) -> Result<Option<usize>, Wrong> {
        let Some(Location { major, minor }) = parent else { return Ok(self.at(None)) };
        let above = self.with_major(major).map(|index| &self.qdiscs[index]).ok_or_else(|| {
            Wrong::new(format!("no discipline of handle {}", handle_text(major)), "set up the parent first")
        })?;
        match above.config.holds() {
            Holds::One => return Ok(self.below(major)),
            Holds::Bands(bands) if minor == 0 || minor as usize > bands => {
                return Err(Wrong::new(format!("no band {major:x}:{minor:x}"), format!("{major:x}:1 is the first")));
            }
            Holds::Bands(_) => {}
            Holds::Classes => above.check_leaf(minor)?,
            Holds::OwnFifo => {
                let problem = format!("the simulator's {} has only its own fifo", above.attributes.kind());
                return Err(Wrong::lacking(problem, "limit"));
            }
            Holds::None => {
                return Err(Wrong::new(format!("a {} holds no other discipline", above.attributes.kind()), ""));
            }
        }
        Ok(self.at(parent))
    }

    /// Removes a qdisc and all below it.
    fn remove(&mut self, major: u32) {
        self.qdiscs.retain(|qdisc| qdisc.major != major);
        while let Some(child) = self.below(major) {
            self.remove(self.qdiscs[child].major);
        }
    }

    /// A qdisc with its children, classes and filters.
    fn node(&self, qdisc: &Qdisc) -> Node {
        let node = |index: usize| self.node(&self.qdiscs[index]);
        let at = |minor: u32| self.at(Some(Location { major: qdisc.major, minor })).map(node);
        let classes = || qdisc.classes.iter().map(|class| class.with_leaf(at(class.minor())));
        let mut config = qdisc.config.clone();
        match &mut config {
            Config::Htb(htb) => {
                htb.classes = classes().filter_map(Class::htb).collect();
                htb.filters = qdisc.filters.rules().iter().map(|rule| rule.filter).collect();
            }
            Config::Drr(drr) => drr.classes = classes().filter_map(Class::drr).collect(),
            other => other.set_inner(self.below(qdisc.major).map(node)),
        }
        if let Some(bands) = config.bands_mut() {
            *bands = (1..).map(at).take(bands.len()).collect();
        }
        if let Some(rules) = config.rules_mut() {
            *rules = qdisc.filters.rules();
        }
        Node { handle: handle_text(qdisc.major), config }
    }
}

impl Qdisc {
    /// Whether a qdisc may be at this class.
    fn check_leaf(&self, minor: u32) -> Result<(), Wrong> {
        let id = format!("{:x}:{minor:x}", self.major);
        if !self.classes.iter().any(|class| class.minor() == minor) {
            return Err(Wrong::new(format!("no class {id}"), "add it first"));
        }
        if self.classes.iter().any(|class| class.parent() == minor) {
            return Err(Wrong::new(format!("class {id} has classes below it"), ""));
        }
        Ok(())
    }
}
