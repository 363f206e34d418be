//! Programs that a run executes.

use crate::traffic::{Transport, is_default};
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
    /// Room for UDP packets that wait to be counted, per device of a host with programs.
    pub ring_frames: usize,
    /// How often they are counted, so that they never fill the room.
    pub ring_ns: u64,
    /// In the order of the result.
    pub all: Vec<Program>,
}

impl Programs {
    /// Packets of [`Self::ring_frames`]: they take some 200 bytes each.
    pub const RING_FRAMES: usize = 20_000;

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
    /// Port at which it must listen before the experiment starts.
    pub serves: Option<Serves>,
    /// Names of its qlog files, below its working folder; `*` stands for any characters but `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qlog: Option<String>,
    /// The experiment ends when this program exits.
    pub ends: bool,
    /// Default controller of its host; set before the run.
    #[serde(skip)]
    pub cc: Option<String>,
    /// Exit status of success.
    #[serde(skip)]
    pub expect_status: u8,
    /// The flow whose end it is, for QUIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicEnd>,
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

    /// Makes the arguments for a stack's driver a command.
    pub fn use_stack(&mut self, stack: &BuiltStack) {
        let of_server = self.quic.filter(|end| end.serves).map_or(&[][..], |_| &stack.server_argv);
        self.argv = [&stack.argv[..], &self.argv, of_server].concat();
        self.env.extend(stack.env.iter().cloned());
    }

    /// Is this file of its working folder a qlog?
    #[must_use]
    pub fn is_qlog(&self, path: &str) -> bool {
        self.qlog.as_deref().is_some_and(|pattern| matches_pattern(pattern, path))
    }

    /// May it write sysctls of its host? Linux sends no notification of that, so only interactive shells and programs
    /// with all capabilities may.
    #[must_use]
    pub fn may_set(&self) -> bool {
        self.terminal.is_some() || self.keeps_powers
    }
}

/// Does a path match a pattern in which `*` stands for any characters but `/`?
fn matches_pattern(pattern: &str, path: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == path };
    let Some(path) = path.strip_prefix(start) else { return false };
    let within = path.find('/').unwrap_or(path.len());
    (0..=within).any(|skipped| path.is_char_boundary(skipped) && matches_pattern(rest, &path[skipped..]))
}

/// A port at which a program listens.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Serves {
    /// Any TCP port, or any UDP port for any sender.
    Any,
    /// This port.
    At(Transport, u16),
}

/// An end of a QUIC flow: what [`Program::argv`] has are arguments for the stack's driver.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct QuicEnd {
    /// Number of the flow in the plan.
    pub flow: usize,
    /// Is it the server, which sends?
    pub serves: bool,
}

/// A stack that was built, as its programs start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltStack {
    /// Name of the stack.
    pub name: String,
    /// Program and first arguments.
    pub argv: Vec<String>,
    /// More arguments of a server: its certificate.
    pub server_argv: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Folders that its programs need.
    pub folders: Vec<String>,
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

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn a_star_stands_for_part_of_a_name() {
        for (pattern, path, is_match) in [
            ("*.sqlog", "a.sqlog", true),
            ("*.sqlog", "a/b.sqlog", false),
            ("logs/*.qlog", "logs/1.qlog", true),
            ("*/*.qlog", "é/1.qlog", true),
            ("one", "one", true),
            ("one*", "ones", true),
            ("one", "ones", false),
            ("*a*b", "xaaxb", true),
            ("*a*b", "xaaxbc", false),
        ] {
            assert_eq!(matches_pattern(pattern, path), is_match, "{pattern} {path}");
        }
    }
}
