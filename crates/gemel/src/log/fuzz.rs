//! Fuzzing of the reader, with arbitrary logs and with logs that were written and then damaged.

use super::{Lsn, frame, reader, segment_path};
use crate::error::{Error, Result};
use crate::files::faulty::FaultyFiles;
use crate::fuzzing::Source;
use std::path::Path;

const DATABASE: u64 = 42;
const NAME: &str = "log";

fn directory() -> &'static Path {
    Path::new("/d")
}

fn put(files: &FaultyFiles, first: u64, content: &[u8]) {
    files.put(&segment_path(directory(), NAME, first), content);
}

fn segment(first: u64) -> frame::Segment {
    frame::Segment { format: frame::FORMAT, database: DATABASE, incarnation: 0, first }
}

fn header(first: u64) -> Vec<u8> {
    segment(first).encode().to_vec()
}

/// Returns the records read before the end or an error, and that end or error.
fn read(files: &FaultyFiles) -> (Vec<Vec<u8>>, Result<Lsn>) {
    let mut records = Vec::new();
    let outcome = reader::read(files, directory(), NAME, DATABASE, Lsn(0), &mut |_, _, payload| {
        records.push(payload.to_vec());
        Ok(())
    });
    if let Err(error) = &outcome {
        assert!(matches!(error, Error::Corruption { .. } | Error::Usage(_)), "{error}");
    }
    (records, outcome)
}

/// Checks that cutting the log at its end changes nothing that is read.
fn cut(files: &FaultyFiles, records: &[Vec<u8>], end: Lsn) {
    if let Err(error) = reader::truncate(files, directory(), NAME, end) {
        panic!("the log can't be cut at {end}: {error}");
    }
    let (again, outcome) = read(files);
    assert_eq!(again, records);
    assert!(matches!(outcome, Ok(again) if again == end), "{outcome:?} after {end}");
}

/// Reads arbitrary bytes as a segment, with a valid header before them or without.
pub(crate) fn bytes_as_a_log(data: &[u8]) {
    let files = FaultyFiles::default();
    match data {
        [own, rest @ ..] if own % 2 == 0 => put(&files, 0, rest),
        _ => put(&files, 0, &[&header(0), data].concat()),
    }
    let (records, outcome) = read(&files);
    if let Ok(end) = outcome {
        cut(&files, &records, end);
    }
}

/// Reads one or two segments of batches, after changing a byte or cutting off the end.
pub(crate) fn a_damaged_log(data: &[u8]) {
    let mut source = Source(data);
    let (mut segments, mut written, mut end) = (vec![(0, header(0))], Vec::new(), 0);
    let mut starts = Vec::new();
    for _ in 0..1 + source.byte() % 6 {
        starts.push(end);
        if end > 0 && segments.len() == 1 && source.byte().is_multiple_of(4) {
            segments.push((end, header(end)));
        }
        let durable = starts[source.below(starts.len())];
        let mut batch = vec![0; frame::BATCH_HEADER];
        for _ in 0..source.byte() % 4 {
            let most = usize::from(source.byte() % 20);
            let payload = source.bytes(most);
            let Ok(head) = super::entry::Entry::from(payload).header() else { return };
            batch.extend_from_slice(&head);
            batch.extend_from_slice(payload);
            // Each payload is noted with the position of its batch.
            written.push((end, payload.to_vec()));
        }
        if let Some((first, content)) = segments.last_mut() {
            frame::seal(&mut batch, segment(*first).seed(), end, durable);
            content.extend_from_slice(&batch);
        }
        end += batch.len() as u64;
    }
    let all: Vec<Vec<u8>> = written.iter().map(|(_, payload)| payload.clone()).collect();
    let damage = source.byte() % 3;
    let damaged = source.below(segments.len());
    let last = segments.len() - 1;
    match damage {
        0 => {}
        1 => {
            let (_, content) = &mut segments[damaged];
            let place = source.below(content.len());
            content[place] ^= source.byte().max(1);
        }
        // A torn end of the last segment, after its header.
        _ => {
            let (_, content) = &mut segments[last];
            let keep = frame::SEGMENT_HEADER + source.below(content.len() - frame::SEGMENT_HEADER + 1);
            content.truncate(keep);
        }
    }
    let files = FaultyFiles::default();
    for (first, content) in &segments {
        put(&files, *first, content);
    }
    let (records, outcome) = read(&files);
    assert!(all.starts_with(&records), "{records:?} were read, but {all:?} were written");
    match (damage, outcome) {
        (0, Ok(found)) => assert_eq!((found, records.len()), (Lsn(end), all.len())),
        (1, Err(_)) => {}
        (_, Ok(found)) => {
            let whole = written.iter().filter(|(start, _)| *start < found.0).count();
            assert_eq!(records.len(), whole, "up to {found}");
            cut(&files, &records, found);
        }
        (_, Err(error)) => panic!("the log was rejected although nothing durable is missing: {error}"),
    }
}
