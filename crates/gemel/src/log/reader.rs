//! Reading a log from its segments, and cutting it.
//!
//! A batch that is not intact is a torn tail, left by a power cut, only if nothing shows that the log had been durable
//! beyond the batch's beginning. Two things show that. A later batch has the durable position that was known when it
//! was written. And a later segment is begun only when everything before it is durable. With either of them, the broken
//! batch is corruption. A closed database has no torn tail: recovery compares the end with the one in the manifest.

use super::{Lsn, frame, list_segments, segment_path};
use crate::error::{Error, Result};
use crate::files::{Files, read_all, read_over, replace};
use crate::incarnation::Owner;
use std::path::Path;

/// A callback for a record's position, the position after it, and its payload. A record's position is the end of its
/// predecessor, so it may include a batch header.
pub(crate) type Each<'a> = dyn FnMut(Lsn, Lsn, &[u8]) -> Result<()> + 'a;

fn corruption(path: &Path, what: String) -> Error {
    let what = format!("{what}; restore the directory from a backup");
    Error::Corruption { path: path.to_path_buf(), what }
}

/// Returns the error for a segment whose header is not intact.
pub(super) fn damaged_header(path: &Path) -> Error {
    corruption(path, "the header at offset 0 is damaged".to_owned())
}

/// Returns the error for a log without any segment.
pub(super) fn nothing_there(directory: &Path, name: &str, from: Lsn) -> Error {
    corruption(directory, format!("there is no file {name}-*.log, and the log must continue at {from}"))
}

/// Reads the records that end after `from`, which must be zero or the position after a record. Returns the end of the
/// intact part.
pub(crate) fn read(
    files: &dyn Files,
    directory: &Path,
    name: &str,
    owner: impl Into<Owner>,
    from: Lsn,
    each: &mut Each<'_>,
) -> Result<Lsn> {
    let owner = owner.into();
    let firsts = list_segments(files, directory, name)?;
    // The last segment that can hold something after `from`, or the first one.
    let skipped = firsts.partition_point(|first| *first <= from.0).saturating_sub(1);
    let firsts = &firsts[skipped..];
    let Some(&oldest) = firsts.first() else {
        return if from == Lsn(0) { Ok(from) } else { Err(nothing_there(directory, name, from)) };
    };
    if oldest > from.0 {
        let path = segment_path(directory, name, oldest);
        return Err(corruption(&path, format!("the log begins at {oldest}, but is needed from {from}")));
    }
    let mut end = oldest;
    let mut content = Vec::new();
    for (index, &first) in firsts.iter().enumerate() {
        let path = segment_path(directory, name, first);
        if first != end {
            return Err(corruption(
                &path,
                format!("the segment begins at {first}, but the one before it ends at {end}"),
            ));
        }
        read_over(files, &path, &mut content)?;
        let next = firsts.get(index + 1).copied();
        let Some(header) = check_header(&path, &content, owner.database, first, next.is_none())? else {
            break;
        };
        end = read_segment(&path, &content, header, from, each)?;
        check_owner(&path, &owner, header, end)?;
        let offset = frame::SEGMENT_HEADER + (end - first) as usize;
        match next {
            // The next segment exists, so all before it had been durable.
            Some(next) if end < next => {
                return Err(corruption(
                    &path,
                    format!(
                        "no intact batch at offset {offset}, position {end}, but the next segment begins at {next}: \
                         that batch is damaged, or a segment is missing"
                    ),
                ));
            }
            Some(_) => {}
            None => check_tail(&path, &content, header, end)?,
        }
    }
    if end < from.0 {
        let path = segment_path(directory, name, oldest);
        return Err(corruption(&path, format!("the log ends at {end}, but had been durable up to {from}")));
    }
    Ok(Lsn(end))
}

/// Returns the header if it is valid. Returns none if there is none and the segment is the last: a power cut came while it
/// was made.
fn check_header(
    path: &Path,
    content: &[u8],
    database: u64,
    first: u64,
    is_last: bool,
) -> Result<Option<frame::Segment>> {
    let Some(header) = frame::Segment::decode(content) else {
        // The header is durable before anything is written after it.
        let rest = content.get(frame::SEGMENT_HEADER..).unwrap_or_default();
        if is_last && is_zero(rest) {
            return Ok(None);
        }
        return Err(damaged_header(path));
    };
    if header.format > frame::FORMAT {
        return Err(Error::Usage(format!(
            "{} has format {}, and this version reads up to {}: open it with the version that wrote it, or a newer one",
            path.display(),
            header.format,
            frame::FORMAT
        )));
    }
    if header.database != database {
        return Err(corruption(
            path,
            format!("it belongs to database {:x}, not {database:x}", header.database),
        ));
    }
    if header.first != first {
        return Err(corruption(path, format!("it begins at {}, not where its name says", header.first)));
    }
    Ok(Some(header))
}

/// Returns an error if another copy of the database wrote a segment that ends at `end`, or wrote on in it.
fn check_owner(path: &Path, owner: &Owner, header: frame::Segment, end: u64) -> Result<()> {
    let (incarnation, until) = owner.of_segment(header.first);
    // A segment without a batch holds nothing, and the first batch replaces it.
    let what = if header.incarnation != incarnation && end > header.first {
        format!("incarnation {:x} of the database wrote it, not {incarnation:x}", header.incarnation)
    } else if let Some(until) = until.filter(|until| end > *until) {
        format!(
            "it goes on to {end}, and incarnation {:x} of the database began at {until}",
            owner.incarnation
        )
    } else {
        return Ok(());
    };
    let why =
        "the file is from another copy of the database, which went its own way after a backup was restored";
    Err(corruption(path, format!("{what}: {why}")))
}

/// Returns the seed of a segment's batches. Without a header it does not matter, because there is no batch either.
fn seed_of(content: &[u8]) -> u32 {
    frame::Segment::decode(content).map_or(0, frame::Segment::seed)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Reads batches up to the first one that is not intact. Returns its position.
fn read_segment(
    path: &Path,
    content: &[u8],
    header: frame::Segment,
    from: Lsn,
    each: &mut Each<'_>,
) -> Result<u64> {
    let seed = header.seed();
    let mut start = header.first;
    let mut rest = &content[frame::SEGMENT_HEADER..];
    while let Some(batch) = frame::batch(rest, seed, start) {
        let after = start + batch.len() as u64;
        if after > from.0 {
            let mut position = start;
            let mut records = batch.records;
            while !records.is_empty() {
                let end = |left: usize| after - left as u64;
                let Some((payload, behind)) = frame::record(records) else {
                    let offset = content.len() - rest.len() + batch.len() - records.len();
                    return Err(corruption(path, format!("the record at offset {offset} is damaged")));
                };
                if end(behind.len()) > from.0 {
                    each(Lsn(position), Lsn(end(behind.len())), payload)?;
                }
                position = end(behind.len());
                records = behind;
            }
        }
        rest = &rest[batch.len()..];
        start = after;
    }
    Ok(start)
}

/// Returns an error if a batch after `end` says that the log had been durable beyond `end`.
fn check_tail(path: &Path, content: &[u8], header: frame::Segment, end: u64) -> Result<()> {
    let seed = header.seed();
    let from = frame::SEGMENT_HEADER + (end - header.first) as usize;
    let tail = content.get(from..).unwrap_or_default();
    let [mark, ..] = frame::BATCH_MAGIC;
    for (offset, _) in tail.iter().enumerate().filter(|(_, byte)| **byte == mark) {
        if let Some(batch) = frame::batch(&tail[offset..], seed, end + offset as u64)
            && batch.durable > end
        {
            return Err(corruption(
                path,
                format!(
                    "the batch at offset {from} is damaged, and the one at offset {} says that it had been durable",
                    from + offset
                ),
            ));
        }
    }
    Ok(())
}

/// Cuts a log at `to`, the position after a record or a batch: there is a torn tail, or recovery drops the commits after
/// it. When this returns, the cut and everything before it are durable. A crash before that leaves more of the log, but
/// no record in part.
pub(crate) fn truncate(files: &dyn Files, directory: &Path, name: &str, to: Lsn) -> Result<()> {
    let mut firsts = list_segments(files, directory, name)?;
    // The newest goes first, so a crash in between leaves no gap.
    while let Some(&first) = firsts.last() {
        let path = segment_path(directory, name, first);
        if first < to.0 {
            break;
        }
        if first == to.0 {
            let mut file = files.open(&path)?;
            let mut header = [0; frame::SEGMENT_HEADER];
            let whole = file.read_at(0, &mut header)? == header.len();
            if whole && frame::Segment::decode(&header).is_some() {
                break;
            }
        }
        files.remove(&path)?;
        files.sync_dir(directory)?;
        firsts.pop();
    }
    let Some(&first) = firsts.last() else { return Ok(()) };
    let path = segment_path(directory, name, first);
    let content = read_all(files, &path)?;
    let seed = seed_of(&content);
    let mut start = first;
    let mut durable = first;
    let mut rest = content.get(frame::SEGMENT_HEADER..).unwrap_or_default();
    while start < to.0 {
        let batch = frame::batch(rest, seed, start).ok_or_else(|| {
            corruption(&path, format!("can't cut the log at {to}: it is intact up to {start} only"))
        })?;
        let after = start + batch.len() as u64;
        if after > to.0 {
            return cut_batch(files, &path, &content, content.len() - rest.len(), start, batch, to);
        }
        durable = durable.max(batch.durable);
        rest = &rest[batch.len()..];
        start = after;
    }
    let offset = |lsn: u64| frame::SEGMENT_HEADER as u64 + (lsn - first);
    let mut file = files.open(&path)?;
    if file.len()? != offset(to.0) {
        file.truncate(offset(to.0))?;
    }
    // The bytes that were read may not be durable: the process may have ended before their sync. Or their sync failed,
    // and the operating system now takes the pages for clean, so another sync would do nothing. Hence the bytes are
    // written again.
    if let Some(unsure) = content.get(offset(durable) as usize..offset(to.0) as usize) {
        file.write_at(offset(durable), unsure)?;
    }
    file.sync()
}

/// Shortens the batch at `offset` so that it ends at `to`. The shortened segment is written to a new file that replaces
/// the old one, because the batch's header and its end can't be changed atomically in place.
fn cut_batch(
    files: &dyn Files,
    path: &Path,
    content: &[u8],
    offset: usize,
    start: u64,
    batch: frame::Batch<'_>,
    to: Lsn,
) -> Result<()> {
    let len = (to.0 - start) as usize;
    let mut records = batch.records;
    while batch.len() - records.len() < len {
        let Some((_, behind)) = frame::record(records) else { break };
        records = behind;
    }
    if batch.len() - records.len() != len {
        return Err(corruption(path, format!("can't cut the log at {to}: no record ends there")));
    }
    let mut kept = content[..offset + len].to_vec();
    frame::seal(&mut kept[offset..], seed_of(content), start, batch.durable);
    replace(files, path, &kept)
}
