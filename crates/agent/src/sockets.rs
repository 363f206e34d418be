//! Dumps every TCP socket of a network namespace to standard output, periodically, for `dumbbell watch`.
//!
//! ```text
//! stream   frame, frame, … until `--count` frames are written or the reader closes the pipe
//! frame    header: "DBSOCK01", CLOCK_MONOTONIC and CLOCK_REALTIME when the dump began, how long it took (u64 ns each),
//!          number of rows (u32), bytes of a row (u32); then the rows
//! row      struct inet_diag_msg, SK_MEMINFO_*, the controller's name, the attribute number of the controller's info
//!          (u16, 0 if missing), its length (u16), the info, struct tcp_info; each zero if the
//!          socket has none
//! ```
//!
//! All numbers are in host byte order. `dumbbell.host.tcp_connections` has the same layout. One netlink socket serves
//! all dumps and needs no privileges. The reader detects closed sockets and computes rates.

use crate::error::{Attempt, Error, Result};
use crate::sample::diag::{
    self, CC_INFO, CONNECTED, CONTROLLER_KEPT, FAMILIES, INFO_KEPT, MEMORY_KEPT, MESSAGE_BYTES, SOCK_DIAG_BY_FAMILY,
    TCP,
};
use crate::sample::netlink::{Netlink, attributes};
use crate::sys;
use netlink_packet_sock_diag::inet::{ExtensionFlags, StateFlags};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::SockProtocol;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// Command line syntax.
pub const USAGE: &str = "dumbbell-agent sockets [--every 1s] [--count N] [--states all|connected|established] \
                         [--netns NAME|PID]";

const MAGIC: &[u8; 8] = b"DBSOCK01";
const HEADER_BYTES: usize = 40;
/// `union tcp_cc_info` has 20 bytes in Linux, and 52 in kernels with BBR version 3.
const CC_INFO_BYTES: usize = 64;
const ROW_BYTES: usize = MESSAGE_BYTES + MEMORY_KEPT.1 + CONTROLLER_KEPT.1 + 4 + CC_INFO_BYTES + INFO_KEPT.1;
/// No attribute has this number.
const NOTHING: u16 = u16::MAX;
const ESTABLISHED: u32 = 1 << 1;
const NS_PER_MS: u64 = 1_000_000;

/// Parsed options.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    every_ns: u64,
    /// None: unlimited.
    count: Option<u64>,
    states: u32,
    netns: Option<String>,
}

/// Parses the arguments and dumps sockets; returns the exit status.
pub fn main(words: &[OsString]) -> ExitCode {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let Some(options) = words.and_then(|words| options(&words)) else {
        eprintln!("usage: {USAGE}");
        return ExitCode::from(2);
    };
    match dump_all(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dumbbell-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: &[&str]) -> Option<Options> {
    let mut options = Options { every_ns: 1000 * NS_PER_MS, count: None, states: u32::MAX, netns: None };
    if !words.len().is_multiple_of(2) {
        return None;
    }
    for pair in words.chunks(2) {
        match pair {
            ["--every", text] => options.every_ns = duration_ns(text)?,
            ["--count", text] => options.count = Some(text.parse().ok().filter(|count| *count > 0)?),
            ["--states", "all"] => options.states = u32::MAX,
            ["--states", "connected"] => options.states = CONNECTED,
            ["--states", "established"] => options.states = ESTABLISHED,
            ["--netns", name] if !name.is_empty() => options.netns = Some((*name).into()),
            _ => return None,
        }
    }
    Some(options)
}

/// `1s`, `250ms`, `100us`: an integer with a unit.
fn duration_ns(text: &str) -> Option<u64> {
    let digits = text.find(|request_batch: char| !request_batch.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit {
        "s" => 1000 * NS_PER_MS,
        "ms" => NS_PER_MS,
        "us" => 1000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ns).filter(|every_ns| *every_ns > 0)
}

fn dump_all(options: &Options) -> Result<()> {
    if let Some(netns) = &options.netns {
        let path = namespace(netns);
        sys::enter(&path).attempt(|| format!("entering network namespace '{netns}' ({path})"))?;
    }
    let netlink = Netlink::open_unprivileged(SockProtocol::NetlinkSockDiag)?;
    let mut out = io::stdout().lock();
    let mut frame = Vec::new();
    let mut left = options.count.unwrap_or(u64::MAX);
    let mut next_ns = sys::both_clocks_ns().0;
    loop {
        fill(&mut frame, &netlink, options.states)?;
        match out.write_all(&frame).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.attempt(|| "writing to standard output".into())?,
        }
        left -= 1;
        if left == 0 {
            return Ok(());
        }
        // If the reader is slow, dumps are skipped, not queued.
        let now_ns = sys::both_clocks_ns().0;
        next_ns = (next_ns + options.every_ns).max(now_ns);
        if !pause(&out, next_ns - now_ns)? {
            return Ok(());
        }
    }
}

/// A number is a PID; anything else is a name of `ip netns` or a file.
fn namespace(netns: &str) -> String {
    match netns {
        path if path.contains('/') => path.into(),
        process if process.bytes().all(|request_batch| request_batch.is_ascii_digit()) => {
            format!("/proc/{process}/ns/net")
        }
        name => format!("/run/netns/{name}"),
    }
}

/// Replaces `frame` by the next one.
fn fill(frame: &mut Vec<u8>, netlink: &Netlink, states: u32) -> Result<()> {
    let (monotonic_ns, realtime_ns) = sys::both_clocks_ns();
    frame.clear();
    frame.resize(HEADER_BYTES, 0);
    for family in FAMILIES {
        let extensions =
            ExtensionFlags::INFO | ExtensionFlags::CONG | ExtensionFlags::SKMEMINFO | ExtensionFlags::VEGASINFO;
        let request = diag::dump(family, TCP, extensions, StateFlags::from_bits_retain(states));
        let refused = netlink.dump_unless_refused(&request, |answer| {
            if answer.kind == SOCK_DIAG_BY_FAMILY && answer.payload.len() >= MESSAGE_BYTES {
                row(answer.payload, frame);
            }
        })?;
        match refused {
            // The kernel has no IPv6, or no diag module for it.
            None => {}
            Some(Errno::ENOENT) if family != FAMILIES[0] => {}
            Some(errno) => return Err(refusal(errno)),
        }
    }
    let rows = u32::try_from((frame.len() - HEADER_BYTES) / ROW_BYTES).expect("fewer than 2^32 sockets");
    let dump_ns = sys::both_clocks_ns().0 - monotonic_ns;
    let mut header = MAGIC.to_vec();
    for number in [monotonic_ns, realtime_ns, dump_ns] {
        header.extend(number.to_ne_bytes());
    }
    header.extend(rows.to_ne_bytes());
    header.extend(u32::try_from(ROW_BYTES).expect("a row is short").to_ne_bytes());
    frame[..HEADER_BYTES].copy_from_slice(&header);
    Ok(())
}

fn refusal(errno: Errno) -> Error {
    let attempt = match errno {
        Errno::ENOENT => "dumping TCP sockets (this kernel has no tcp_diag: CONFIG_INET_TCP_DIAG, modprobe tcp_diag)",
        _ => "dumping TCP sockets",
    };
    Error::System { attempt: attempt.into(), source: errno.into() }
}

fn row(payload: &[u8], frame: &mut Vec<u8>) {
    let own = attributes(&payload[MESSAGE_BYTES..]).find(|(kind, _)| CC_INFO.contains(kind));
    let (kind, length) = own.map_or((0, 0), |(kind, value)| (kind, value.len()));
    let options = if kind == 0 { NOTHING } else { kind };
    let start = frame.len();
    diag::keep(payload, &[MEMORY_KEPT, CONTROLLER_KEPT, (NOTHING, 4), (options, CC_INFO_BYTES), INFO_KEPT], frame);
    let offset = start + MESSAGE_BYTES + MEMORY_KEPT.1 + CONTROLLER_KEPT.1;
    frame[offset..offset + 2].copy_from_slice(&kind.to_ne_bytes());
    frame[offset + 2..offset + 4]
        .copy_from_slice(&u16::try_from(length).expect("a netlink attribute is short").to_ne_bytes());
}

/// Waits for the next dump; false if the reader has closed the pipe.
fn pause(out: &impl AsFd, time_ns: u64) -> Result<bool> {
    let milliseconds = i32::try_from(time_ns.div_ceil(NS_PER_MS)).unwrap_or(i32::MAX);
    let timeout = PollTimeout::try_from(milliseconds).expect("not negative");
    // No events requested: poll always reports a closed reader.
    match poll(&mut [PollFd::new(out.as_fd(), PollFlags::empty())], timeout) {
        Ok(0) | Err(Errno::EINTR) => Ok(true),
        Ok(_) => Ok(false),
        Err(errno) => Err(errno).attempt(|| "waiting for the next dump".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_frame_contains_a_local_connection_and_its_controller() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let _client = TcpStream::connect(address).expect("it listens");
        let netlink = Netlink::open_unprivileged(SockProtocol::NetlinkSockDiag).expect("netlink opens");
        let mut frame = Vec::new();
        // The second dump on the same socket gives the same.
        for states in [CONNECTED, u32::MAX] {
            fill(&mut frame, &netlink, states).expect("the kernel answers");
            assert_eq!(&frame[..8], MAGIC);
            let rows: Vec<_> = frame[HEADER_BYTES..].chunks(ROW_BYTES).collect();
            assert_eq!(u32::from_ne_bytes(frame[32..36].try_into().expect("four")) as usize, rows.len());
            let to_us = |row: &&&[u8]| row[6..8] == address.port().to_be_bytes() && row[1] == 1;
            let ours = rows.iter().find(to_us).expect("the client's socket");
            assert_ne!(ours[MESSAGE_BYTES + MEMORY_KEPT.1], 0, "its controller has a name");
            let listens = |row: &&[u8]| row[4..6] == address.port().to_be_bytes() && row[1] == 10;
            assert_eq!(rows.iter().any(listens), states == u32::MAX);
        }
    }

    #[test]
    fn options_are_parsed_or_refused() {
        let full = options(&["--every", "250ms", "--count", "3", "--states", "established", "--netns", "red"]);
        let netns = Some("red".to_string());
        assert_eq!(full, Some(Options { every_ns: 250 * NS_PER_MS, count: Some(3), states: ESTABLISHED, netns }));
        for wrong in [
            &["--every"][..],
            &["--every", "1"],
            &["--every", "0s"],
            &["--every", "99999999999999999999s"],
            &["--every", "18446744073709551615s"],
            &["--count", "0"],
            &["--count", "-1"],
            &["--states", "some"],
            &["--netns", ""],
            &["--what", "1s"],
        ] {
            assert_eq!(options(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_namespace_is_a_pid_a_name_or_a_file() {
        assert_eq!(namespace("17"), "/proc/17/ns/net");
        assert_eq!(namespace("red"), "/run/netns/red");
        assert_eq!(namespace("/proc/self/ns/net"), "/proc/self/ns/net");
    }
}
