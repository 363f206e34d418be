//! What Python and this agent say to each other: a line of JSON, and behind it as many bytes as it says.
//!
//! `dumbbell.engine.remote.frames` has the other side of it.

use super::facts::{Asked, Facts};
use crate::error::{Attempt, Error, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;

/// A line's length: names and numbers.
const MOST_LINE_BYTES: usize = 64 << 10;
/// A plan's length: 10,000 flows have 5 MB.
const MOST_BODY_BYTES: usize = 256 << 20;
/// How long Python may take no word; then it is gone.
const PATIENCE_MS: u16 = 10_000;

/// What Python says.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Order {
    /// Say what this machine is and has.
    Look(Asked),
    /// Set up this part; `plan.json` follows.
    Plan {
        /// Its length.
        bytes: usize,
        /// When everything is put back at the latest, from now on.
        within_ms: u64,
    },
    /// Say what time it is.
    Time,
    /// The experiment begins at this time of this machine's monotonic clock.
    Begin {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// Python lives.
    Beat,
    /// The experiment is over.
    End,
}

/// What the agent says.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Word {
    /// The first word: what was put back that an agent before this one could not.
    Hello {
        /// One sentence each.
        put_back: Vec<String>,
    },
    /// What this machine is and has.
    Facts(Box<Facts>),
    /// Everything is set up.
    Ready,
    /// What time it is.
    Time {
        /// Monotonic.
        now_ns: u64,
    },
    /// This agent lives.
    Beat,
    /// The experiment has ended here, and everything was put back, or not.
    Restored {
        /// One sentence for each difference between before and after.
        differences: Vec<String>,
    },
    /// A file of records; its bytes follow.
    File {
        /// Its name.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// There is no more.
    Done,
    /// It did not work out.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What has come and was not read yet.
#[derive(Default)]
pub struct Inbox {
    pending: Vec<u8>,
}

impl Inbox {
    /// More has come.
    pub fn add(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next order with its body, if it is there as a whole.
    pub fn next(&mut self) -> Result<Option<(Order, Vec<u8>)>> {
        let Some(line) = self.pending.iter().take(MOST_LINE_BYTES).position(|&byte| byte == b'\n') else {
            return if self.pending.len() < MOST_LINE_BYTES { Ok(None) } else { Err(odd("a line without an end")) };
        };
        let order: Order = serde_json::from_slice(&self.pending[..line]).map_err(|error| odd(&error.to_string()))?;
        let length = match order {
            Order::Plan { bytes, .. } => bytes,
            _ => 0,
        };
        if length > MOST_BODY_BYTES {
            return Err(odd("a plan that is too long"));
        }
        if self.pending.len() < line + 1 + length {
            return Ok(None);
        }
        let mut taken: Vec<u8> = self.pending.drain(..line + 1 + length).collect();
        Ok(Some((order, taken.split_off(line + 1))))
    }
}

fn odd(what: &str) -> Error {
    Error::Unfit(format!("what came over the connection is no order: {what}"))
}

/// Says a word.
pub fn say(to: BorrowedFd<'_>, word: &Word) -> Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    send(to, &line)
}

/// Sends bytes; `to` doesn't block, and whoever takes nothing for ten seconds is gone.
pub fn send(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => wait(to)?,
            Err(error) => return Err(error).attempt(|| "answering".into()),
        }
    }
    Ok(())
}

fn wait(to: BorrowedFd<'_>) -> Result<()> {
    let mut room = [PollFd::new(to, PollFlags::POLLOUT)];
    match poll(&mut room, PollTimeout::from(PATIENCE_MS)) {
        Ok(0) => Err(Errno::ETIMEDOUT).attempt(|| "answering".into()),
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error).attempt(|| "answering".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_in_any_pieces() {
        let bytes = b"{\"kind\":\"plan\",\"bytes\":3,\"within_ms\":5}\nabc{\"kind\":\"beat\"}\n";
        for piece in 1..bytes.len() {
            let mut inbox = Inbox::default();
            let mut heard = Vec::new();
            for part in bytes.chunks(piece) {
                inbox.add(part);
                while let Some(order) = inbox.next().unwrap() {
                    heard.push(order);
                }
            }
            let plan = (Order::Plan { bytes: 3, within_ms: 5 }, b"abc".to_vec());
            assert_eq!(heard, [plan, (Order::Beat, Vec::new())], "in pieces of {piece}");
        }
    }

    #[test]
    fn nothing_that_comes_breaks_the_inbox() {
        // A small generator of our own: the same bytes each time.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let whole = b"{\"kind\":\"begin\",\"at_ns\":7}\n{\"kind\":\"plan\",\"bytes\":2,\"within_ms\":1}\nxy{\"kind\":\"end\"}\n";
        for _ in 0..5_000 {
            let mut bytes = whole.to_vec();
            for _ in 0..=next() % 4 {
                let place = usize::try_from(next()).unwrap() % bytes.len();
                bytes[place] = next().to_le_bytes()[0];
            }
            let mut inbox = Inbox::default();
            inbox.add(&bytes);
            while let Ok(Some(_)) = inbox.next() {}
        }
    }

    #[test]
    fn a_line_or_a_plan_without_measure_is_refused() {
        let mut inbox = Inbox::default();
        inbox.add(&vec![b'x'; MOST_LINE_BYTES]);
        assert!(inbox.next().is_err());
        let mut inbox = Inbox::default();
        inbox.add(b"{\"kind\":\"plan\",\"bytes\":99999999999,\"within_ms\":1}\n");
        assert!(inbox.next().is_err());
    }
}
