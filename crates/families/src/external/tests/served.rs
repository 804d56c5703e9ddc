//! A served database: it plays as one in this process, and only for those who know its password.

use super::super::config::{Address, Config, Reach};
use super::super::pool::Driver;
use super::super::store::DriverStore;
use super::super::target::External;
use crate::GemelServer;
use crate::conformance::{
    a_spoiled_row_is_found_and_named, an_interrupted_load_can_be_resumed,
    sessions_that_fight_for_one_warehouse_keep_the_conditions, the_answers_and_the_rows_are_those_of_sqlite,
};
use lydite_database::kv::{Access, KvTable, Store, StoreTx};
use lydite_database::{DatabaseState, Target, TargetErrorKind};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// A server on a thread of the test, which ends with this.
struct Served {
    port: u16,
    directory: TempDir,
    enough: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let mut served = Self { port, directory: super::directory(), enough: Arc::default(), thread: None };
        served.start_on(listener);
        served
    }

    fn start_on(&mut self, listener: TcpListener) {
        let url = format!("gemel:{}", self.directory.path().join("gemel").display());
        let server = GemelServer::open(&url).expect("a database");
        self.enough = Arc::default();
        let enough = Arc::clone(&self.enough);
        self.thread = Some(std::thread::spawn(move || {
            server.serve(&listener, "secret", &|| enough.load(Ordering::Relaxed)).expect("served");
        }));
    }

    /// Ends the server in its orderly way.
    fn stop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }

    fn config(&self, password: &str) -> Config {
        let address =
            Address { host: "127.0.0.1".into(), port: self.port, password: Some(password.to_owned()) };
        Config {
            url: String::new(),
            place: "the server".into(),
            timeout: Duration::from_secs(600),
            reach: Reach::Server(address),
        }
    }

    fn driver(&self) -> Arc<Driver> {
        Driver::new(self.config("secret"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

#[test]
fn the_answers_and_the_rows_of_a_served_gemel_are_those_of_sqlite() {
    let served = Served::start();
    the_answers_and_the_rows_are_those_of_sqlite::<DriverStore>(served.driver());
}

#[test]
fn sessions_of_a_served_gemel_that_fight_for_one_warehouse_keep_the_conditions() {
    let served = Served::start();
    sessions_that_fight_for_one_warehouse_keep_the_conditions::<DriverStore>(served.driver());
}

#[test]
fn an_interrupted_load_into_a_served_gemel_can_be_resumed() {
    let served = Served::start();
    an_interrupted_load_can_be_resumed::<DriverStore>(served.driver());
}

#[test]
fn a_spoiled_row_of_a_served_gemel_is_found_and_named() {
    let served = Served::start();
    a_spoiled_row_is_found_and_named::<DriverStore>(served.driver());
}

#[test]
fn a_wrong_password_is_rejected() {
    let served = Served::start();
    for wrong in ["", "secre", "Secret", "secret "] {
        let error = External::new(served.config(wrong)).state().expect_err("rejected");
        assert_eq!(error.kind, TargetErrorKind::Unreachable, "{wrong:?}: {error}");
        assert!(error.message.contains("the password is wrong or missing"), "{wrong:?}: {error}");
    }
    assert_eq!(External::new(served.config("secret")).state(), Ok(DatabaseState::Empty));
}

#[test]
fn an_abandoned_transaction_is_rolled_back_and_a_new_start_keeps_commits() {
    let mut served = Served::start();
    let store = DriverStore::open(&served.driver()).expect("a store");
    let read = |store: &DriverStore, key: &[u8]| {
        let mut tx = store.begin(Access::Read).expect("begin");
        let value = tx.read(KvTable::Item, key, <[u8]>::to_vec).expect("read");
        tx.commit().expect("commit");
        value
    };
    let mut tx = store.begin(Access::Write).expect("begin");
    tx.put(KvTable::Item, b"kept", b"1").expect("put");
    tx.commit().expect("commit");
    let mut tx = store.begin(Access::Write).expect("begin");
    tx.put(KvTable::Item, b"dropped", b"1").expect("put");
    // The read of a range sends the write.
    tx.scan(
        KvTable::Item,
        lydite_database::kv::KeyRange::ALL,
        lydite_database::kv::Direction::Forward,
        &mut |_, _| std::ops::ControlFlow::Continue(()),
    )
    .expect("scan");
    // The server ends with the transaction open.
    served.stop();
    assert!(tx.read(KvTable::Item, b"other", |_| ()).is_err(), "the connection is gone");
    drop(tx);
    served.start_on(TcpListener::bind(("127.0.0.1", served.port)).expect("the same port"));
    assert_eq!(read(&store, b"kept"), Some(b"1".to_vec()), "the same store reaches the new server");
    assert_eq!(read(&store, b"dropped"), None);
}

#[test]
fn a_url_that_cannot_be_served_is_rejected() {
    for (url, word) in [
        ("gemel:", "names no directory"),
        ("sqlite:x", "can't be served"),
        ("gemel:x?commit=wait", "leave it out"),
        ("gemel:x?gather=off", "leave it out"),
        ("gemel:x?speed=1", "speed"),
    ] {
        let errors = GemelServer::open(url).err().expect("rejected");
        assert!(errors.iter().all(|error| error.kind == TargetErrorKind::Usage), "{url}");
        assert!(errors[0].message.contains(word), "{url}: {errors:?}");
    }
}

#[test]
fn all_that_is_wrong_in_the_url_of_a_server_is_told_at_once_without_the_password() {
    let parse = |url: &str| crate::TargetSpec::parse(url, lydite_database::TxMode::Statements);
    let errors = parse("gemel-server://bob:hunter2@host/tpcc?speed=1").expect_err("bad");
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().all(|error| !error.contains("hunter2")), "{errors:?}");
    let good = parse("gemel-server://:hunter2@127.0.0.1:7400").expect("good");
    let shown = good.without_password("gemel-server://:hunter2@127.0.0.1:7400");
    assert_eq!(shown, "gemel-server://127.0.0.1:7400");
}
