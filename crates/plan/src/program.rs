//! Programs that a run executes.

use crate::traffic::is_default;
use serde::{Deserialize, Serialize};

/// All programs, and what they share.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Text of `/etc/hosts`.
    pub hosts_file: String,
    /// Home directories, visible only to programs whose command the user typed.
    pub homes: Vec<String>,
    /// Folders of Dumbbell's installation, visible even below a folder that is empty for programs.
    #[serde(default)]
    pub shown: Vec<String>,
    /// Folder of the command `dumbbell`: the last one of the search path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<String>,
    /// Folder in which the user typed the command; visible to typed programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed_folder: Option<String>,
    /// In the order of the result.
    pub all: Vec<Program>,
}

impl Programs {
    /// Has the experiment no program?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// One program. Times are since the experiment's start.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent option")]
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name in messages.
    pub name: String,
    /// Network namespace it runs in.
    pub host: String,
    /// Program and arguments; not passed to a shell.
    pub argv: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// Initial content of its working folder.
    pub files: Vec<Content>,
    /// Folders replaced by empty writable ones.
    pub writable: Vec<String>,
    /// Did the user type its command? Then it can read home directories, and its output is read while it runs.
    pub typed: bool,
    /// Does it keep all of root's capabilities, including mounts? Only if the user who typed its command requests it.
    #[serde(default, skip_serializing_if = "is_default")]
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
    /// Default controller of its host; set before the run.
    #[serde(skip)]
    pub cc: Option<String>,
    /// Exit status of success.
    #[serde(skip)]
    pub expect_status: u8,
    /// Is it an interactive shell, for whose commands the experiment waits?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalPlan>,
}

impl Program {
    /// The value of an environment variable that it sets.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().rfind(|(known, _)| known == name).map(|(_, value)| &value[..])
    }

    /// May it write sysctls of its host? Linux sends no notification of that, so only interactive shells and programs
    /// with all capabilities may.
    #[must_use]
    pub fn may_set(&self) -> bool {
        self.terminal.is_some() || self.keeps_powers
    }
}

/// How typed commands run.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TerminalPlan {
    /// Time limit of a command, after which it gets SIGINT.
    pub timeout_ns: u64,
    /// Interval at which the experiment waits for permission to continue; None: it waits only for commands.
    pub step_ns: Option<u64>,
}

/// An entry of a working folder: a text, a number of zero bytes, or a link.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
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

impl Content {
    /// A text.
    #[must_use]
    pub fn text(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: Some(text.into()), bytes: None, link: None }
    }

    /// Zero bytes.
    #[must_use]
    pub fn zeros(path: &str, bytes: u64) -> Self {
        Self { path: path.into(), text: None, bytes: Some(bytes), link: None }
    }

    /// A link.
    #[must_use]
    pub fn link(path: &str, target: &str) -> Self {
        Self { path: path.into(), text: None, bytes: None, link: Some(target.into()) }
    }
}
