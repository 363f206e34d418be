//! Messages between Python and the agent: a line of JSON, followed by as many bytes as it states.
//!
//! `dumbbell.engines.agent_connection` is the other end.

use super::facts::{Facts, FactsRequest};
use crate::error::{Attempt, Error, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 64 << 10;
/// Maximum length of a plan: 10,000 flows take 5 MB.
const MAX_BODY_BYTES: usize = 256 << 20;
/// How long a write may block before the connection counts as lost.
const WRITE_TIMEOUT_MS: u16 = 10_000;

/// Messages from Python.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Order {
    /// Requests the host's properties.
    #[serde(rename = "look")]
    Inspect(FactsRequest),
    /// Set up the host; `plan.json` follows.
    Plan {
        /// Its length.
        bytes: usize,
        /// Deadline for restoring the host, from now.
        within_ms: u64,
    },
    /// Requests the current time.
    Time,
    /// Start the experiment at this time on the host's monotonic clock.
    Begin {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// Heartbeat.
    Beat,
    /// End the experiment.
    End,
}

/// Messages from the agent.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Message {
    /// First message: what was restored after a crashed agent.
    Hello {
        /// One sentence per change.
        put_back: Vec<String>,
    },
    /// The host's properties.
    Facts(Box<Facts>),
    /// Setup is complete.
    Ready,
    /// The current time.
    Time {
        /// On the monotonic clock.
        now_ns: u64,
    },
    /// Heartbeat.
    Beat,
    /// The experiment has ended and the host was restored.
    Restored {
        /// One sentence for each remaining difference.
        differences: Vec<String>,
    },
    /// A file of records; its bytes follow.
    File {
        /// Its name.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// No more files.
    Done,
    /// The experiment failed.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Bytes received but not parsed yet.
#[derive(Default)]
pub struct Inbox {
    pending: Vec<u8>,
}

impl Inbox {
    /// Appends received bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next message with its body, if complete.
    pub fn next(&mut self) -> Result<Option<(Order, Vec<u8>)>> {
        let Some(line) = self.pending.iter().take(MAX_LINE_BYTES).position(|&byte| byte == b'\n') else {
            return if self.pending.len() < MAX_LINE_BYTES {
                Ok(None)
            } else {
                Err(invalid("a line longer than 64 KiB"))
            };
        };
        let order: Order =
            serde_json::from_slice(&self.pending[..line]).map_err(|error| invalid(&error.to_string()))?;
        let length = match order {
            Order::Plan { bytes, .. } => bytes,
            _ => 0,
        };
        if length > MAX_BODY_BYTES {
            return Err(invalid("a plan longer than 256 MiB"));
        }
        if self.pending.len() < line + 1 + length {
            return Ok(None);
        }
        let mut taken: Vec<u8> = self.pending.drain(..line + 1 + length).collect();
        Ok(Some((order, taken.split_off(line + 1))))
    }
}

fn invalid(what: &str) -> Error {
    Error::Unfit(format!("received an invalid message: {what}"))
}

/// Sends a message.
pub fn send_message(to: BorrowedFd<'_>, message: &Message) -> Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    send(to, &line)
}

/// Sends bytes to a non-blocking descriptor; fails after ten seconds without progress.
pub fn send(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => wait(to)?,
            Err(error) => return Err(error).attempt(|| "writing to the connection".into()),
        }
    }
    Ok(())
}

fn wait(to: BorrowedFd<'_>) -> Result<()> {
    let mut events = [PollFd::new(to, PollFlags::POLLOUT)];
    match poll(&mut events, PollTimeout::from(WRITE_TIMEOUT_MS)) {
        Ok(0) => Err(Errno::ETIMEDOUT).attempt(|| "writing to the connection".into()),
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error).attempt(|| "writing to the connection".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_parsed_from_fragments_of_any_size() {
        let bytes = b"{\"kind\":\"plan\",\"bytes\":3,\"within_ms\":5}\nabc{\"kind\":\"beat\"}\n";
        for piece in 1..bytes.len() {
            let mut inbox = Inbox::default();
            let mut parsed = Vec::new();
            for part in bytes.chunks(piece) {
                inbox.add(part);
                while let Some(order) = inbox.next().unwrap() {
                    parsed.push(order);
                }
            }
            let plan = (Order::Plan { bytes: 3, within_ms: 5 }, b"abc".to_vec());
            assert_eq!(parsed, [plan, (Order::Beat, Vec::new())], "in pieces of {piece}");
        }
    }

    #[test]
    fn random_input_never_panics() {
        // A small generator: the same bytes in each run.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let messages = b"{\"kind\":\"begin\",\"at_ns\":7}\n{\"kind\":\"plan\",\"bytes\":2,\"within_ms\":1}\nxy{\"kind\":\"end\"}\n";
        for _ in 0..5_000 {
            let mut bytes = messages.to_vec();
            for _ in 0..=next() % 4 {
                let position = usize::try_from(next()).unwrap() % bytes.len();
                bytes[position] = next().to_le_bytes()[0];
            }
            let mut inbox = Inbox::default();
            inbox.add(&bytes);
            while let Ok(Some(_)) = inbox.next() {}
        }
    }

    #[test]
    fn oversized_lines_and_plans_are_refused() {
        let mut inbox = Inbox::default();
        inbox.add(&vec![b'x'; MAX_LINE_BYTES]);
        assert!(inbox.next().is_err());
        let mut inbox = Inbox::default();
        inbox.add(b"{\"kind\":\"plan\",\"bytes\":99999999999,\"within_ms\":1}\n");
        assert!(inbox.next().is_err());
    }
}
