//! The initial state in a file, for recovery after a crash.
//!
//! Each experiment on the host has a file in `/run/dumbbell`, written before the first change. The watchdog holds a
//! lock on it (`flock`) while it runs. `/run` is empty after a reboot, when devices have their defaults again. If the
//! owner of a file has exited, the next agent restores the host. The file names its network namespace, because several
//! may share `/run`.

use super::state::State;
use crate::error::{Attempt, Error, Result};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Folder of the files.
pub const FOLDER: &str = "/run/dumbbell";

/// The contents of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// An explanation for users who find the file.
    what: String,
    /// Commands that restore the state by hand.
    by_hand: Vec<String>,
    /// Network namespace of the devices.
    network: String,
    before: State,
}

/// A locked file.
pub struct StateFile {
    path: PathBuf,
    _lock: Flock<File>,
}

impl StateFile {
    /// Writes the initial state; refuses devices that another running experiment uses.
    pub fn create(folder: &Path, before: &State) -> Result<Self> {
        fs::create_dir_all(folder).attempt(|| format!("creating {}", folder.display()))?;
        // One process at a time.
        let _folder_lock = lock_folder(folder)?;
        for path in records(folder)? {
            let Some(record) = running_owner(&path)? else { continue };
            if let Some(device) = before.devices.keys().find(|device| record.before.devices.contains_key(*device)) {
                let device = format!("device '{device}' is used by another experiment");
                return Err(Error::Unfit(format!("{device} ({})", path.display())));
            }
        }
        let path = folder.join(format!("undo-{}.json", std::process::id()));
        let record = Record {
            what: "Dumbbell changes these devices and settings; this is their initial state. While its watchdog \
                   runs, the file is locked. After a crash, the next dumbbell run with this host restores the state."
                .into(),
            by_hand: before.by_hand(),
            network: network()?,
            before: before.clone(),
        };
        let mut file = File::create(&path).attempt(|| format!("creating {}", path.display()))?;
        file.write_all(&serde_json::to_vec_pretty(&record)?).attempt(|| format!("writing {}", path.display()))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, error)| error)
            .attempt(|| format!("locking {}", path.display()))?;
        Ok(Self { path, _lock: lock })
    }

    /// The host is restored: removes the file.
    pub fn remove(self) {
        let Self { path, .. } = &self;
        // A leftover file does no harm: its state is the current one.
        let _ = fs::remove_file(path);
        if let Some(folder) = path.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Restores what crashed agents changed; returns the differences found.
pub fn restore_crashed(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut done = Vec::new();
    {
        let _folder_lock = lock_folder(folder)?;
        let here = network()?;
        for path in records(folder)? {
            let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
            // Its owner is running.
            let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            let text = fs::read(&path).attempt(|| format!("reading {}", path.display()))?;
            // A truncated file was written before the first change.
            let record = serde_json::from_slice::<Record>(&text).ok();
            if let Some(record) = &record {
                if record.network != here {
                    continue;
                }
                done.extend(restore_record(record)?);
            }
            fs::remove_file(&path).attempt(|| format!("removing {}", path.display()))?;
        }
    }
    let _ = fs::remove_dir(folder);
    Ok(done)
}

fn restore_record(record: &Record) -> Result<Vec<String>> {
    let found = record.before.differences();
    let failures = record.before.restore();
    if let Some(failure) = failures.first() {
        return Err(Error::Unfit(format!("can't restore what a crashed experiment changed on this host: {failure}")));
    }
    Ok(found)
}

/// The content of a file whose owner is running.
fn running_owner(path: &Path) -> Result<Option<Record>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    if Flock::lock(file, FlockArg::LockSharedNonblock).is_ok() {
        return Ok(None);
    }
    let text = fs::read(path).attempt(|| format!("reading {}", path.display()))?;
    let record: Option<Record> = serde_json::from_slice(&text).ok();
    let here = network()?;
    Ok(record.filter(|record| record.network == here))
}

fn records(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let paths =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).collect())
    };
    list().attempt(|| format!("listing {}", folder.display()))
}

fn lock_folder(folder: &Path) -> Result<Flock<File>> {
    let open = File::open(folder).attempt(|| format!("opening {}", folder.display()))?;
    Flock::lock(open, FlockArg::LockExclusive)
        .map_err(|(_, error)| error)
        .attempt(|| format!("locking {}", folder.display()))
}

fn network() -> Result<String> {
    let name = fs::read_link("/proc/self/ns/net").attempt(|| "reading the network namespace".into())?;
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
    fn the_state_of_a_crashed_agent_is_restored_and_its_file_removed() {
        let folder = folder("dead");
        let setting = folder.join("setting");
        fs::write(&setting, "1\n").unwrap();
        let records = folder.join("notes");
        let before = State::read(&[], &[setting.to_string_lossy().into_owned()]).unwrap();
        let state_file = StateFile::create(&records, &before).unwrap();
        fs::write(&setting, "2\n").unwrap();
        assert_eq!(restore_crashed(&records).unwrap(), Vec::<String>::new(), "its owner is running");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "2\n");
        drop(state_file);
        assert_eq!(restore_crashed(&records).unwrap().len(), 1);
        assert_eq!(fs::read_to_string(&setting).unwrap(), "1\n");
        assert!(!records.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_commands_by_hand_restore_offloads_too() {
        let commands = State::read(&["lo".into()], &[]).unwrap().by_hand();
        assert_eq!(commands[0], "tc qdisc del dev lo root");
        let words: Vec<_> = commands[1].split(' ').collect();
        assert_eq!(words[..3], ["ethtool", "-K", "lo"]);
        assert!(words[3..].contains(&"tx-tcp-segmentation"));
        assert!(words[3..].chunks(2).all(|pair| ["on", "off"].contains(&pair[1])));
    }

    #[test]
    fn a_device_is_used_by_one_experiment_at_a_time() {
        let folder = folder("twice");
        let state_file = StateFile::create(&folder, &with_device("eth1")).unwrap();
        let refused = StateFile::create(&folder, &with_device("eth1")).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|text| text.contains("'eth1' is used by another experiment")));
        state_file.remove();
        assert!(!folder.exists());
    }

    #[test]
    fn a_truncated_file_is_removed() {
        let folder = folder("cut");
        fs::write(folder.join("undo-1.json"), "{\"what\": \"Dumb").unwrap();
        assert_eq!(restore_crashed(&folder).unwrap(), Vec::<String>::new());
        assert!(!folder.exists());
    }
}
