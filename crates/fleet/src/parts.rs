//! Counts as messages: packed, and cut into pieces that NATS takes.

use crate::error::FleetError;
use crate::messages::{Event, decode, encode};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use lydite_bench::Part;
use std::io::{Read, Write};

/// Room in a message for all but the bytes of a piece.
const HEAD: usize = 1_024;
/// Most pieces of a part. More can only be an error.
const MAX_PIECES: u32 = 10_000;

/// Packs parts into events.
#[derive(Debug)]
pub(crate) struct Packer {
    max_message: usize,
    next: u64,
}

impl Packer {
    pub(crate) fn new(max_message: usize) -> Self {
        Self { max_message, next: 0 }
    }

    /// Packs the next part.
    pub(crate) fn pack(&mut self, part: &Part) -> Result<Vec<Event>, FleetError> {
        let failed = |error| FleetError::Lost(format!("counts can't be packed: {error}"));
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&encode(part)?).map_err(failed)?;
        let bytes = packer.finish().map_err(failed)?;
        let size = self.max_message.saturating_sub(HEAD).max(HEAD);
        let pieces = bytes.len().div_ceil(size) as u32;
        let number = self.next;
        self.next += 1;
        let piece = |(piece, bytes): (u32, &[u8])| Event::Piece {
            part: number,
            piece,
            pieces,
            bytes: bytes.to_vec(),
        };
        Ok((0..).zip(bytes.chunks(size)).map(piece).collect())
    }
}

/// Puts the parts of one agent together again. NATS may lose messages, but does not reorder them.
#[derive(Debug, Default)]
pub(crate) struct Unpacker {
    /// Number of the next part.
    next: u64,
    /// Number of the next piece.
    piece: u32,
    bytes: Vec<u8>,
}

impl Unpacker {
    /// Adds a piece. Returns the part once it is whole.
    ///
    /// # Errors
    /// Pieces are missing.
    pub(crate) fn add(
        &mut self,
        (part, piece, pieces): (u64, u32, u32),
        bytes: &[u8],
    ) -> Result<Option<Part>, String> {
        if (part, piece) != (self.next, self.piece) || pieces > MAX_PIECES {
            return Err("reports of it got lost".to_owned());
        }
        self.bytes.extend_from_slice(bytes);
        self.piece += 1;
        if self.piece < pieces {
            return Ok(None);
        }
        (self.next, self.piece) = (part + 1, 0);
        let mut unpacked = Vec::new();
        let read = DeflateDecoder::new(self.bytes.as_slice()).read_to_end(&mut unpacked);
        self.bytes.clear();
        let unreadable = || "its reports can't be read".to_owned();
        read.map_err(|_| unreadable())?;
        decode(&unpacked).map(Some).ok_or_else(unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_bench::{Measurement, Merging, Mode, RunControl, RunPlan, run_share};
    use lydite_database::TxMode;
    use lydite_families::TargetSpec;
    use lydite_tpcc::nurand::{CLoad, RunConstants};
    use std::time::{Duration, SystemTime};

    /// Plays a short run on `null:` and returns its parts.
    fn played() -> (RunPlan, Vec<Part>) {
        let target = TargetSpec::parse("null:", TxMode::Statements).unwrap().open().unwrap();
        let constants = RunConstants::new(1, CLoad(7));
        let plan = RunPlan {
            warmup: Duration::ZERO,
            duration: Duration::from_millis(1_300),
            ..RunPlan::new(Mode::Direct { terminals: 2 }, 2, 1, constants)
        };
        let mut parts = Vec::new();
        run_share(&target, &plan, &RunControl::default(), &mut |part| parts.push(part)).unwrap();
        (plan, parts)
    }

    fn merged(plan: &RunPlan, parts: Vec<Part>) -> Measurement {
        let mut merging = Merging::new(plan, ["a".to_owned()]).unwrap();
        parts.into_iter().for_each(|part| merging.add(0, part));
        assert!(merging.has_ended(0));
        merging.finish(SystemTime::UNIX_EPOCH)
    }

    /// Unpacks pieces, without the one at `lost`.
    fn unpacked(parts: &[Part], lost: Option<usize>) -> Result<Vec<Part>, String> {
        // So small that parts have many pieces.
        let mut packer = Packer::new(0);
        let events: Vec<Event> = parts.iter().flat_map(|part| packer.pack(part).unwrap()).collect();
        assert!(events.len() > parts.len());
        let mut unpacker = Unpacker::default();
        let mut found = Vec::new();
        for (number, event) in events.into_iter().enumerate().filter(|(number, _)| Some(*number) != lost) {
            let Event::Piece { part, piece, pieces, bytes } = event else { panic!("{number} is no piece") };
            found.extend(unpacker.add((part, piece, pieces), &bytes)?);
        }
        Ok(found)
    }

    #[test]
    fn counts_are_the_same_after_their_way_bit_by_bit() {
        let (plan, parts) = played();
        let sent = merged(&plan, unpacked(&parts, None).unwrap());
        let kept = merged(&plan, parts);
        assert!(kept.completed() > 0);
        assert_eq!(sent.series, kept.series);
        assert_eq!((&sent.whole, sent.aborts), (&kept.whole, kept.aborts));
        assert_eq!(sent.facts.inputs, kept.facts.inputs);
        for (sent, kept) in sent.kinds.iter().zip(&kept.kinds) {
            assert_eq!(
                (&sent.latency, &sent.queue, &sent.service),
                (&kept.latency, &kept.queue, &kept.service)
            );
        }
    }

    #[test]
    fn a_missing_piece_is_noticed() {
        let (_, parts) = played();
        assert_eq!(unpacked(&parts, Some(0)).err().as_deref(), Some("reports of it got lost"));
    }
}
