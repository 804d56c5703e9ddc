//! A database on a real file system that becomes full, and then has space again.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::{Database, Engine, Error, Isolation, Keyspace, LogMode, Options, Ticket};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Directory of the small disk, in the process that has mounted it.
const PLACE: &str = "GEMEL_SMALL_DISK";

/// Returns a command that runs with a view of the file systems of its own, so its mounts end with it.
fn apart() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    command
}

fn mount(command: &mut Command, at: &Path) -> bool {
    let done = command.args(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(at).output();
    let why = match done {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("skipped: a small disk can't be mounted here: {} (it takes root)", why.trim());
    false
}

struct Shop {
    db: Database,
    spaces: [Keyspace; 2],
}

fn shop(path: &Path, log: LogMode) -> Shop {
    shop_with(path, Options { log, ..Options::default() })
}

fn shop_with(path: &Path, options: Options) -> Shop {
    let db = Database::open(path, options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    Shop { db, spaces }
}

impl Shop {
    fn commit(&self, row: u32) -> gemel::Result<Ticket> {
        let mut transaction = self.db.begin(Isolation::Snapshot)?;
        for space in &self.spaces {
            transaction.put(space, &row.to_be_bytes(), &vec![row as u8; 50_000])?;
        }
        transaction.commit()
    }

    /// Returns the number of rows, each of which must be whole and in both engines.
    fn rows(&self) -> u32 {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        for row in 0_u32.. {
            let mut found =
                self.spaces.iter().map(|space| transaction.get(space, &row.to_be_bytes()).unwrap());
            let (hot, cold) = (found.next().unwrap(), found.next().unwrap());
            assert_eq!(hot, cold, "row {row}");
            match hot {
                Some(value) => assert_eq!(value, vec![row as u8; 50_000]),
                None => return row,
            }
        }
        unreachable!("there are few rows")
    }
}

#[test]
fn a_database_on_a_full_disk_goes_on_once_there_is_space() {
    let directory = tempfile::tempdir().unwrap();
    if !mount(&mut apart(), directory.path()) {
        return;
    }
    let itself = std::env::current_exe().unwrap();
    let test = ["--exact", "--ignored", "--nocapture", "fills_a_small_disk"];
    let ended = apart().arg(itself).args(test).env(PLACE, directory.path()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn fills_a_small_disk() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    assert!(mount(&mut Command::new("env"), place));
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let (path, ballast) = (place.join("db"), place.join("ballast"));
        fs::write(&ballast, vec![1; 16 << 20]).unwrap();
        let shop = self::shop(&path, log);
        let mut rows = 0;
        let (error, ticket) = loop {
            let ticket = shop.commit(rows).unwrap();
            rows += 1;
            match shop.db.sync() {
                Ok(()) => ticket.wait().unwrap(),
                Err(error) => break (error, ticket),
            }
            assert!(rows < 1000, "the disk is never full");
        };
        assert!(rows > 10, "the disk is full with {rows} rows");
        for _ in 0..3 {
            let refused = shop.commit(rows).map(drop).unwrap_err();
            assert!(
                matches!((&error, &refused), (Error::DiskFull(_), Error::DiskFull(_))),
                "{error}; {refused}"
            );
            assert!(refused.to_string().contains("No space left on device"), "{refused}");
            assert!(shop.db.checkpoint().is_err());
        }
        assert!(!ticket.is_done() && shop.db.state().disk_full.is_some());
        assert_eq!(shop.rows(), rows);
        fs::remove_file(&ballast).unwrap();
        for row in rows..rows + 10 {
            shop.commit(row).unwrap().wait().unwrap();
        }
        ticket.wait().unwrap();
        assert_eq!(shop.rows(), rows + 10);
        shop.db.close().unwrap();
        drop(shop.spaces);
        assert!(gemel::check(&path).unwrap().is_good());
        let shop = self::shop(&path, log);
        assert_eq!(shop.rows(), rows + 10);
        drop(shop);
        fs::remove_dir_all(&path).unwrap();
        flush_on(place, log);
    }
}

/// Fills the disk with small write buffers, so tables on disk run out of space before the log does.
fn flush_on(place: &Path, log: LogMode) {
    let (path, ballast) = (place.join("db"), place.join("ballast"));
    let options = Options { log, write_buffer_bytes: 1 << 18, ..Options::default() };
    let shop = shop_with(&path, options.clone());
    shop.commit(0).unwrap().wait().unwrap();
    shop.db.checkpoint().unwrap();
    fs::write(&ballast, vec![1; 16 << 20]).unwrap();
    let mut rows = 1;
    let error = loop {
        match shop.commit(rows) {
            Ok(ticket) => ticket.wait().unwrap(),
            Err(error) => break error,
        }
        rows += 1;
        assert!(rows < 1000, "the disk is never full");
    };
    assert!(matches!(&error, Error::DiskFull(why) if why.contains("tables on disk need")), "{error}");
    assert_eq!(shop.rows(), rows);
    assert!(shop.db.state().disk_full.is_some());
    fs::remove_file(&ballast).unwrap();
    let begun = Instant::now();
    let ticket = loop {
        match shop.commit(rows) {
            Ok(ticket) => break ticket,
            Err(error) => assert!(matches!(error, Error::DiskFull(_)), "{error}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it never goes on");
        std::thread::sleep(Duration::from_millis(5));
    };
    ticket.wait().unwrap();
    shop.db.checkpoint().unwrap();
    drop(shop);
    assert!(gemel::check(&path).unwrap().is_good());
    let shop = shop_with(&path, options);
    assert_eq!(shop.rows(), rows + 1);
    drop(shop);
    fs::remove_dir_all(&path).unwrap();
}
