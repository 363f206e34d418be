//! What is to run, as types; `dumbbell.plan.programs` writes it.

use serde::Deserialize;
use std::collections::BTreeMap;

/// All programs, and what they share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Text of `/etc/hosts`.
    pub hosts_file: String,
    /// Folders of people, which a program sees only when somebody typed its command.
    pub homes: Vec<String>,
    /// Where somebody typed a command; typed programs see it wherever it lies.
    #[serde(default)]
    pub typed_folder: Option<String>,
    /// In the order of the result.
    pub all: Vec<Program>,
}

/// One program. Times are since the experiment's start.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing that somebody asked for")]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name in messages.
    pub name: String,
    /// Network namespace it runs in.
    pub host: String,
    /// Program and arguments; no shell reads them.
    pub argv: Vec<String>,
    /// Its environment beside what every program has.
    pub env: BTreeMap<String, String>,
    /// What lies in its working folder when it starts.
    pub files: Vec<Content>,
    /// Folders of the machine in whose place it gets an empty one that it may write.
    pub writable: Vec<String>,
    /// Did somebody type its command? Then it sees the folders of people, and what it says is read as it says it.
    pub typed: bool,
    /// Does it keep all powers of root, those to mount among them? Only when somebody who typed its command says so.
    #[serde(default)]
    pub keeps_powers: bool,
    /// When it starts; one that serves starts before.
    pub start_ns: u64,
    /// When it is stopped; none: at the end.
    pub stop_ns: Option<u64>,
    /// Does it run until it is stopped? Then nobody waits for it.
    pub stays: bool,
    /// The TCP port at which it must listen before the experiment begins; 0: at any.
    pub serves: Option<u16>,
    /// When it has ended, so has the experiment.
    pub ends: bool,
    /// Is it a shell whose commands somebody types while the experiment waits?
    #[serde(default)]
    pub terminal: Option<TerminalPlan>,
}

impl Program {
    /// May it write sysctls of its host? Linux tells nobody of it: only where a person types line by line, or wants all
    /// powers.
    pub fn may_set(&self) -> bool {
        self.terminal.is_some() || self.keeps_powers
    }
}

/// How typed commands are carried out.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalPlan {
    /// What a command has before it is asked to end.
    pub timeout_ns: u64,
    /// How often the experiment asks for leave to go on; none: it waits only for commands.
    pub step_ns: Option<u64>,
}

/// A file of a working folder: a text, so many zero bytes, or a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Below the working folder.
    pub path: String,
    /// What it holds.
    pub text: Option<String>,
    /// How many zero bytes it has.
    pub bytes: Option<u64>,
    /// Where it leads.
    pub link: Option<String>,
}
