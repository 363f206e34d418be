//! QUIC stacks that `dumbbell stack build` builds: version, controllers, what makes a run repeat. Each is declared once.

use serde::Serialize;

/// Where a stack comes from: the ecosystem whose own tool downloads it.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Registry {
    /// A crate; `cargo` builds it.
    Crates,
    /// A Go module; `go` builds it.
    Go,
    /// A Python package; `pip` installs it into a virtual environment.
    Pypi,
    /// Packages of the distribution; `apt-get` downloads them.
    Debian,
}

/// A QUIC stack, behind a client and a server with one command line for all.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Stack {
    /// The name in experiments and commands.
    pub name: &'static str,
    /// The package in its registry.
    pub package: &'static str,
    /// Its registry.
    pub registry: Registry,
    /// The language that it is written in.
    pub language: &'static str,
    /// The version that is built.
    pub version: &'static str,
    /// Its controllers by the names in experiments; the first is the stack's default.
    pub controllers: &'static [&'static str],
    /// Environment variables of its programs, for the same bytes in each run.
    pub environment: &'static [(&'static str, &'static str)],
    /// Does a run of the same seed give the same tables? None: not measured.
    pub repeats: Option<bool>,
    /// What differs between two runs of the same seed.
    pub differs: Option<&'static str>,
}

/// OpenSSL, `BoringSSL` and AWS-LC mix in random numbers of the processor (RDRAND, RDSEED), which a guest can't seed; this
/// hides both from them.
const NO_RDRAND: (&str, &str) = ("OPENSSL_ia32cap", "~0x4000000000000000:~0x40000");

/// Every stack, in the order of documentation and lists.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "quinn",
        package: "quinn",
        registry: Registry::Crates,
        language: "Rust",
        version: "0.11.12",
        controllers: &["cubic", "reno", "bbr"],
        environment: &[],
        repeats: Some(true),
        differs: None,
    },
    Stack {
        name: "quic-go",
        package: "github.com/quic-go/quic-go",
        registry: Registry::Go,
        language: "Go",
        version: "0.59.1",
        controllers: &["reno", "cubic"],
        environment: &[("GOMAXPROCS", "1")],
        repeats: Some(true),
        differs: None,
    },
    Stack {
        name: "aioquic",
        package: "aioquic",
        registry: Registry::Pypi,
        language: "Python",
        version: "1.7.2",
        controllers: &["reno", "cubic"],
        environment: &[NO_RDRAND],
        repeats: Some(true),
        differs: None,
    },
    Stack {
        name: "ngtcp2",
        package: "ngtcp2-server",
        registry: Registry::Debian,
        language: "C",
        version: "0.12.1",
        controllers: &["cubic", "reno", "bbr", "bbr2"],
        environment: &[],
        repeats: Some(true),
        differs: None,
    },
    Stack {
        name: "quiche",
        package: "quiche",
        registry: Registry::Crates,
        language: "Rust",
        version: "0.30.0",
        controllers: &["cubic", "reno", "bbr2"],
        environment: &[NO_RDRAND],
        repeats: Some(true),
        differs: None,
    },
    Stack {
        name: "tquic",
        package: "tquic",
        registry: Registry::Crates,
        language: "Rust",
        version: "1.6.0",
        controllers: &["bbr", "bbr3", "copa", "cubic"],
        environment: &[NO_RDRAND],
        repeats: Some(true),
        differs: None,
    },
    Stack {
        name: "s2n-quic",
        package: "s2n-quic",
        registry: Registry::Crates,
        language: "Rust",
        version: "1.91.0",
        controllers: &["cubic", "bbr"],
        environment: &[NO_RDRAND],
        repeats: Some(true),
        differs: None,
    },
];

impl Stack {
    /// The stack of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.name == name)
    }

    /// Names of all stacks.
    pub const NAMES: &[&str] = &{
        let mut names = [""; STACKS.len()];
        let mut number = 0;
        while number < names.len() {
            names[number] = STACKS[number].name;
            number += 1;
        }
        names
    };

    /// The controller that the stack uses if none is named.
    #[must_use]
    pub const fn default_controller(&self) -> &'static str {
        self.controllers[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for stack in STACKS {
            assert_eq!(STACKS.iter().filter(|other| other.name == stack.name).count(), 1, "{}", stack.name);
            assert_eq!(Stack::named(stack.name), Some(stack));
        }
        assert_eq!(Stack::named("lsquic"), None);
    }

    #[test]
    fn a_stack_that_does_not_repeat_says_why() {
        for stack in STACKS {
            assert_eq!(stack.repeats == Some(false), stack.differs.is_some(), "{}", stack.name);
        }
    }
}
