//! Copies the files that a program wrote out of its working folder when the experiment is over.
//!
//! The agent mounts the folder as tmpfs before the program starts, so that it outlives the program. Links, special
//! files and unchanged input files are not copied. A program may create any structure, and its processes may still be
//! changing it: folders are opened by descriptor, and links are not followed.

use crate::error::{Attempt, Result};
use dumbbell_plan::Program;
use dumbbell_records::end::Artifacts;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::{Mode, SFlag, fstatat};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Bytes copied per program, qlog files not counted; further files are listed as lost.
const MAX_BYTES: u64 = 64 << 20;
/// Files copied per program.
const MAX_FILES: usize = 1000;
/// Nesting depth: each level holds a descriptor.
const MAX_DEPTH: usize = 64;
/// Path length below the working folder; the full path must fit into 4,096 bytes (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 1024;
/// Lost files listed; more are counted.
const MAX_LISTED: usize = 1000;
/// Permission bits that files keep: no setuid, setgid or sticky bits.
const MODE_KEPT: u32 = 0o777;
/// Permission bits added, so that the user can read and remove the files.
const MODE_GIVEN: u32 = 0o600;

/// Path of a program's working folder.
pub fn work_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join("programs").join(format!("{number}.work"))
}

/// Creates and mounts an empty working folder.
pub fn prepare(work: &Path) -> Result<()> {
    let making = || "creating a working folder".into();
    fs::create_dir(work).attempt(making)?;
    mount(Some("none"), work, Some("tmpfs"), MsFlags::empty(), Some("mode=1777")).attempt(making)
}

/// Copies files that the program wrote from `work` to the folder `to`, which is created if needed.
pub fn copy_out(program: &Program, work: &Path, to: &Path) -> Result<Artifacts> {
    let reading = || format!("reading folder {}", work.display());
    let folder: OwnedFd = File::open(work).attempt(reading)?.into();
    let mut collector = Collector { program, to, artifacts: Artifacts::default(), bytes: 0 };
    collector.folder(&folder, Path::new(""), 0).attempt(reading)?;
    Ok(collector.artifacts)
}

/// State of the copy.
struct Collector<'a> {
    program: &'a Program,
    to: &'a Path,
    artifacts: Artifacts,
    bytes: u64,
}

impl Collector<'_> {
    /// Copies a folder's entries, sorted by name for a reproducible order.
    fn folder(&mut self, folder: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        let entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
        let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names.iter().try_for_each(|name| self.entry(folder, name, &path.join(name), depth))
    }

    fn entry(&mut self, folder: &OwnedFd, name: &OsStr, path: &Path, depth: usize) -> io::Result<()> {
        // A running process may have removed it.
        let Ok(metadata) = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) else { return Ok(()) };
        let kind = SFlag::from_bits_truncate(metadata.st_mode) & SFlag::S_IFMT;
        let too_long = path.as_os_str().len() > MAX_PATH_BYTES;
        if kind == SFlag::S_IFDIR {
            if too_long || depth == MAX_DEPTH {
                self.mark_lost(&path.join(""));
                return Ok(());
            }
            let Ok(inner) = open(folder, name, OFlag::O_DIRECTORY) else { return Ok(()) };
            return self.folder(&inner, path, depth + 1);
        }
        let length = u64::try_from(metadata.st_size).unwrap_or_default();
        if kind != SFlag::S_IFREG || is_input(self.program, &path.to_string_lossy(), length) {
            return Ok(());
        }
        let is_qlog = self.program.is_qlog(&path.to_string_lossy());
        let is_above = !is_qlog && self.bytes.saturating_add(length) > MAX_BYTES;
        let too_much = is_above || self.artifacts.kept.len() == MAX_FILES;
        if too_long || too_much || !self.copied(folder, name, path, length)? {
            self.mark_lost(path);
            return Ok(());
        }
        self.bytes += if is_qlog { 0 } else { length };
        self.artifacts.kept.push(path.to_string_lossy().into_owned());
        Ok(())
    }

    /// Copies a file; false if that fails. An error means that no further file can be copied.
    fn copied(&self, folder: &OwnedFd, name: &OsStr, path: &Path, length: u64) -> io::Result<bool> {
        let copy = self.to.join(path);
        let copying = || -> io::Result<()> {
            let from = File::from(open(folder, name, OFlag::O_NONBLOCK)?);
            let metadata = from.metadata()?;
            if !metadata.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            fs::create_dir_all(copy.parent().expect("a file has a folder"))?;
            let mut made = File::create_new(&copy)?;
            io::copy(&mut from.take(length), &mut made)?;
            made.set_permissions(Permissions::from_mode(metadata.permissions().mode() & MODE_KEPT | MODE_GIVEN))
        };
        match copying() {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error().is_some_and(|number| FULL.contains(&Errno::from_raw(number))) => {
                Err(error)
            }
            Err(_) => {
                // Remove the partial copy.
                let _ = fs::remove_file(&copy);
                Ok(false)
            }
        }
    }

    fn mark_lost(&mut self, path: &Path) {
        if self.artifacts.lost.len() < MAX_LISTED {
            self.artifacts.lost.push(path.to_string_lossy().into_owned());
        } else {
            self.artifacts.lost_more += 1;
        }
    }
}

/// Errors that end the copy: the disk is full.
const FULL: [Errno; 2] = [Errno::ENOSPC, Errno::EDQUOT];

/// Opens an entry of a folder for reading, without following links.
fn open(folder: &OwnedFd, name: &OsStr, how: OFlag) -> nix::Result<OwnedFd> {
    openat(folder, name, OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | how, Mode::empty())
}

/// Is it an input file of the experiment with its original length?
fn is_input(program: &Program, name: &str, length: u64) -> bool {
    program.files.iter().any(|given| {
        let had = given.text.as_ref().map_or(given.bytes.unwrap_or_default(), |text| text.len() as u64);
        given.path == name && given.link.is_none() && had == length
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_plan::Content;
    use std::os::unix::fs::symlink;

    fn program() -> Program {
        let given =
            |path: &str, text: &str| Content { path: path.into(), text: Some(text.into()), bytes: None, link: None };
        Program {
            name: "p".into(),
            host: String::new(),
            argv: Vec::new(),
            env: Vec::new(),
            files: vec![given("same", "abc"), given("longer", "abc")],
            writable: Vec::new(),
            typed: false,
            keeps_powers: false,
            start_ns: 0,
            stop_ns: None,
            stays: false,
            serves: None,
            qlog: Some("*.sqlog".into()),
            ends: false,
            cc: None,
            expect_status: 0,
            quic: None,
            terminal: None,
        }
    }

    #[test]
    fn written_files_are_copied_and_inputs_are_not() {
        let temporary = std::env::temp_dir().join(format!("dumbbell-artifacts-{}", std::process::id()));
        let (work, to) = (temporary.join("work"), temporary.join("to"));
        fs::create_dir_all(work.join("deep")).expect("a folder");
        for (name, text) in [("same", "abc"), ("longer", "abcd"), ("deep/new", "x"), ("empty", "")] {
            fs::write(work.join(name), text).expect("a file");
        }
        for name in ["huge", "1.sqlog"] {
            fs::File::create(work.join(name)).and_then(|file| file.set_len(MAX_BYTES)).expect("a file");
        }
        symlink("/etc/hosts", work.join("link")).expect("a link");
        symlink("/etc", work.join("links")).expect("a link");
        let artifacts = copy_out(&program(), &work, &to).expect("it works");
        assert_eq!(artifacts.kept, ["1.sqlog", "deep/new", "empty", "longer"]);
        assert_eq!(artifacts.lost, ["huge"]);
        assert_eq!(fs::read_to_string(to.join("deep/new")).expect("it exists"), "x");
        assert!(!to.join("same").exists() && !to.join("link").exists());
        fs::remove_dir_all(temporary).expect("it existed");
    }

    fn temporary_folders(name: &str) -> (PathBuf, PathBuf, PathBuf) {
        let temporary = std::env::temp_dir().join(format!("dumbbell-{name}-{}", std::process::id()));
        let (work, to) = (temporary.join("work"), temporary.join("to"));
        fs::create_dir_all(&work).expect("a folder");
        (temporary, work, to)
    }

    #[test]
    fn deep_folders_are_copied_up_to_the_path_limit() {
        let (temporary, work, to) = temporary_folders("deep");
        // Deeper than PATH_MAX allows in one path: created step by step, as a program would.
        let mut folder: OwnedFd = File::open(&work).expect("it exists").into();
        for _ in 0..2000 {
            nix::sys::stat::mkdirat(&folder, "d", Mode::S_IRWXU).expect("a folder");
            File::create(format!("/proc/self/fd/{}/f", folder.as_raw_fd())).expect("a file");
            folder = open(&folder, OsStr::new("d"), OFlag::O_DIRECTORY).expect("it exists");
        }
        let long = work.join("n".repeat(255)).join("n".repeat(255)).join("n".repeat(255)).join("n".repeat(255));
        fs::create_dir_all(&long).expect("folders");
        fs::write(long.join("file"), "x").expect("a file");
        let artifacts = copy_out(&program(), &work, &to).expect("it works");
        assert_eq!(artifacts.kept.len(), MAX_DEPTH + 1);
        assert_eq!(artifacts.lost.len(), 2);
        assert!(artifacts.lost.iter().any(|name| *name == "d/".repeat(MAX_DEPTH + 1)));
        fs::remove_dir_all(temporary).expect("it existed");
    }

    #[test]
    fn copies_lose_setuid_and_are_readable() {
        let (temporary, work, to) = temporary_folders("modes");
        for (name, mode, kept) in [("setuid", 0o6755, 0o755), ("unreadable", 0o000, 0o600), ("plain", 0o644, 0o644)] {
            fs::write(work.join(name), "x").expect("a file");
            fs::set_permissions(work.join(name), Permissions::from_mode(mode)).expect("the test owns it");
            // Root can read files without permissions; in a guest the agent is root.
            if mode == 0 && File::open(work.join(name)).is_err() {
                continue;
            }
            copy_out(&program(), &work, &to).expect("it works");
            let metadata = fs::metadata(to.join(name)).expect("it was copied");
            assert_eq!(metadata.permissions().mode() & 0o7777, kept, "{name}");
            fs::remove_file(work.join(name)).expect("it exists");
        }
        fs::remove_dir_all(temporary).expect("it existed");
    }

    #[test]
    fn files_beyond_the_limit_are_listed_and_then_counted() {
        let (temporary, work, to) = temporary_folders("many");
        for number in 0..MAX_FILES + MAX_LISTED + 7 {
            File::create(work.join(format!("{number:05}"))).expect("a file");
        }
        let artifacts = copy_out(&program(), &work, &to).expect("it works");
        assert_eq!((artifacts.kept.len(), artifacts.lost.len(), artifacts.lost_more), (MAX_FILES, MAX_LISTED, 7));
        assert_eq!(artifacts.lost[0], format!("{MAX_FILES:05}"));
        fs::remove_dir_all(temporary).expect("it existed");
    }
}
