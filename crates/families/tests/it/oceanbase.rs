//! `oceanbase://` on a real server of OceanBase's single-node kernel. `LYDITE_TEST_SEEKDB=off` skips it.

use crate::playing::{assert_conditions, fight, inputs, load, meta, open, play};
use lydite_database::{AbortReason, Session, TxError, TxMode};
use lydite_testkit::seekdb::Server;
use lydite_tpcc::{Outcome, Standard, Transaction};
use std::time::Duration;

#[test]
fn oceanbase_answers_as_sqlite_does_in_every_mode_and_keeps_the_conditions_when_sessions_fight() {
    let Some(server) = Server::start() else { return };
    let url = server.create_database("tpcc");
    let reference = open("sqlite:", TxMode::Statements);
    load(&*reference, 1);
    load(&*open(&url, TxMode::Statements), 1);
    let inputs = inputs(1, 300);
    for (mode, inputs) in TxMode::ALL.into_iter().zip(inputs.chunks(100)) {
        let target = open(&url, mode);
        for ((wanted, answer), input) in
            play(&*reference, inputs).iter().zip(play(&*target, inputs)).zip(inputs)
        {
            assert_eq!(wanted, &answer, "{mode}: {input:?}");
        }
        assert_eq!(
            reference.checksums().expect("checksums"),
            target.checksums().expect("checksums"),
            "{mode}"
        );
        assert_conditions(&*target);
    }
    crate::shapes::assert_described(&*open(&url, TxMode::Statements), 1, None);
    let told = open(&url, TxMode::Statements).describe().expect("a description");
    assert!(told.version.contains("OceanBase") && told.version.contains("seekdb"), "{told:?}");

    for mode in TxMode::ALL {
        let target = open(&url, mode);
        let committed: usize = std::thread::scope(|scope| {
            let target = &*target;
            let fighters: Vec<_> = (0..4)
                .map(|fighter| scope.spawn(move || fight(target, &meta(1), fighter, 60).len()))
                .collect();
            fighters.into_iter().map(|fighter| fighter.join().expect("no panic")).sum()
        });
        assert!(committed > 0, "{mode}");
        assert_conditions(&*target);
    }

    // A row that another transaction changes after this one has taken its snapshot (error 6235).
    let order = inputs
        .iter()
        .find(|input| matches!(input, Transaction::Standard(Standard::NewOrder(_))))
        .expect("an order");
    for mode in TxMode::ALL {
        let target = open(&url, mode);
        let mut session = target.connect().expect("a session");
        let update = |sign| format!("UPDATE district SET d_tax = d_tax {sign} 0.0001");
        let answer = execute_within(&server, &update("+"), &update("-"), &mut *session, order);
        assert!(
            matches!(&answer, Err(TxError::Aborted { reason: AbortReason::Serialization, detail }) if detail.contains("6235")),
            "{mode}: {answer:?}"
        );
        assert!(matches!(session.execute(order), Ok(_) | Err(TxError::RolledBack(_))), "{mode}");
    }

    // The kernel breaks no deadlock. Payment locks the customer, then the district, so an order that waits for its
    // customer must not have its district locked.
    let Transaction::Standard(Standard::NewOrder(head)) = order else { unreachable!("found as an order") };
    let of_customer = format!("c_w_id = 1 AND c_d_id = {} AND c_id = {}", head.d_id, head.c_id);
    for mode in TxMode::ALL {
        let target = open(&url, mode);
        let mut session = target.connect().expect("a session");
        let lock_customer = format!("SELECT c_id FROM customer WHERE {of_customer} FOR UPDATE");
        let lock_district =
            format!("SELECT d_id FROM district WHERE d_w_id = 1 AND d_id = {} FOR UPDATE NOWAIT", head.d_id);
        let answer = execute_within(&server, &lock_customer, &lock_district, &mut *session, order);
        assert!(
            // The kernel counts the other transaction's lock as a change.
            matches!(
                &answer,
                Ok(_)
                    | Err(
                        TxError::RolledBack(_) | TxError::Aborted { reason: AbortReason::Serialization, .. }
                    )
            ),
            "{mode}: {answer:?}"
        );
    }
}

/// Executes a transaction while another one, of two statements, is between them. Both statements must succeed.
fn execute_within(
    server: &Server,
    first: &str,
    second: &str,
    session: &mut dyn Session,
    input: &Transaction,
) -> Result<Outcome, TxError> {
    std::thread::scope(|scope| {
        let other = scope
            .spawn(|| server.sql(&format!("USE tpcc; BEGIN; {first}; SELECT sleep(3); {second}; COMMIT")));
        while !server.sql("SHOW FULL PROCESSLIST").contains("sleep(3)") && !other.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let answer = session.execute(input);
        other.join().expect("the other transaction");
        answer
    })
}
