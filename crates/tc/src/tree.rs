//! The qdiscs of a device after each command.
//!
//! Commands come in the order in which tc executes them; what the kernel refuses is refused here, too. A tree of a
//! script ([`Tree::of_script`]) also holds what only a kernel has.

mod places;
mod removal;

pub use places::Place;

use super::classes::{self, Class};
use super::disciplines::AnyAttributes;
use super::filters::{FilterWords, Filters};
use super::{Command, Object, SizeTable, Target, Verb};
use crate::disciplines::drr;
use crate::syntax::grammar::Options;
use crate::syntax::location::{Location, handle_text, minor};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::config::{Config, Holds};
use dumbbell_net::queue::{HtbClass, Node};
use serde::Serialize;
use std::collections::BTreeMap;

/// The device of a script that no engine runs yet: Ethernet. No option is refused for its MTU.
const SCRIPT_MTU: u32 = 1_514;

/// Where packets that arrive pass ingress and clsact.
const ARRIVALS: Location = Location { major: 0xFFFF, minor: 0xFFF1 };

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
    kind: String,
    /// The words after the kind, as its last command has them.
    options: Vec<String>,
    /// None: only a kernel has it.
    settings: Option<Settings>,
    classes: Vec<ClassEntry>,
    filters: Filters,
}

/// What the simulator makes of a qdisc.
#[derive(Clone, Debug)]
struct Settings {
    attributes: AnyAttributes,
    /// Without children.
    config: Config,
}

/// A class of a qdisc.
#[derive(Clone, Debug)]
struct ClassEntry {
    minor: u32,
    /// Minor number of the class above; 0: none.
    parent: u32,
    options: Vec<String>,
    /// None: only a kernel has it.
    class: Option<Class>,
}

/// The tree of one device.
#[derive(Clone, Debug)]
pub struct Tree {
    device: Device,
    /// Parents before their children.
    qdiscs: Vec<Qdisc>,
    /// Whether it may hold what the simulator does not have.
    holds_all: bool,
}

impl Tree {
    /// A device without a qdisc.
    #[must_use]
    pub const fn new(device: Device) -> Self {
        Self { device, qdiscs: Vec::new(), holds_all: false }
    }

    /// The same for a script of any engine: what the simulator lacks is accepted, what Linux refuses is not.
    #[must_use]
    pub fn of_script() -> Self {
        let device = Device { mtu: SCRIPT_MTU, queue_length: 1_000, seeds: BTreeMap::new() };
        Self { holds_all: true, ..Self::new(device) }
    }

    /// What the simulator lacks is None in a script's tree, an error in another.
    fn known<T>(&self, read: Result<T, Wrong>) -> Result<Option<T>, Wrong> {
        match read {
            Err(wrong) if wrong.is_lacking && self.holds_all => Ok(None),
            read => read.map(Some),
        }
    }

    /// The root qdisc with all children; None before the first command.
    #[must_use]
    pub fn root(&self) -> Option<Node> {
        self.at(None).and_then(|index| self.node(&self.qdiscs[index]))
    }

    /// Executes a command; the change that it makes to a running tree, if it is one.
    ///
    /// # Errors
    ///
    /// tc or Linux refuses the command, or the simulator does not have what it asks for. The tree stays as it was.
    pub fn execute(&mut self, command: &Command) -> Result<Option<Change>, Wrong> {
        match (command.object(), command.verb()) {
            (Object::Qdisc, Verb::Delete) => self.delete_qdisc(command.target()).map(|()| None),
            (Object::Class, Verb::Delete) => self.delete_class(command.target()).map(|()| None),
            (Object::Filter, Verb::Delete) => self.delete_filter(command).map(|()| None),
            (Object::Filter, _) => self.filter(command).map(|()| None),
            (Object::Qdisc, _) => self.qdisc(command),
            (Object::Class, _) => self.class(command),
        }
    }

    fn qdisc(&mut self, command: &Command) -> Result<Option<Change>, Wrong> {
        let (target, verb, options) = (command.target(), command.verb(), command.options());
        let kind = &target.kind[..];
        let attributes = self.known(AnyAttributes::parse(kind, &options))?;
        if SizeTable::read(&target.stab)?.is_some() {
            let hint = "cake has it as options: cake bandwidth RATE overhead BYTES atm";
            self.known::<()>(Err(Wrong::lacking("the simulator has no sizes of a link layer (stab)", hint)))?;
        }
        let parent = place(target)?;
        let major = target.handle.as_deref().map(Location::read).transpose()?.map(|location| location.major);
        let current = self.child(parent)?;
        if verb == Verb::Add && current.is_some() {
            let problem = format!("there is a discipline at '{}' already", target.parent_text());
            return Err(Wrong::new(problem, "tc qdisc replace or change, or tc qdisc del first"));
        }
        let has_handle = |qdisc: &Qdisc| major.is_none_or(|major| major == qdisc.major);
        match current.map(|index| (index, &self.qdiscs[index])).filter(|(_, qdisc)| has_handle(qdisc)) {
            Some((index, qdisc)) if qdisc.kind == kind => {
                return self.change(index, &options, attributes);
            }
            // `tc_modify_qdisc`: a handle names the qdisc to change, and its kind can't change.
            Some((_, qdisc)) if major.is_some() && verb == Verb::Replace => {
                let problem = format!("{} is a {}, not a {kind}", handle_text(qdisc.major), qdisc.kind);
                return Err(Wrong::new(problem, "tc qdisc del first, or replace with another handle"));
            }
            _ if verb == Verb::Change => {
                let problem = format!("no {kind} to change at '{}'", target.parent_text());
                return Err(Wrong::new(problem, "tc qdisc add or replace"));
            }
            _ => {}
        }
        let major = major.ok_or_else(|| Wrong::new("a discipline without a handle", "such as handle 10:"))?;
        let settings = match attributes {
            Some(attributes) => {
                let config = self.known(attributes.config(&self.device))?;
                config.map(|config| Settings { config: self.seeded(config, major), attributes })
            }
            None => None,
        };
        let others = self.qdiscs.iter().enumerate().filter(|(index, _)| Some(*index) != current);
        if others.into_iter().any(|(_, other)| other.major == major) {
            return Err(Wrong::new(format!("two disciplines of handle {}", handle_text(major)), "another handle"));
        }
        if let Some(index) = current {
            self.remove(self.qdiscs[index].major);
        }
        let (classes, filters, options) = (Vec::new(), Filters::default(), owned(&options));
        self.qdiscs.push(Qdisc { major, parent, kind: kind.into(), options, settings, classes, filters });
        Ok(None)
    }

    /// A netem without a seed takes that of its device.
    fn seeded(&self, mut config: Config, major: u32) -> Config {
        if let Config::Netem(netem) = &mut config {
            netem.seed = netem.seed.or_else(|| self.device.seeds.get(&major).copied());
        }
        config
    }

    fn change(&mut self, index: usize, options: &[&str], new: Option<AnyAttributes>) -> Result<Option<Change>, Wrong> {
        let settings = match (&self.qdiscs[index].settings, new) {
            (Some(old), Some(new)) => {
                let mut attributes = old.attributes.clone();
                let changed = attributes.change(new).and_then(|()| attributes.config(&self.device));
                self.known(changed)?.map(|config| Settings { attributes, config })
            }
            _ => None,
        };
        let qdisc = &mut self.qdiscs[index];
        (qdisc.settings, qdisc.options) = (settings, owned(options));
        let mut node = self.node(&self.qdiscs[index]);
        if let Some(node) = &mut node {
            node.config.set_inner(None);
        }
        Ok(node.map(Change::Qdisc))
    }

    fn class(&mut self, command: &Command) -> Result<Option<Change>, Wrong> {
        let (target, verb, words) = (command.target(), command.verb(), command.options());
        let id = target.classid.as_deref();
        let id = id.ok_or_else(|| Wrong::new("a class without a classid", "such as classid 1:10"))?;
        let kind = &target.kind[..];
        let grammar = classes::KINDS.iter().find(|(known, _)| *known == kind).map(|(_, grammar)| *grammar);
        let grammar = grammar
            .ok_or_else(|| Wrong::lacking(format!("the simulator has no classes of '{kind}'"), "htb, drr or ets"))?;
        let owner = self.owner(Some(id), |qdisc| qdisc.kind == kind, kind)?;
        let minor = minor(id)?;
        let options = Options::read(kind, &words, grammar)?;
        if kind == "ets" {
            return self.change_band(owner, verb, minor, &options);
        }
        let existing = self.qdiscs[owner].classes.iter().position(|class| class.minor == minor);
        match (verb, existing) {
            (Verb::Add, Some(_)) => {
                return Err(Wrong::new(format!("there is a class {id} already"), "tc class change or replace"));
            }
            (Verb::Change, None) => return Err(Wrong::new(format!("no class {id} to change"), "tc class add")),
            _ => {}
        }
        let parent = match existing {
            Some(index) => self.qdiscs[owner].classes[index].parent,
            None if matches!(kind, "htb" | "hfsc") => {
                target.parent.as_deref().map_or(Ok(0), crate::syntax::location::minor)?
            }
            None => 0,
        };
        let class = self.known(self.parse_class(owner, existing, (minor, parent), &options))?;
        let entry = ClassEntry { minor, parent, options: owned(&words), class };
        let Some(index) = existing else {
            self.make_inner(owner, parent, target.parent_text())?;
            self.qdiscs[owner].classes.push(entry);
            return Ok(None);
        };
        let class = entry.class.clone();
        self.qdiscs[owner].classes[index] = entry;
        Ok(class.and_then(|class| self.class_change(owner, class)))
    }

    /// A class, given its minor number and its parent's.
    fn parse_class(
        &self,
        owner: usize,
        existing: Option<usize>,
        (minor, parent): (u32, u32),
        options: &Options<'_>,
    ) -> Result<Class, Wrong> {
        let owner = &self.qdiscs[owner];
        let existing = existing.and_then(|index| owner.classes[index].class.as_ref());
        match (owner.settings.as_ref().map(|settings| &settings.attributes), existing) {
            (Some(AnyAttributes::Htb(htb)), _) => htb.class(minor, parent, options).map(Class::Htb),
            // A change without a quantum keeps the old one.
            (Some(_), Some(class)) if !options.has("quantum") => Ok(class.clone()),
            (Some(_), _) => drr::class(minor, options, &self.device).map(Class::Drr),
            (None, _) => Err(Wrong::lacking("a class of a qdisc that the simulator does not have", "")),
        }
    }

    /// `tc class change` of a band of an ets.
    fn change_band(
        &mut self,
        owner: usize,
        verb: Verb,
        minor: u32,
        options: &Options<'_>,
    ) -> Result<Option<Change>, Wrong> {
        if verb == Verb::Add {
            let problem = format!("there is a class {:x}:{minor:x} already", self.qdiscs[owner].major);
            return Err(Wrong::new(problem, "tc class change"));
        }
        let Some(old) = &self.qdiscs[owner].settings else { return Ok(None) };
        let mut attributes = old.attributes.clone();
        if let AnyAttributes::Ets(ets) = &mut attributes {
            ets.change_class(minor, options, &self.device)?;
        }
        let config = attributes.config(&self.device)?;
        self.qdiscs[owner].settings = Some(Settings { attributes, config });
        Ok(self.node(&self.qdiscs[owner]).map(Change::Qdisc))
    }

    fn class_change(&self, owner: usize, class: Class) -> Option<Change> {
        let owner = &self.qdiscs[owner];
        match class {
            Class::Htb(class) => Some(Change::Class { htb: handle_text(owner.major), class }),
            Class::Drr(_) => self.node(owner).map(Change::Qdisc),
        }
    }

    /// A class with children holds no packets, so its qdisc goes.
    fn make_inner(&mut self, owner: usize, minor: u32, text: &str) -> Result<(), Wrong> {
        let major = self.qdiscs[owner].major;
        if minor == 0 {
            return Ok(());
        }
        if !self.qdiscs[owner].classes.iter().any(|class| class.minor == minor) {
            return Err(Wrong::new(format!("no class {text} to be the parent"), "tc class add it first"));
        }
        if let Some(leaf) = self.at(Some(Location { major, minor })) {
            self.remove(self.qdiscs[leaf].major);
        }
        Ok(())
    }

    fn filter(&mut self, command: &Command) -> Result<(), Wrong> {
        let Some(words) = self.known(FilterWords::of_new(command))? else { return Ok(()) };
        let has_filters = |qdisc: &Qdisc| {
            let config = qdisc.settings.as_ref().map(|settings| &settings.config);
            let is_filtered = |config: &Config| matches!(config, Config::Htb(_)) || config.rules().is_some();
            self.holds_all || config.is_some_and(is_filtered)
        };
        let owner = self.owner(words.parent, has_filters, "discipline that can have filters")?;
        let mut filters = self.qdiscs[owner].filters.clone();
        let is_of_qdisc = words.parent.map_or(Ok(0), crate::syntax::location::minor)? == 0;
        if !is_of_qdisc {
            let problem = "the simulator has filters on a discipline itself only";
            self.known::<()>(Err(Wrong::lacking(problem, "tc filter add … parent 1:")))?;
        }
        let rule = self.known(words.rule())?;
        filters.apply(command.verb(), &words, rule)?;
        if filters.have_policer() && self.qdiscs[owner].kind == "htb" {
            let hint = "tc qdisc add … prio";
            self.known::<()>(Err(Wrong::lacking("the simulator has no policers on an htb", hint)))?;
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
        if parent == Some(ARRIVALS) {
            return Ok(self.at(parent));
        }
        let above = self.with_major(major).map(|index| &self.qdiscs[index]).ok_or_else(|| {
            Wrong::new(format!("no discipline of handle {}", handle_text(major)), "set up the parent first")
        })?;
        match above.holds() {
            Holds::One => return Ok(self.below(major)),
            Holds::Bands(bands) if minor == 0 || minor as usize > bands => {
                return Err(Wrong::new(format!("no band {major:x}:{minor:x}"), format!("{major:x}:1 is the first")));
            }
            Holds::Bands(_) => {}
            Holds::Classes => above.check_leaf(minor)?,
            Holds::OwnFifo => {
                let problem = format!("the simulator's {} has only its own fifo", above.kind);
                self.known::<()>(Err(Wrong::lacking(problem, "limit")))?;
                return Ok(self.below(major));
            }
            Holds::None => {
                return Err(Wrong::new(format!("a {} holds no other discipline", above.kind), ""));
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

    /// A qdisc with its children, classes and filters; None if only a kernel has it.
    fn node(&self, qdisc: &Qdisc) -> Option<Node> {
        let node = |index: usize| self.node(&self.qdiscs[index]);
        let at = |minor: u32| self.at(Some(Location { major: qdisc.major, minor })).and_then(node);
        let classes = || {
            let known = qdisc.classes.iter().filter_map(|entry| entry.class.as_ref());
            known.map(|class| class.with_leaf(at(class.minor())))
        };
        let mut config = qdisc.settings.as_ref()?.config.clone();
        match &mut config {
            Config::Htb(htb) => {
                htb.classes = classes().filter_map(Class::htb).collect();
                htb.filters = qdisc.filters.rules().iter().map(|rule| rule.filter).collect();
            }
            Config::Drr(drr) => drr.classes = classes().filter_map(Class::drr).collect(),
            other => other.set_inner(self.below(qdisc.major).and_then(node)),
        }
        if let Some(bands) = config.bands_mut() {
            *bands = (1..).map(at).take(bands.len()).collect();
        }
        if let Some(rules) = config.rules_mut() {
            *rules = qdisc.filters.rules();
        }
        Some(Node { handle: handle_text(qdisc.major), config })
    }
}

impl Qdisc {
    /// What may be below it.
    fn holds(&self) -> Holds {
        match &self.settings {
            Some(settings) => settings.config.holds(),
            None => Holds::of_kind(&self.kind),
        }
    }

    /// Whether a qdisc may be at this class.
    fn check_leaf(&self, minor: u32) -> Result<(), Wrong> {
        let id = format!("{:x}:{minor:x}", self.major);
        if !self.classes.iter().any(|class| class.minor == minor) {
            return Err(Wrong::new(format!("no class {id}"), "add it first"));
        }
        if self.classes.iter().any(|class| class.parent == minor) {
            return Err(Wrong::new(format!("class {id} has classes below it"), "a class without classes"));
        }
        Ok(())
    }
}

/// Where a command's qdisc is; None: the root.
fn place(target: &Target) -> Result<Option<Location>, Wrong> {
    if target.is_of_arrivals() {
        return Ok(Some(ARRIVALS));
    }
    target.parent.as_deref().map(Location::read).transpose()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
