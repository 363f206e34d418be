//! What there was, on file, so that whoever comes after a crash can put it back.
//!
//! A file in `/run/dumbbell` for each part of an experiment on this machine, written before the first change and locked
//! (`flock`) by the warden for as long as it lives. `/run` is empty after the machine's start, as the devices are. A file
//! whose owner is gone is carried out by the next agent that comes here. It names its network namespace, because `/run` may
//! be shared by several.

use super::state::State;
use crate::error::{Attempt, Error, Result};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the files are.
pub const FOLDER: &str = "/run/dumbbell";

/// The contents of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// What a person needs to know who finds the file.
    what: String,
    /// The lines that such a person would type.
    by_hand: Vec<String>,
    /// The namespace that the devices are in.
    network: String,
    before: State,
}

/// A file that is locked.
pub struct Claim {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Claim {
    /// Puts on file what there was; refuses devices that a living part of another experiment has.
    pub fn stake(folder: &Path, before: &State) -> Result<Self> {
        fs::create_dir_all(folder).attempt(|| format!("making {}", folder.display()))?;
        // Whoever stakes or sweeps does it alone.
        let _alone = alone(folder)?;
        for path in notes(folder)? {
            let Some(note) = owned(&path)? else { continue };
            if let Some(device) = before.devices.keys().find(|device| note.before.devices.contains_key(*device)) {
                let device = format!("device '{device}' is used by another experiment now");
                return Err(Error::Unfit(format!("{device} ({})", path.display())));
            }
        }
        let path = folder.join(format!("undo-{}.json", std::process::id()));
        let note = Note {
            what: "Dumbbell changes these devices and settings; this is how they were. While its warden lives, the \
                   file is locked; whoever runs dumbbell with this host next puts back what a crash left."
                .into(),
            by_hand: before.by_hand(),
            network: network()?,
            before: before.clone(),
        };
        let mut file = File::create(&path).attempt(|| format!("making {}", path.display()))?;
        file.write_all(&serde_json::to_vec_pretty(&note)?).attempt(|| format!("writing {}", path.display()))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, error)| error)
            .attempt(|| format!("locking {}", path.display()))?;
        Ok(Self { path, _lock: lock })
    }

    /// Everything is as it was: nothing is left to do.
    pub fn release(self) {
        let Self { path, .. } = &self;
        // A file that stays does no harm: what it says is so already.
        let _ = fs::remove_file(path);
        if let Some(folder) = path.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Carries out what dead owners left; says what that was.
pub fn sweep(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut done = Vec::new();
    {
        let _alone = alone(folder)?;
        let here = network()?;
        for path in notes(folder)? {
            let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
            // Its owner lives.
            let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            let text = fs::read(&path).attempt(|| format!("reading {}", path.display()))?;
            // One that was cut off while it was written stood before the first change.
            let note = serde_json::from_slice::<Note>(&text).ok();
            if let Some(note) = &note {
                if note.network != here {
                    continue;
                }
                done.extend(carry_out(note)?);
            }
            fs::remove_file(&path).attempt(|| format!("removing {}", path.display()))?;
        }
    }
    let _ = fs::remove_dir(folder);
    Ok(done)
}

fn carry_out(note: &Note) -> Result<Vec<String>> {
    let found = note.before.differences();
    let failures = note.before.put_back();
    if let Some(failure) = failures.first() {
        return Err(Error::Unfit(format!("a crashed experiment left this machine changed: {failure}")));
    }
    Ok(found)
}

/// A note whose owner lives.
fn owned(path: &Path) -> Result<Option<Note>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    if Flock::lock(file, FlockArg::LockSharedNonblock).is_ok() {
        return Ok(None);
    }
    let text = fs::read(path).attempt(|| format!("reading {}", path.display()))?;
    let note: Option<Note> = serde_json::from_slice(&text).ok();
    let here = network()?;
    Ok(note.filter(|note| note.network == here))
}

fn notes(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let paths =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).collect())
    };
    list().attempt(|| format!("listing {}", folder.display()))
}

fn alone(folder: &Path) -> Result<Flock<File>> {
    let open = File::open(folder).attempt(|| format!("opening {}", folder.display()))?;
    Flock::lock(open, FlockArg::LockExclusive)
        .map_err(|(_, error)| error)
        .attempt(|| format!("locking {}", folder.display()))
}

fn network() -> Result<String> {
    let name = fs::read_link("/proc/self/ns/net").attempt(|| "naming the network namespace".into())?;
    Ok(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dumbbell-undo-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn with_device(name: &str) -> State {
        let device = r#"{"disciplines": [], "features": {"changeable": [], "wanted": [], "active": []}}"#;
        serde_json::from_str(&format!("{{\"devices\": {{\"{name}\": {device}}}, \"settings\": {{}}}}")).unwrap()
    }

    #[test]
    fn what_a_dead_owner_left_is_put_back_and_forgotten() {
        let folder = folder("dead");
        let setting = folder.join("setting");
        fs::write(&setting, "1\n").unwrap();
        let notes = folder.join("notes");
        let before = State::read(&[], &[setting.to_string_lossy().into_owned()]).unwrap();
        let claim = Claim::stake(&notes, &before).unwrap();
        fs::write(&setting, "2\n").unwrap();
        assert_eq!(sweep(&notes).unwrap(), Vec::<String>::new(), "its owner lives");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "2\n");
        drop(claim);
        assert_eq!(sweep(&notes).unwrap().len(), 1);
        assert_eq!(fs::read_to_string(&setting).unwrap(), "1\n");
        assert!(!notes.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_device_has_one_experiment_at_a_time() {
        let folder = folder("twice");
        let claim = Claim::stake(&folder, &with_device("eth1")).unwrap();
        let refused = Claim::stake(&folder, &with_device("eth1")).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|text| text.contains("'eth1' is used by another experiment")));
        claim.release();
        assert!(!folder.exists());
    }

    #[test]
    fn a_note_that_was_cut_off_stood_before_any_change() {
        let folder = folder("cut");
        fs::write(folder.join("undo-1.json"), "{\"what\": \"Dumb").unwrap();
        assert_eq!(sweep(&folder).unwrap(), Vec::<String>::new());
        assert!(!folder.exists());
    }
}
