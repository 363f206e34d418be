//! Types of the plan's programs, which `dumbbell.plan.programs` writes.

use serde::Deserialize;
use std::collections::BTreeMap;

/// All programs, and what they share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Text of `/etc/hosts`.
    pub hosts_file: String,
    /// Home directories, visible only to programs whose command the user typed.
    pub homes: Vec<String>,
    /// Folder in which the user typed the command; visible to typed programs.
    #[serde(default)]
    pub typed_folder: Option<String>,
    /// In the order of the result.
    pub all: Vec<Program>,
}

/// One program. Times are since the experiment's start.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent option")]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name in messages.
    pub name: String,
    /// Network namespace it runs in.
    pub host: String,
    /// Program and arguments; not passed to a shell.
    pub argv: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Initial content of its working folder.
    pub files: Vec<Content>,
    /// Folders replaced by empty writable ones.
    pub writable: Vec<String>,
    /// Did the user type its command? Then it can read home directories, and its output is read while it runs.
    pub typed: bool,
    /// Does it keep all of root's capabilities, including mounts? Only if the user who typed its command requests it.
    #[serde(default)]
    pub keeps_powers: bool,
    /// When it starts; servers start earlier.
    pub start_ns: u64,
    /// When it is stopped; None: at the end.
    pub stop_ns: Option<u64>,
    /// Does it run until it is stopped? Then the experiment does not wait for it.
    pub stays: bool,
    /// TCP port on which it must listen before the experiment starts; 0: any.
    pub serves: Option<u16>,
    /// The experiment ends when this program exits.
    pub ends: bool,
    /// Is it an interactive shell, for whose commands the experiment waits?
    #[serde(default)]
    pub terminal: Option<TerminalPlan>,
}

impl Program {
    /// May it write sysctls of its host? Linux sends no notification of that, so only interactive shells and programs
    /// with all capabilities may.
    pub fn may_set(&self) -> bool {
        self.terminal.is_some() || self.keeps_powers
    }
}

/// How typed commands run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalPlan {
    /// Time limit of a command, after which it gets SIGINT.
    pub timeout_ns: u64,
    /// Interval at which the experiment waits for permission to continue; None: it waits only for commands.
    pub step_ns: Option<u64>,
}

/// An entry of a working folder: a text, a number of zero bytes, or a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Path below the working folder.
    pub path: String,
    /// Text of the file.
    pub text: Option<String>,
    /// Number of zero bytes.
    pub bytes: Option<u64>,
    /// Target of the link.
    pub link: Option<String>,
}
