//! What a program leaves in its working folder, carried out to the machine once the experiment is over.
//!
//! The folder is memory, which the agent mounts before the program starts, so that it outlives it. Links, sockets
//! and the like, and what lay there from the beginning stay behind.

use super::plan::Program;
use crate::error::{Attempt, Result};
use nix::mount::{MsFlags, mount};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Carried out of one program's folder; what goes beyond is named instead.
const MOST_BYTES: u64 = 64 << 20;
/// The same in files.
const MOST_FILES: usize = 1000;

/// What became of the files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Leavings {
    /// Carried out: paths below the working folder.
    pub kept: Vec<String>,
    /// Too many or too large.
    pub lost: Vec<String>,
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
    let mut found = Vec::new();
    list(place, &mut found)?;
    found.sort();
    let (mut leavings, mut bytes) = (Leavings::default(), 0);
    for (file, length) in found {
        let path = file.strip_prefix(place).expect("it was found there");
        let name = path.to_string_lossy().into_owned();
        if was_given(program, &name, length) {
            continue;
        }
        if bytes + length > MOST_BYTES || leavings.kept.len() == MOST_FILES {
            leavings.lost.push(name);
            continue;
        }
        let copy = to.join(path);
        fs::create_dir_all(copy.parent().expect("it lies in a folder"))
            .and_then(|()| fs::copy(&file, &copy))
            .attempt(|| format!("keeping the file '{name}' of program '{}'", program.name))?;
        bytes += length;
        leavings.kept.push(name);
    }
    Ok(leavings)
}

/// Plain files and their lengths; links are not followed.
fn list(folder: &Path, found: &mut Vec<(PathBuf, u64)>) -> Result<()> {
    let looking = || format!("looking into {}", folder.display());
    for entry in fs::read_dir(folder).attempt(looking)? {
        let entry = entry.attempt(looking)?;
        let told = entry.metadata().attempt(looking)?;
        if told.is_dir() {
            list(&entry.path(), found)?;
        } else if told.is_file() {
            found.push((entry.path(), told.len()));
        }
    }
    Ok(())
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
        let leavings = carry_out(&program(), &work, &to).expect("it works");
        assert_eq!(leavings.kept, ["deep/new", "empty", "longer"]);
        assert_eq!(leavings.lost, ["huge"]);
        assert_eq!(fs::read_to_string(to.join("deep/new")).expect("it is there"), "x");
        assert!(!to.join("same").exists() && !to.join("link").exists());
        fs::remove_dir_all(room).expect("it was there");
    }
}
