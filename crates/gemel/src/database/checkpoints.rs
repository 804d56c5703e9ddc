//! Writing checkpoints of the memory engine.

use super::state::CheckpointState;
use super::{CHECKPOINT_PIECE, Inner};
use crate::checkpoint;
use crate::directory::{CHECKPOINT_PREFIX, is_checkpoint};
use crate::engine::Engine as _;
use crate::error::{Error, Result};
use crate::files::{Files, fail_point};
use crate::ids::{Direction, KeyspaceId};
use crate::key::{Key, KeyRange};
use crate::keyspace::Engine;
use crate::limit::Work;
use crate::manifest::{Checkpoint, Manifest};
use crate::options::Isolation;
use crate::order::active::{Active, Count, Seat};
use crate::order::clock::Timestamp;
use parking_lot::MutexGuard;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The seat of a checkpoint. It is given back even after a panic, because it holds back garbage collection.
struct Seated<'a>(&'a Active, Seat);

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        self.0.end(self.1, Count::ReadOnly);
    }
}

impl Inner {
    pub(super) fn checkpoint(&self) -> Result<()> {
        self.checkpoint_under(&self.checkpointing.lock())
    }

    /// Writes a checkpoint, unless another one or a backup is under way. The housekeeper must not wait for these: it
    /// looks for other processes that ask for a backup.
    pub(super) fn checkpoint_unless_busy(&self) -> Option<Result<()>> {
        self.checkpointing.try_lock().map(|one| self.checkpoint_under(&one))
    }

    fn checkpoint_under(&self, _one: &MutexGuard<'_, ()>) -> Result<()> {
        let begun = Instant::now();
        let outcome = self.or_without_spares(|| self.write_checkpoint());
        let mut state = self.checkpoints.lock();
        match outcome {
            Ok(bytes) => {
                *state =
                    CheckpointState { done: state.done + 1, bytes, took: begun.elapsed(), failure: None };
                Ok(())
            }
            Err(error) => {
                state.failure = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Writes files. If there is no space, does it again without the logs' spare files.
    pub(super) fn or_without_spares<T>(&self, write: impl Fn() -> Result<T>) -> Result<T> {
        let logs = &self.core.logs;
        // The housekeeper may remove them meanwhile.
        let had_spares = logs.spare_bytes() > 0;
        let outcome = write();
        if !had_spares || !outcome.as_ref().is_err_and(Error::is_for_lack_of_space) {
            return outcome;
        }
        logs.drop_spares();
        write()
    }

    fn write_checkpoint(&self) -> Result<u64> {
        // A commit that is in the log before these positions has drawn its timestamps. Once these are published, all
        // snapshots below contain the commit. The positions are taken together, so no commit has one half before them
        // and one behind.
        let from = self.core.logs.ends();
        self.disk.flush_all()?;
        let clock = self.memory.clock();
        clock.wait_for(clock.drawn())?;
        let (file, at, bytes) = self.write_rows()?;
        // The log before `from` goes, so what it says of undecided transactions must be behind it.
        let again = self.core.write_prepared_again()?;
        fail_point("checkpoint.prepared_again");
        let old = {
            let mut manifest = self.manifest.replacing();
            let mut next = manifest.clone();
            let old = next.checkpoint.replace(Checkpoint { file: file.clone(), at: at.0 });
            next.log_from = from.iter().map(|lsn| lsn.0).collect();
            next.forget_inherited();
            next.trees = self.disk.reached(&next);
            next.clocks = self.core.engines.iter().map(|engine| engine.clock().drawn().0).collect();
            fail_point("checkpoint.before_manifest");
            if let Err(error) = self.write_next(&next) {
                // Otherwise each failed attempt would leave a file behind. If the manifest can't be read, nobody knows
                // which checkpoint counts, so both files stay.
                if let Ok(Some(counts)) = Manifest::read(&*self.files, &self.path)
                    && counts.checkpoint.is_none_or(|counts| counts.file != file)
                {
                    let _ = self.files.remove(&self.path.join(&file));
                }
                return Err(error);
            }
            fail_point("checkpoint.after_manifest");
            manifest.put(next);
            old
        };
        // What was only written again must not make the next checkpoint due.
        let log_at = from.iter().map(|lsn| lsn.0).sum::<u64>() + again;
        self.log_at_checkpoint.store(log_at, Ordering::Relaxed);
        self.core.logs.drop_before(&from)?;
        if let Some(old) = old.filter(|old| old.file != file) {
            let path = self.path.join(old.file);
            self.files.remove(&path)?;
        }
        Ok(bytes)
    }

    /// Writes the rows of the memory engine into a new file. Returns the file's name, first snapshot and length.
    fn write_rows(&self) -> Result<(String, Timestamp, u64)> {
        let seat = self.core.active.begin(Isolation::Snapshot)?;
        let seated = Seated(&self.core.active, seat);
        let at = self.core.refresh(seat);
        let name = format!("{CHECKPOINT_PREFIX}{:016x}.gmc", at.0);
        let temporary = self.path.join(format!("{name}.new"));
        // An earlier attempt at the same snapshot may have left this file.
        let _ = self.files.remove(&temporary);
        // The checkpoint must not contain a commit whose half in the other engine can still be lost with the log. So
        // the log is made durable before the checkpoint gets its name. The manifest may name an earlier checkpoint of
        // the same name already: one that began at the same snapshot.
        let written = self
            .write_rows_to(&temporary, seated, at)
            .and_then(|bytes| self.core.logs.sync().map(|()| bytes));
        if written.is_err() {
            // On a full disk the unfinished file would keep the disk full. The caller gets the error of the write, not
            // one of the removal.
            let _ = self.files.remove(&temporary);
        }
        let bytes = written?;
        fail_point("checkpoint.before_rename");
        self.files.rename(&temporary, &self.path.join(&name))?;
        self.files.sync_dir(&self.path)?;
        fail_point("checkpoint.after_rename");
        Ok((name, at, bytes))
    }

    /// Writes the rows into a file, and gives the seat back.
    fn write_rows_to(&self, temporary: &Path, seated: Seated<'_>, at: Timestamp) -> Result<u64> {
        let database = self.manifest.look().database;
        let written = self
            .files
            .create(temporary)
            .and_then(|file| checkpoint::Writer::new(file, database, at))
            .and_then(|mut writer| self.write_pieces(&mut writer, seated.1).map(|()| writer));
        drop(seated);
        let writer = written?;
        fail_point("checkpoint.before_sync");
        writer.finish()
    }

    /// Writes the rows in pieces. Each piece has a snapshot of its own, so old versions are kept only for as long as a
    /// piece takes, and not for the whole checkpoint. Replay brings what is committed after a piece was read
    /// (`DESIGN.md`, "Checkpoints").
    fn write_pieces(&self, writer: &mut checkpoint::Writer, seat: Seat) -> Result<()> {
        let keyspaces: Vec<KeyspaceId> = self
            .manifest
            .look()
            .keyspaces
            .iter()
            .filter(|entry| entry.engine == Engine::Memory)
            .map(|entry| entry.id)
            .collect();
        for keyspace in keyspaces {
            let mut lower = Bound::Unbounded;
            loop {
                let range = KeyRange { lower, upper: Bound::Unbounded };
                let (mut rows, mut last) = (0, None);
                let at = self.core.refresh(seat);
                // The scan holds the epoch, so it only copies. The file is written afterwards.
                self.memory.scan(keyspace, &range, Direction::Forward, at, &mut |key, value, written| {
                    rows += 1;
                    if writer.entry(keyspace, key, value, written) || rows == CHECKPOINT_PIECE {
                        last = Some(Key::new(key));
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })?;
                if writer.is_full() {
                    self.write_block(writer)?;
                }
                fail_point("checkpoint.after_piece");
                match last {
                    Some(key) => lower = Bound::Excluded(key),
                    None => break,
                }
            }
        }
        self.write_block(writer)
    }

    /// Writes the writer's block, and pauses for the limit of background writing.
    fn write_block(&self, writer: &mut checkpoint::Writer) -> Result<()> {
        let bytes = writer.flush()?;
        let limit = self.disk.limit();
        limit.note(Work::Checkpoint, self.checkpoint_is_late());
        limit.pace(Work::Checkpoint, bytes);
        Ok(())
    }

    /// Records the state of the logs and trees, so the next opening sees if they lost something. Only when the logs and
    /// the disk engine are closed without an error, because then nothing changes this state any more.
    pub(super) fn mark_closed(&self) -> Result<()> {
        let mut manifest = self.manifest.replacing();
        match Manifest::read(&*self.files, &self.path)? {
            Some(there)
                if (there.database, there.incarnation) == (manifest.database, manifest.incarnation) => {}
            // Somebody removed the files of this database, and may have made another one at its path.
            _ => return Ok(()),
        }
        let mut next = manifest.clone();
        next.trees = self.disk.closed_at(&next)?;
        next.closed = Some(self.core.logs.ends().iter().map(|lsn| lsn.0).collect());
        next.write(&*self.files, &self.path)?;
        manifest.put(next);
        Ok(())
    }

    /// Returns the reason why the log or the disk engine waits for space on the disk, if one does.
    pub(super) fn disk_full(&self) -> Option<String> {
        self.core.logs.full().map(|cause| cause.to_string()).or_else(|| self.disk.full())
    }

    pub(super) fn checkpoint_is_due(&self) -> bool {
        self.log_since_checkpoint() >= self.core.options.checkpoint_log_bytes
    }

    /// Returns true if a checkpoint in progress must not take longer than it needs: the log before it takes space, and
    /// opening would read it.
    fn checkpoint_is_late(&self) -> bool {
        let late = self.core.options.checkpoint_log_bytes.saturating_mul(2);
        self.log_since_checkpoint() >= late || self.disk_full().is_some()
    }

    fn log_since_checkpoint(&self) -> u64 {
        let end: u64 = self.core.logs.ends().iter().map(|lsn| lsn.0).sum();
        end - self.log_at_checkpoint.load(Ordering::Relaxed)
    }
}

/// Removes checkpoints that the manifest does not name. A crash left them, before the manifest named them or after it
/// named a newer one.
pub(super) fn remove_strays(files: &dyn Files, path: &Path, manifest: &Manifest) -> Result<()> {
    let kept = manifest.checkpoint.as_ref().map(|checkpoint| checkpoint.file.as_str());
    for name in files.list(path)? {
        if is_checkpoint(&name) && Some(name.as_str()) != kept {
            files.remove(&path.join(name))?;
        }
    }
    Ok(())
}
