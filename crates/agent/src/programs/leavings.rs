//! What a program leaves in its working folder, carried out to the machine once the experiment is over.
//!
//! The folder is memory, which the agent mounts before the program starts, so that it outlives it. Links, sockets
//! and the like, and what lay there from the beginning stay behind. What a program made may be of any shape, and
//! its processes may still be changing it: folders are entered by descriptor, and no link is followed.

use super::plan::Program;
use crate::error::{Attempt, Result};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::{Mode, SFlag, fstatat};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Carried out of one program's folder; what goes beyond is named instead.
const MOST_BYTES: u64 = 64 << 20;
/// The same in files.
const MOST_FILES: usize = 1000;
/// Folders within folders that are entered: each holds a descriptor.
const MOST_DEEP: usize = 64;
/// Of a path below the working folder: on the machine more comes before it, and the whole may have 4,096 (`PATH_MAX`).
const MOST_PATH_BYTES: usize = 1024;
/// What is lost is named so often; the rest is counted.
const MOST_NAMED: usize = 1000;
/// Permission bits that a file keeps; none that lends its owner's powers (setuid) to others.
const MODE_KEPT: u32 = 0o777;
/// Whoever asked for the run can read and remove its files.
const MODE_GIVEN: u32 = 0o600;

/// What became of the files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Leavings {
    /// Carried out: paths below the working folder.
    pub kept: Vec<String>,
    /// Too many, too large, too deep, or not to be copied; a folder's name ends in `/`.
    pub lost: Vec<String>,
    /// So many more are lost.
    pub lost_more: u64,
}

/// Where the agent sees a program's working folder.
pub fn place(folder: &Path, number: usize) -> PathBuf {
    folder.join("programs").join(format!("{number}.work"))
}

/// Makes the working folder, empty.
pub fn prepare(place: &Path) -> Result<()> {
    let making = || "making a working folder".into();
    fs::create_dir(place).attempt(making)?;
    mount(Some("none"), place, Some("tmpfs"), MsFlags::empty(), Some("mode=1777")).attempt(making)
}

/// Copies what the program wrote below `place` into the folder `to`, which is made when there is anything.
pub fn carry_out(program: &Program, place: &Path, to: &Path) -> Result<Leavings> {
    let looking = || format!("looking into {}", place.display());
    let folder: OwnedFd = File::open(place).attempt(looking)?.into();
    let mut carrying = Carrying { program, to, leavings: Leavings::default(), bytes: 0 };
    carrying.folder(&folder, Path::new(""), 0).attempt(looking)?;
    Ok(carrying.leavings)
}

/// How far the carrying is.
struct Carrying<'a> {
    program: &'a Program,
    to: &'a Path,
    leavings: Leavings,
    bytes: u64,
}

impl Carrying<'_> {
    /// All that lies in a folder, by name: the same order in every run.
    fn folder(&mut self, folder: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        let entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
        let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names.iter().try_for_each(|name| self.entry(folder, name, &path.join(name), depth))
    }

    fn entry(&mut self, folder: &OwnedFd, name: &OsStr, path: &Path, depth: usize) -> io::Result<()> {
        // A process that is still there may have removed it.
        let Ok(told) = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) else { return Ok(()) };
        let kind = SFlag::from_bits_truncate(told.st_mode) & SFlag::S_IFMT;
        let too_long = path.as_os_str().len() > MOST_PATH_BYTES;
        if kind == SFlag::S_IFDIR {
            if too_long || depth == MOST_DEEP {
                self.lose(&path.join(""));
                return Ok(());
            }
            let Ok(inner) = open(folder, name, OFlag::O_DIRECTORY) else { return Ok(()) };
            return self.folder(&inner, path, depth + 1);
        }
        let length = u64::try_from(told.st_size).unwrap_or_default();
        if kind != SFlag::S_IFREG || was_given(self.program, &path.to_string_lossy(), length) {
            return Ok(());
        }
        let too_much = self.bytes.saturating_add(length) > MOST_BYTES || self.leavings.kept.len() == MOST_FILES;
        if too_long || too_much || !self.copied(folder, name, path, length)? {
            self.lose(path);
            return Ok(());
        }
        self.bytes += length;
        self.leavings.kept.push(path.to_string_lossy().into_owned());
        Ok(())
    }

    /// Copies a file; false when it can't be. An error: nothing more can be.
    fn copied(&self, folder: &OwnedFd, name: &OsStr, path: &Path, length: u64) -> io::Result<bool> {
        let copy = self.to.join(path);
        let copying = || -> io::Result<()> {
            let from = File::from(open(folder, name, OFlag::O_NONBLOCK)?);
            let told = from.metadata()?;
            if !told.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            fs::create_dir_all(copy.parent().expect("it lies in a folder"))?;
            let mut made = File::create_new(&copy)?;
            io::copy(&mut from.take(length), &mut made)?;
            made.set_permissions(Permissions::from_mode(told.permissions().mode() & MODE_KEPT | MODE_GIVEN))
        };
        match copying() {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error().is_some_and(|number| FULL.contains(&Errno::from_raw(number))) => {
                Err(error)
            }
            Err(_) => {
                // Half of a file would look like a whole one.
                let _ = fs::remove_file(&copy);
                Ok(false)
            }
        }
    }

    fn lose(&mut self, path: &Path) {
        if self.leavings.lost.len() < MOST_NAMED {
            self.leavings.lost.push(path.to_string_lossy().into_owned());
        } else {
            self.leavings.lost_more += 1;
        }
    }
}

/// What ends the carrying: the machine's disk can take no more.
const FULL: [Errno; 2] = [Errno::ENOSPC, Errno::EDQUOT];

/// Opens what lies in a folder, to be read; a link is not followed.
fn open(folder: &OwnedFd, name: &OsStr, how: OFlag) -> nix::Result<OwnedFd> {
    openat(folder, name, OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | how, Mode::empty())
}

/// Was it put there by the experiment, and is it as long as it was?
fn was_given(program: &Program, name: &str, length: u64) -> bool {
    program.files.iter().any(|given| {
        let had = given.text.as_ref().map_or(given.bytes.unwrap_or_default(), |text| text.len() as u64);
        given.path == name && given.link.is_none() && had == length
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::plan::Content;
    use std::os::unix::fs::symlink;

    fn program() -> Program {
        let given =
            |path: &str, text: &str| Content { path: path.into(), text: Some(text.into()), bytes: None, link: None };
        Program {
            name: "p".into(),
            host: String::new(),
            argv: Vec::new(),
            env: std::collections::BTreeMap::new(),
            files: vec![given("same", "abc"), given("longer", "abc")],
            writable: Vec::new(),
            typed: false,
            keeps_powers: false,
            start_ns: 0,
            stop_ns: None,
            stays: false,
            serves: None,
            ends: false,
            terminal: None,
        }
    }

    #[test]
    fn what_was_written_is_carried_out_and_what_was_given_stays() {
        let room = std::env::temp_dir().join(format!("dumbbell-leavings-{}", std::process::id()));
        let (work, to) = (room.join("work"), room.join("to"));
        fs::create_dir_all(work.join("deep")).expect("a folder");
        for (name, text) in [("same", "abc"), ("longer", "abcd"), ("deep/new", "x"), ("empty", "")] {
            fs::write(work.join(name), text).expect("a file");
        }
        fs::File::create(work.join("huge")).and_then(|file| file.set_len(MOST_BYTES)).expect("a file");
        symlink("/etc/hosts", work.join("link")).expect("a link");
        symlink("/etc", work.join("links")).expect("a link");
        let leavings = carry_out(&program(), &work, &to).expect("it works");
        assert_eq!(leavings.kept, ["deep/new", "empty", "longer"]);
        assert_eq!(leavings.lost, ["huge"]);
        assert_eq!(fs::read_to_string(to.join("deep/new")).expect("it is there"), "x");
        assert!(!to.join("same").exists() && !to.join("link").exists());
        fs::remove_dir_all(room).expect("it was there");
    }

    fn yard(name: &str) -> (PathBuf, PathBuf, PathBuf) {
        let room = std::env::temp_dir().join(format!("dumbbell-{name}-{}", std::process::id()));
        let (work, to) = (room.join("work"), room.join("to"));
        fs::create_dir_all(&work).expect("a folder");
        (room, work, to)
    }

    #[test]
    fn folders_of_any_depth_are_carried_out_as_far_as_paths_go() {
        let (room, work, to) = yard("deep");
        // Deeper than a path can say: made step by step, as a program makes it.
        let mut folder: OwnedFd = File::open(&work).expect("it is there").into();
        for _ in 0..2000 {
            nix::sys::stat::mkdirat(&folder, "d", Mode::S_IRWXU).expect("a folder");
            File::create(format!("/proc/self/fd/{}/f", folder.as_raw_fd())).expect("a file");
            folder = open(&folder, OsStr::new("d"), OFlag::O_DIRECTORY).expect("it is there");
        }
        let long = work.join("n".repeat(255)).join("n".repeat(255)).join("n".repeat(255)).join("n".repeat(255));
        fs::create_dir_all(&long).expect("folders");
        fs::write(long.join("file"), "x").expect("a file");
        let leavings = carry_out(&program(), &work, &to).expect("it works");
        assert_eq!(leavings.kept.len(), MOST_DEEP + 1);
        assert_eq!(leavings.lost.len(), 2);
        assert!(leavings.lost.iter().any(|name| *name == "d/".repeat(MOST_DEEP + 1)));
        fs::remove_dir_all(room).expect("it was there");
    }

    #[test]
    fn a_file_lends_nobody_s_powers_and_can_be_read() {
        let (room, work, to) = yard("modes");
        for (name, mode, kept) in [("setuid", 0o6755, 0o755), ("unreadable", 0o000, 0o600), ("plain", 0o644, 0o644)] {
            fs::write(work.join(name), "x").expect("a file");
            fs::set_permissions(work.join(name), Permissions::from_mode(mode)).expect("it is ours");
            // Root reads what has no permissions; in a guest the agent is root.
            if mode == 0 && File::open(work.join(name)).is_err() {
                continue;
            }
            carry_out(&program(), &work, &to).expect("it works");
            let told = fs::metadata(to.join(name)).expect("it was carried out");
            assert_eq!(told.permissions().mode() & 0o7777, kept, "{name}");
            fs::remove_file(work.join(name)).expect("it is there");
        }
        fs::remove_dir_all(room).expect("it was there");
    }

    #[test]
    fn more_files_than_are_kept_are_named_and_then_counted() {
        let (room, work, to) = yard("many");
        for number in 0..MOST_FILES + MOST_NAMED + 7 {
            File::create(work.join(format!("{number:05}"))).expect("a file");
        }
        let leavings = carry_out(&program(), &work, &to).expect("it works");
        assert_eq!((leavings.kept.len(), leavings.lost.len(), leavings.lost_more), (MOST_FILES, MOST_NAMED, 7));
        assert_eq!(leavings.lost[0], format!("{MOST_FILES:05}"));
        fs::remove_dir_all(room).expect("it was there");
    }
}
