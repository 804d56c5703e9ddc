//! The tier on loopback: terminals over lines that are cut, and peers that break the protocol.

use crate::faults::wait_until;
use lydite_database::{Committed, Session, Target, TxError, TxMode};
use lydite_families::TargetSpec;
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::{DistrictId, InputPlan, Mix, Standard, StandardKind, Transaction, WarehouseId};
use lydite_was::client::Lines;
use lydite_was::message::{Answer, Hello, Request, TerminalId, on_screen};
use lydite_was::server::{Counts, Settings, Was};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const HOME: (WarehouseId, DistrictId) = (WarehouseId(1), DistrictId(1));

/// A tier for `null:`. It ends when it is dropped.
struct Tier {
    address: SocketAddr,
    enough: Arc<AtomicBool>,
    serving: Option<JoinHandle<Counts>>,
}

impl Tier {
    fn start(settings: Settings) -> Self {
        let target: Arc<dyn Target> = TargetSpec::parse("null:", TxMode::Statements).unwrap().open().unwrap();
        let was = Was::new(&target, (Ipv4Addr::LOCALHOST, 0).into(), settings).unwrap();
        let (address, enough) = (was.address().unwrap(), Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&enough);
        let serving = std::thread::spawn(move || was.serve(&|| until.load(Ordering::Relaxed)).unwrap());
        Self { address, enough, serving: Some(serving) }
    }

    /// Ends the tier and returns its counts.
    fn end(mut self) -> Counts {
        self.enough.store(true, Ordering::Relaxed);
        self.serving.take().unwrap().join().unwrap()
    }

    fn line(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }
}

impl Drop for Tier {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
    }
}

/// A way to a tier whose connections can be cut.
struct Cable {
    address: SocketAddr,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    fn to(tier: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (address, ends) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let accepted = Arc::clone(&ends);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(tier) else { return };
                let ways = [
                    (near.try_clone().unwrap(), far.try_clone().unwrap()),
                    (far.try_clone().unwrap(), near.try_clone().unwrap()),
                ];
                // Before anything passes: who has an answer can be cut off.
                accepted.lock().unwrap().extend([near, far]);
                for (mut from, mut to) in ways {
                    std::thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { address, ends }
    }

    /// Cuts all connections.
    fn cut(&self) {
        for end in self.ends.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn inputs() -> InputPlan {
    InputPlan::new(7, 2, CLoad(100), Mix::Deck)
}

fn lines_to(address: SocketAddr, inputs: &InputPlan) -> Arc<Lines> {
    let homes = (0..inputs.terminals())
        .map(|number| inputs.terminal(number))
        .map(|one| (one.warehouse(), one.district()))
        .collect();
    Lines::connect(&address.to_string(), homes).unwrap()
}

/// Plays a transaction at a terminal as a run does: menu, input, and the result of a Delivery.
fn play(session: &mut dyn Session, terminal: u32, transaction: &Transaction) -> String {
    let lines = session.lines().unwrap();
    lines.sit_at(terminal);
    lines.choose(transaction.kind().standard().unwrap()).unwrap();
    if let Transaction::Standard(Standard::Delivery(delivery)) = transaction {
        lines.queue(*delivery);
    }
    shown(session.execute(transaction))
}

fn shown(result: Result<lydite_tpcc::Outcome, TxError>) -> String {
    format!("{result:?}")
}

#[test]
fn a_terminal_shows_what_the_database_answers() {
    let tier = Tier::start(Settings::new(1));
    let inputs = inputs();
    let lines = lines_to(tier.address, &inputs);
    let mut over_lines = lines.session().unwrap();
    let null: Arc<dyn Target> = TargetSpec::parse("null:", TxMode::Statements).unwrap().open().unwrap();
    let mut direct = null.connect().unwrap();
    let mut entered = 0;
    for (terminal, mut user) in (0..).zip((0..inputs.terminals()).map(|number| inputs.terminal(number))) {
        // One deck has every type.
        for _ in 0..23 {
            let transaction = user.next(&inputs);
            let expected = shown(direct.execute(&transaction));
            assert_eq!(play(&mut *over_lines, terminal, &transaction), expected, "{transaction:?}");
            entered += 1;
        }
    }
    assert_eq!((lines.counts().lines, lines.counts().lost), (20, 0));
    lines.close();
    drop(over_lines);
    let counts = tier.end();
    assert_eq!((counts.terminals, counts.lines_lost, counts.lines_rejected), (20, 0, 0), "{counts:?}");
    assert_eq!(counts.menus, entered);
    let all: u64 = counts.transactions.values().map(|of| of.committed + of.rolled_back).sum();
    assert_eq!(all, entered);
}

/// Clause 6.6.2: the transaction that was on its way when a line was cut is executed once, and answered.
#[test]
fn a_terminal_whose_line_is_cut_reconnects_and_has_its_context() {
    let tier = Tier::start(Settings::new(2));
    let cable = Cable::to(tier.address);
    let inputs = inputs();
    let lines = lines_to(cable.address, &inputs);
    let mut users: Vec<_> = (0..inputs.terminals()).map(|number| inputs.terminal(number)).collect();
    let mut orders = 0;
    let mut session = lines.session().unwrap();
    for round in 0..5 {
        for (terminal, user) in (0..).zip(&mut users) {
            let order = user.input(&inputs, StandardKind::NewOrder);
            let screen = session.lines().unwrap();
            screen.sit_at(terminal);
            screen.choose(StandardKind::NewOrder).unwrap();
            let cutter = (terminal % 4 == round).then(|| {
                let ends = Arc::clone(&cable.ends);
                let cable = Cable { address: cable.address, ends };
                std::thread::spawn(move || cable.cut())
            });
            let answer = session.execute(&order);
            assert!(matches!(answer, Ok(_) | Err(TxError::RolledBack(_))), "{answer:?}");
            orders += 1;
            if let Some(cutter) = cutter {
                cutter.join().unwrap();
            }
        }
    }
    let counted = lines.counts();
    assert!(counted.lost > 0 && counted.contexts_lost == 0, "{counted:?}");
    lines.close();
    let counts = tier.end();
    let of = counts.transactions["new_order"];
    assert_eq!(of.committed + of.rolled_back, orders, "each order once: {counts:?}");
    assert_eq!((counts.terminals, counts.contexts_dropped), (20, 0), "{counts:?}");
    assert!(counts.reconnected > 0 && counts.lines_lost > 0, "{counts:?}");
}

#[test]
fn a_terminal_that_waits_for_nothing_reconnects_by_itself() {
    let tier = Tier::start(Settings::new(1));
    let cable = Cable::to(tier.address);
    let lines = lines_to(cable.address, &inputs());
    cable.cut();
    wait_until("all terminals are back", || lines.counts().reconnected >= 20);
    let counted = lines.counts();
    assert_eq!((counted.lost, counted.contexts_lost), (20, 0));
}

#[test]
fn a_tier_that_is_gone_breaks_the_run() {
    let tier = Tier::start(Settings::new(1));
    let inputs = inputs();
    let lines = lines_to(tier.address, &inputs);
    let mut session = lines.session().unwrap();
    tier.end();
    session.lines().unwrap().sit_at(3);
    let order = inputs.terminal(3).input(&inputs, StandardKind::NewOrder);
    let is_gone = |error: TxError| {
        assert!(matches!(&error, TxError::Broken(why) if why.contains("is gone")), "{error:?}");
    };
    match session.execute(&order).unwrap_err() {
        // The request was sent, so the tier might have executed it before its end.
        TxError::Unavailable { committed: Committed::Unknown, .. } => {}
        // The kernel knew already that nobody receives it.
        error => is_gone(error),
    }
    is_gone(session.execute(&order).unwrap_err());
    let mut session = lines.session().unwrap();
    is_gone(session.lines().unwrap().choose(StandardKind::Payment).unwrap_err());
    is_gone(session.execute(&order).unwrap_err());
    assert!(Lines::connect("127.0.0.1:1", vec![HOME]).unwrap_err().message.contains("start it with"));
}

fn hello(terminal: u32, pending: u32) -> Request {
    let id = TerminalId { run: 1, terminal };
    Request::Hello(Hello::Terminal { id, w_id: HOME.0, d_id: HOME.1, pending })
}

fn send(line: &mut TcpStream, request: &Request) {
    line.write_all(&request.frame()).unwrap();
}

/// Reads one answer; `None` at the end of the line.
fn receive(line: &mut TcpStream) -> Option<Answer> {
    let mut head = [0; 2];
    line.read_exact(&mut head).ok()?;
    let mut frame = vec![0; usize::from(u16::from_be_bytes(head))];
    line.read_exact(&mut frame).ok()?;
    Some(Answer::read(&frame).unwrap())
}

/// Asserts that the tier rejects the line with these words and closes it.
#[track_caller]
fn assert_rejected(mut line: TcpStream, words: &str) {
    loop {
        match receive(&mut line) {
            Some(Answer::Rejected { why }) => {
                assert!(why.contains(words), "{why}");
                assert!(receive(&mut line).is_none(), "the line is closed");
                return;
            }
            Some(_) => {}
            None => panic!("closed without a reason, not with: {words}"),
        }
    }
}

#[test]
fn a_line_that_breaks_the_protocol_is_rejected_and_others_go_on() {
    let tier = Tier::start(Settings::new(1));
    let mut good = tier.line();
    send(&mut good, &hello(0, 0));
    assert_eq!(receive(&mut good), Some(Answer::Terminal { known: false, number: 0 }));
    let raw = |bytes: &[u8]| {
        let mut line = tier.line();
        line.write_all(bytes).unwrap();
        line
    };
    assert_rejected(raw(b"GET / HTTP/1.1\r\n"), "bytes, at most 1024 are allowed");
    assert_rejected(raw(&[0, 0]), "a frame without a tag");
    assert_rejected(raw(&[0, 1, 0x77]), "unknown tag 0x77");
    let mut other = hello(1, 0).frame();
    other[3 + 6 + 1] += 1;
    assert_rejected(raw(&other), "the terminal speaks version 3 of the protocol, and this tier version 2");
    let menu = |number| Request::Menu { number, kind: StandardKind::Payment };
    assert_rejected(raw(&menu(1).frame()), "sent another's request");

    let greeted = |terminal, requests: &[Request]| {
        let mut line = tier.line();
        send(&mut line, &hello(terminal, 0));
        requests.iter().for_each(|request| send(&mut line, request));
        line
    };
    assert_rejected(greeted(2, &[menu(2)]), "request 2 after request 0");
    let inputs = inputs();
    let enter = |terminal: u32, change: &dyn Fn(&mut Standard)| {
        let input = inputs.terminal(0).input(&inputs, StandardKind::NewOrder);
        let mut transaction = on_screen(&input).unwrap().clone();
        change(&mut transaction);
        greeted(terminal, &[Request::Enter { number: 1, operator: 0, transaction }])
    };
    let order = |transaction: &mut Standard, change: &dyn Fn(&mut lydite_tpcc::transactions::NewOrder)| {
        if let Standard::NewOrder(order) = transaction {
            change(order);
        }
    };
    assert_rejected(enter(3, &|t| order(t, &|order| order.w_id = WarehouseId(2))), "W_ID is 2, from 1 to 1");
    assert_rejected(enter(4, &|t| order(t, &|order| order.lines.clear())), "number of lines is 0");
    assert_rejected(enter(5, &|t| order(t, &|order| order.lines[0].quantity = 0)), "OL_QUANTITY is 0");

    send(&mut good, &menu(1));
    assert_eq!(receive(&mut good), Some(Answer::Menu { number: 1, kind: StandardKind::Payment }));
    drop(good);
    assert_eq!(tier.end().lines_rejected, 9);
}

/// Clause 6.6.2: the tier keeps the last screen of a lost terminal, and its context for a limited time.
#[test]
fn a_terminal_that_comes_back_gets_the_screen_that_it_lacks_and_later_no_context() {
    let menu = |number| Request::Menu { number, kind: StandardKind::Delivery };
    let tier = Tier::start(Settings::new(1));
    let mut line = tier.line();
    send(&mut line, &hello(0, 0));
    send(&mut line, &menu(1));
    // The terminal reads neither the greeting nor the screen.
    drop(line);
    let mut line = tier.line();
    send(&mut line, &hello(0, 1));
    let greeting = receive(&mut line).unwrap();
    if greeting == (Answer::Terminal { known: true, number: 1 }) {
        assert_eq!(receive(&mut line), Some(Answer::Menu { number: 1, kind: StandardKind::Delivery }));
    } else {
        // A cut line may lose what was on its way.
        assert!(matches!(greeting, Answer::Terminal { number: 0, .. }), "{greeting:?}");
    }
    drop(line);
    tier.end();

    let tier = Tier::start(Settings { keep: Duration::ZERO, ..Settings::new(1) });
    let greeted = || {
        let mut line = tier.line();
        send(&mut line, &hello(0, 0));
        receive(&mut line)
    };
    let new = Some(Answer::Terminal { known: false, number: 0 });
    assert_eq!(greeted(), new);
    while greeted() != new {
        // The tier looks for lost terminals several times a second.
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(tier.end().contexts_dropped > 0);
}
