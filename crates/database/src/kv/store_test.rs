//! Tests the functions of [`StoreTx`] one by one, for authors of a store or a driver, before any transaction runs.

use crate::kv::{Access, AnyStore, AnyTx, Direction, KeyRange, KvTable, Pending, StoreError, StoreTx};
use std::ops::ControlFlow;

/// Table whose keys are tested. HISTORY takes keys of any form, so none is mistaken for a row.
const TABLE: KvTable = KvTable::History;
/// Number of keys that needs several answers for one scan, in stores that return some at a time.
const MANY: u8 = 200;

type Found = Vec<(Vec<u8>, Vec<u8>)>;

/// A function of a store that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// A function failed.
    #[error("{name}: {}", .error.line())]
    Failed {
        /// Name of the function.
        name: &'static str,
        /// Error of the store.
        error: StoreError,
    },
    /// A function gave something else than expected. The sentence has its name, its result, and the expected result.
    #[error("{0}")]
    Differs(String),
}

/// Tests all functions on an empty table, and empties it again. `rolls_back` is true if an abandoned transaction must
/// leave nothing.
///
/// # Errors
/// Returns the first function that is wrong.
pub fn test_store(store: &dyn AnyStore, rolls_back: bool) -> Result<String, Wrong> {
    let tested = functions(store, rolls_back);
    let cleared = store.clear_any(TABLE).map_err(of("removing all keys"));
    tested.and(cleared)?;
    let last = if rolls_back { "commit and rollback" } else { "commit" };
    Ok(format!("get, put, delete and scan, both ways, with a transaction's own writes; {last}"))
}

/// Returns the error of a function.
fn of(name: &'static str) -> impl Fn(StoreError) -> Wrong {
    move |error| Wrong::Failed { name, error }
}

fn functions(store: &dyn AnyStore, rolls_back: bool) -> Result<(), Wrong> {
    let begin = |access| store.begin_any(access).map_err(of("begin"));
    // Keys of which one is a prefix of another, the smallest and largest bytes, and an empty value.
    let entries: Found = [(&[1][..], &b"one"[..]), (&[1, 0], b""), (&[2], &[0, 255]), (&[255, 255], b"last")]
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .to_vec();

    let mut tx = begin(Access::Write)?;
    same("scan of an empty table", &scanned(&mut tx, KeyRange::ALL, Direction::Forward)?, &[])?;
    for (key, value) in &entries {
        tx.put(TABLE, key, value).map_err(of("put"))?;
    }
    looks(&mut tx, &entries, "before the commit")?;
    commit(tx)?;

    let mut tx = begin(Access::Write)?;
    looks(&mut tx, &entries, "after the commit")?;
    let inner = KeyRange { from: &[1, 0], below: Some(&[255]) };
    same("scan from 01 00 to below ff", &scanned(&mut tx, inner, Direction::Forward)?, &entries[1..3])?;
    let mut first = Vec::new();
    tx.scan(TABLE, KeyRange::ALL, Direction::Backward, &mut |key, value| {
        first.push((key.to_vec(), value.to_vec()));
        ControlFlow::Break(())
    })
    .map_err(of("scan"))?;
    same("scan backward, the first entry", &first, &entries[3..])?;

    if rolls_back {
        tx.put(TABLE, &[9], b"never").map_err(of("put"))?;
        tx.delete(TABLE, &[1]).map_err(of("delete"))?;
        let mut within = entries[1..].to_vec();
        within.insert(2, (vec![9], b"never".to_vec()));
        // Lydite may hold writes back until a read. After this read the driver has writes to undo.
        looks(&mut tx, &within, "within a transaction that is to be rolled back")?;
    }
    drop(tx);
    let mut tx = begin(Access::Write)?;
    looks(&mut tx, &entries, "after a transaction that was rolled back")?;

    tx.delete(TABLE, &[2]).map_err(of("delete"))?;
    tx.put(TABLE, &[1], b"changed").map_err(of("put"))?;
    let mut left = entries.clone();
    left.remove(2);
    left[0].1 = b"changed".to_vec();
    looks(&mut tx, &left, "after its own delete and put, before the commit")?;
    commit(tx)?;
    looks(&mut begin(Access::Read)?, &left, "after a delete and a put")?;

    let mut tx = begin(Access::Load)?;
    let many: Found = (0..MANY).map(|number| (vec![100, number], vec![number; 50])).collect();
    for (key, value) in &many {
        tx.put(TABLE, key, value).map_err(of("put"))?;
    }
    commit(tx)?;
    let mut tx = begin(Access::Read)?;
    let range = KeyRange { from: &[100], below: Some(&[101]) };
    same("scan of 200 keys", &scanned(&mut tx, range, Direction::Forward)?, &many)?;
    let mut backward = scanned(&mut tx, range, Direction::Backward)?;
    backward.reverse();
    same("scan of 200 keys backward", &backward, &many)
}

fn commit(tx: AnyTx<'_>) -> Result<(), Wrong> {
    tx.commit().and_then(Pending::wait).map_err(of("commit"))
}

/// Reads every entry, a missing entry, and all entries by scans.
fn looks(tx: &mut AnyTx<'_>, entries: &[(Vec<u8>, Vec<u8>)], when: &str) -> Result<(), Wrong> {
    let absent = vec![3];
    let wanted = entries.iter().map(|(key, value)| (key, Some(value.clone()))).chain([(&absent, None)]);
    for (key, value) in wanted {
        let found = tx.read(TABLE, key, <[u8]>::to_vec).map_err(of("get"))?;
        if found != value {
            let (found, wanted) = (told(&found), told(&value));
            return Err(Wrong::Differs(format!("get of {} {when} gave {found}, not {wanted}", hex(key))));
        }
    }
    same(&format!("scan {when}"), &scanned(tx, KeyRange::ALL, Direction::Forward)?, entries)?;
    let mut backward = scanned(tx, KeyRange::ALL, Direction::Backward)?;
    backward.reverse();
    same(&format!("scan backward {when}, turned round,"), &backward, entries)
}

fn scanned(tx: &mut AnyTx<'_>, range: KeyRange<'_>, direction: Direction) -> Result<Found, Wrong> {
    let mut found = Vec::new();
    tx.scan(TABLE, range, direction, &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .map_err(of("scan"))?;
    Ok(found)
}

fn same(what: &str, found: &[(Vec<u8>, Vec<u8>)], wanted: &[(Vec<u8>, Vec<u8>)]) -> Result<(), Wrong> {
    if found == wanted {
        return Ok(());
    }
    let keys = |entries: &[(Vec<u8>, Vec<u8>)]| match entries {
        [] => "no keys".to_string(),
        entries if entries.len() > 8 => format!("{} keys", entries.len()),
        entries => entries.iter().map(|(key, _)| hex(key)).collect::<Vec<_>>().join(", "),
    };
    // If the keys are equal, the values differ.
    let values = found.iter().zip(wanted).find(|(found, wanted)| found != wanted);
    let values = values.filter(|(found, wanted)| found.0 == wanted.0);
    Err(Wrong::Differs(match values {
        Some((found, wanted)) => format!(
            "{what} gave the key {} the value {}, not {}",
            hex(&found.0),
            hex(&found.1),
            hex(&wanted.1)
        ),
        None => format!("{what} gave {} instead of {}", keys(found), keys(wanted)),
    }))
}

fn told(value: &Option<Vec<u8>>) -> String {
    value.as_ref().map_or_else(|| "nothing".into(), |value| format!("the value {}", hex(value)))
}

/// Returns bytes in hexadecimal form.
pub fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(empty)".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
