//! Processes and process groups in `/proc`; each program has its own group.

use crate::error::{Attempt, Result};
use std::fs;
use std::io;

/// Possible owners of sockets: host, program index, and process group while it runs.
pub type Owners = Vec<(String, usize, Option<i32>)>;

/// The program that owns a socket: the host's only one, or the one with a process that has it open.
///
/// A connection that is not accepted yet has no inode (0), and no owner.
pub fn owner(owners: &Owners, host: &str, inode: u32) -> Result<Option<usize>> {
    let here: Vec<_> = owners.iter().filter(|(theirs, ..)| theirs == host).collect();
    if let [(_, only, _)] = here.as_slice() {
        return Ok(Some(*only));
    }
    if inode == 0 {
        return Ok(None);
    }
    let link = format!("socket:[{inode}]");
    for (process, group) in grouped().attempt(|| "listing processes".into())? {
        let Some((_, program, _)) = here.iter().find(|(.., theirs)| *theirs == Some(group)) else { continue };
        // The process may have exited: it then has nothing open.
        let Ok(open) = fs::read_dir(format!("/proc/{process}/fd")) else { continue };
        if open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == link.as_str())) {
            return Ok(Some(*program));
        }
    }
    Ok(None)
}

/// PID and process group of every process; skips processes that exit meanwhile.
pub fn grouped() -> io::Result<impl Iterator<Item = (i32, i32)>> {
    let processes = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(processes.filter_map(|process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Some((process, group(&stat)?))
    }))
}

/// Parses a line such as `12 (a name) S 1 7 …` (proc(5)): the field after the parent's PID.
fn group(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// The child processes of this one.
pub fn children() -> io::Result<Vec<i32>> {
    let ours = i32::try_from(std::process::id()).expect("a process number fits");
    let processes = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_ours = |process: &i32| {
        fs::read_to_string(format!("/proc/{process}/stat")).ok().and_then(|stat| parent(&stat)) == Some(ours)
    };
    Ok(processes.filter(is_ours).collect())
}

fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_listed_while_it_runs() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is installed");
        let number = i32::try_from(child.id()).expect("a process number fits");
        assert!(children().expect("there is /proc").contains(&number));
        child.kill().expect("it is running");
        child.wait().expect("it was killed");
        assert!(!children().expect("there is /proc").contains(&number));
    }

    #[test]
    fn the_group_is_parsed_for_any_program_name() {
        assert_eq!(group("12 (sleep) S 1 7 7 0 -1"), Some(7));
        assert_eq!(group("12 (a) S 3) R 1 8 8 0 -1"), Some(8));
        assert_eq!(group("17 (ng (x) inx) S 1 42 42 0 -1"), Some(42));
        assert_eq!(group("no such line"), None);
        assert_eq!(group("17"), None);
    }

    #[test]
    fn this_process_is_listed() {
        let ours = i32::try_from(std::process::id()).expect("a process number fits");
        assert!(grouped().expect("there is /proc").any(|(process, _)| process == ours));
    }
}
