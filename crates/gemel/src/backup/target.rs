//! The target of a backup: admitted before, and replaced once the record of the backup is durable.

use super::record::{RECORD, Record, files_of};
use crate::directory::is_data;
use crate::disk::{self, TABLES};
use crate::error::{Error, Result, io};
use crate::files::{Files, RealFiles, fail_point, length, remove_tree};
use crate::log::Lsn;
use crate::manifest::Manifest;
use crate::recovery::DISK_DIRECTORY;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Directory in the target for the files of a backup that is not complete.
pub(crate) const STAGING: &str = "backup-new";

/// Rejects a target that is the database or in it, before anything is made.
pub(super) fn check_place(database: &Path, to: &Path) -> Result<()> {
    let database = database.canonicalize().map_err(io("can't find", database))?;
    let mut existing = to;
    while !existing.try_exists().map_err(io("can't look at", existing))? {
        let Some(parent) = existing.parent() else { break };
        if existing.components().next_back() == Some(Component::ParentDir) {
            return Err(Error::Usage(format!("{}: name the target without '..'", to.display())));
        }
        existing = parent;
    }
    let real = existing.canonicalize().map_err(io("can't find", existing))?;
    if real.starts_with(&database) {
        return Err(Error::Usage(format!(
            "{} is the database's own directory or in it: name a directory elsewhere",
            to.display()
        )));
    }
    if !real.is_dir() {
        return Err(Error::Usage(format!("{} is not a directory: name another path", existing.display())));
    }
    Ok(())
}

/// Admits a target that is empty or an unchanged backup of the database, which has this manifest and these ends of its
/// logs. Completes an interrupted backup in it.
pub(super) fn admit(files: &dyn Files, to: &Path, of: &Manifest, ends: &[Lsn]) -> Result<()> {
    let other = || {
        Error::Usage(format!(
            "{} holds another database: name an empty directory or an earlier backup of this one",
            to.display()
        ))
    };
    let staged = Record::read(files, &to.join(STAGING))?;
    if staged.as_ref().is_some_and(|staged| staged.database != of.database) {
        return Err(other());
    }
    let manifest = Manifest::read(files, to)?;
    if manifest.as_ref().is_some_and(|manifest| manifest.database != of.database) {
        return Err(other());
    }
    if let Some(staged) = &staged {
        staged.check_incarnation(of.incarnation, to)?;
    }
    if manifest.is_some() || staged.is_some() {
        settle(files, to)?;
    }
    let Some(manifest) = Manifest::read(files, to)? else {
        for entry in std::fs::read_dir(to).map_err(io("can't read the directory", to))? {
            let name = entry.map_err(io("can't read the directory", to))?.file_name();
            if name != STAGING {
                return Err(Error::Usage(format!(
                    "{} holds {} and is not a backup: name an empty directory or an earlier backup of this database",
                    to.display(),
                    name.display()
                )));
            }
        }
        return remove_staging(files, to);
    };
    let Some(record) = Record::read(files, to)? else {
        return Err(Error::Usage(format!(
            "{} holds this database and is not a backup of it: name an empty directory or an earlier backup",
            to.display()
        )));
    };
    record.check_incarnation(of.incarnation, to)?;
    record.check_earlier(manifest.log, ends, to)?;
    if record.is_unchanged(files, to, &manifest)? {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} was changed after it had been backed up: name another directory, or delete this one",
        to.display()
    )))
}

fn has_staging(to: &Path) -> bool {
    to.join(STAGING).is_dir()
}

pub(super) fn remove_staging(files: &dyn Files, to: &Path) -> Result<()> {
    let staging = to.join(STAGING);
    if has_staging(to) {
        // First the record, which promises that all the others are there.
        if length(files, &staging.join(RECORD))?.is_some() {
            files.remove(&staging.join(RECORD))?;
            files.sync_dir(&staging)?;
        }
        for name in files.list(&staging)? {
            if !staging.join(&name).is_dir() {
                files.remove(&staging.join(name))?;
            }
        }
        remove_tree(&staging)?;
        files.sync_dir(to)?;
    }
    Ok(())
}

/// Completes a backup that was interrupted after its record was durable, and removes one that was interrupted before.
/// Does nothing in a directory without a trace of one. The caller has locked the directory.
///
/// # Errors
/// The first backup into the directory was interrupted; a file is missing, or can't be moved.
pub(crate) fn settle(files: &dyn Files, to: &Path) -> Result<()> {
    if !has_staging(to) {
        return Ok(());
    }
    let staging = to.join(STAGING);
    let Some(record) = Record::read(files, &staging)? else {
        if Manifest::read(files, to)?.is_none() {
            return Err(Error::Usage(format!(
                "{} holds only an unfinished backup: run the backup again, or delete the directory",
                to.display()
            )));
        }
        return remove_staging(files, to);
    };
    let mut directories = BTreeMap::new();
    let mut staged = Vec::new();
    for entry in &record.files {
        let files = files_of(files, &entry.path);
        let (from, place) = (staging.join(&entry.path), to.join(&entry.path));
        let is_staged = length(files, &from)?;
        if is_staged.or(length(files, &place)?) != Some(entry.bytes) {
            return Err(Error::Corruption {
                path: place,
                what: "a file of the backup is missing or has a wrong length: make another backup".into(),
            });
        }
        let directory = place.parent().unwrap_or(to);
        // A tree without tables has the directory for them nevertheless.
        if place.ends_with("current") {
            directories.insert(directory.join(TABLES), files);
        }
        directories.insert(directory.to_path_buf(), files);
        if is_staged.is_some() {
            staged.push((files, from, place));
        }
    }
    for (directory, files) in &directories {
        files.create_dir(directory)?;
    }
    for (files, from, place) in &staged {
        files.rename(from, place)?;
        fail_point("backup.moved");
    }
    for (directory, files) in &directories {
        files.sync_dir(directory)?;
    }
    RealFiles.create_dir(&to.join(DISK_DIRECTORY))?;
    RealFiles.sync_dir(&to.join(DISK_DIRECTORY))?;
    fail_point("backup.before_removal");
    remove_others(files, to, &record)?;
    files.rename(&staging.join(RECORD), &to.join(RECORD))?;
    files.sync_dir(to)?;
    fail_point("backup.before_end");
    files.sync_dir(&staging)?;
    remove_staging(files, to)
}

/// Removes the files of an earlier backup that the new one does not name.
fn remove_others(files: &dyn Files, to: &Path, record: &Record) -> Result<()> {
    let named: BTreeSet<PathBuf> = record.files.iter().map(|entry| to.join(&entry.path)).collect();
    for name in files.list(to)? {
        let path = to.join(&name);
        if is_data(&name) && !named.contains(&path) && !path.is_dir() {
            files.remove(&path)?;
        }
    }
    let disk = to.join(DISK_DIRECTORY);
    let trees = RealFiles.list(&disk)?.into_iter().filter(|name| name.starts_with(disk::TREE_PREFIX));
    for tree in trees.map(|name| disk.join(name)) {
        if !named.contains(&tree.join("current")) {
            remove_tree(&tree)?;
            continue;
        }
        for directory in [tree.join(TABLES), tree] {
            for path in RealFiles.list(&directory)?.into_iter().map(|name| directory.join(name)) {
                if !named.contains(&path) && !path.is_dir() {
                    RealFiles.remove(&path)?;
                }
            }
        }
    }
    Ok(())
}
