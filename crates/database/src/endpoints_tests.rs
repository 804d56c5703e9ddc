#![allow(clippy::expect_used, reason = "a test may panic")]

use super::*;

/// Makes endpoints. Their probe succeeds while `up` is true.
fn endpoints(count: usize, lifetime: Option<Duration>, up: &Arc<AtomicBool>) -> Arc<Endpoints> {
    let names = (0..count).map(|number| format!("h{number}:1")).collect();
    let up = Arc::clone(up);
    Endpoints::new(names, lifetime, Box::new(move |_| up.load(Ordering::SeqCst)))
}

fn sit(endpoints: &Arc<Endpoints>) -> Seat {
    endpoints.connect(|_| Ok(())).expect("a connection").1
}

fn at(seats: &[Seat]) -> Vec<usize> {
    seats.iter().map(Seat::endpoint).collect()
}

#[test]
fn sessions_spread_evenly_and_avoid_an_endpoint_that_refuses_until_it_is_back() {
    let up = Arc::new(AtomicBool::new(false));
    let endpoints = endpoints(2, None, &up);
    let mut seats: Vec<Seat> = (0..4).map(|_| sit(&endpoints)).collect();
    assert_eq!(at(&seats), [0, 1, 0, 1]);
    let left_over = endpoints.begin(Vec::new(), None, 4);
    assert_eq!(left_over, Vec::<String>::new());
    // Endpoint 1 is lost with both sessions. The first goes back to it and is refused.
    seats.iter().filter(|seat| seat.endpoint() == 1).for_each(Seat::lose);
    seats.retain(|seat| seat.endpoint() == 0);
    for _ in 0..2 {
        let open = |at| if at == 1 { Err(TargetError::unreachable("gone")) } else { Ok(()) };
        seats.push(endpoints.connect(open).expect("the other endpoint").1);
    }
    assert_eq!(at(&seats), [0, 0, 0, 0]);
    assert!(!seats.iter().any(Seat::is_over));
    let report = endpoints.report();
    assert_eq!([report[0].moved, report[0].sessions.into(), report[1].lost], [2, 4, 2]);
    // Once it is back, two sessions leave the crowded endpoint, and no more.
    up.store(true, Ordering::SeqCst);
    while endpoints.joined.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    let over: Vec<bool> = seats.iter().map(Seat::is_over).collect();
    assert_eq!(over, [true, true, false, false]);
    seats.drain(..2);
    seats.extend([sit(&endpoints), sit(&endpoints)]);
    assert_eq!(at(&seats), [0, 0, 1, 1]);
    assert_eq!(endpoints.report()[1].moved, 2);
}

#[test]
fn processes_begin_at_different_endpoints() {
    let first = |process| {
        let endpoints = endpoints(3, None, &Arc::default());
        endpoints.begin_at(process);
        [sit(&endpoints), sit(&endpoints)].map(|seat| seat.endpoint())
    };
    assert_eq!([0, 1, 2, 3].map(first), [[0, 1], [1, 2], [2, 0], [0, 1]]);
}

#[test]
fn the_sessions_of_a_run_begin_at_the_same_endpoint_whatever_was_connected_before() {
    let endpoints = endpoints(3, None, &Arc::default());
    drop(sit(&endpoints));
    let left_over = endpoints.begin(Vec::new(), None, 3);
    assert_eq!(left_over, Vec::<String>::new());
    let seats = [sit(&endpoints), sit(&endpoints)];
    assert_eq!(at(&seats), [0, 1]);
    let report = endpoints.report();
    assert_eq!((report[2].sessions, report[2].transactions, report[2].last), (0, 0, None));
    // Without the nodes of the endpoints nobody knows what a server leads.
    assert!(!endpoints.leads(2, 0..3));
    let placement = Placement::ranges(["a", "b", "c"].map(String::from).to_vec(), 3);
    let left_over = endpoints.begin(["a", "b", "c"].map(String::from).to_vec(), Some(&placement), 3);
    assert_eq!(left_over, Vec::<String>::new());
    assert_eq!([0..1, 0..2, 2..3].map(|active| endpoints.leads(2, active)), [false, false, true]);
}

#[test]
fn the_error_of_the_last_endpoint_is_reported_if_none_is_reached() {
    let endpoints = endpoints(3, None, &Arc::default());
    let mut tried = Vec::new();
    let refused = endpoints.connect(|at| -> Result<(), _> {
        tried.push(at);
        Err(TargetError::unreachable(format!("no {at}")))
    });
    assert_eq!(refused.map(|_| ()).expect_err("none").message, "no 2");
    assert_eq!(tried, [0, 1, 2]);
    // An error of another kind is no reason to try the others.
    let refused = endpoints.connect(|_| -> Result<(), _> { Err(TargetError::usage("wrong")) });
    assert_eq!(refused.map(|_| ()).expect_err("wrong").message, "wrong");
    assert_eq!(endpoints.report().iter().map(|found| found.refused).sum::<u64>(), 3);
}

#[test]
fn a_connection_ends_with_its_life_time_and_the_next_one_takes_its_place() {
    let endpoints = endpoints(2, Some(Duration::ZERO), &Arc::default());
    let seats = [sit(&endpoints), sit(&endpoints)];
    assert!(seats[0].is_over() && !seats[0].endpoints.report().is_empty());
    assert_eq!(sit(&endpoints).endpoint(), 0);
    let report = endpoints.report();
    assert_eq!((report[0].refreshed, report[0].moved, report[0].opened), (1, 0, 2));
}

#[test]
fn warehouses_are_led_by_the_endpoint_of_their_node() {
    let endpoints = endpoints(2, None, &Arc::default());
    let placement = Placement {
        nodes: vec!["n2 (region=b)".into(), "n1 (region=a)".into(), "n12".into()],
        node_of: vec![0, 1, 1, 2],
    };
    let nodes = vec!["n1".to_owned(), "n2".to_owned()];
    assert_eq!(endpoints.begin(nodes, Some(&placement), 4), ["n12"]);
    assert_eq!(*endpoints.leaders.read().of, [1, 0, 0, NOBODY]);
    let _seats = [sit(&endpoints), sit(&endpoints)];
    let serves = endpoints.serves(0);
    let served: Vec<bool> = (1..=4).map(|number| serves(WarehouseId(number))).collect();
    assert_eq!(served, [false, true, true, true]);
    endpoints.follow(&Placement { node_of: vec![1, 1, 0, 0], ..placement });
    assert_eq!(*endpoints.leaders.read().of, [0, 0, 1, 1]);
    // Without names the nodes are the endpoints in order, and without a placement each leads a range.
    let placement = Placement { nodes: vec!["a".into(), "b".into()], node_of: vec![1, 0, 1] };
    assert!(endpoints.begin(Vec::new(), Some(&placement), 3).is_empty());
    assert_eq!(*endpoints.leaders.read().of, [1, 0, 1]);
    assert!(endpoints.begin(Vec::new(), None, 5).is_empty());
    assert_eq!(*endpoints.leaders.read().of, [0, 0, 0, 1, 1]);
}

#[test]
fn warehouses_of_an_endpoint_without_sessions_are_served_by_the_others() {
    let endpoints = endpoints(2, None, &Arc::default());
    assert!(endpoints.begin(Vec::new(), None, 2).is_empty());
    let seat = sit(&endpoints);
    assert_eq!(seat.endpoint(), 0);
    assert!(endpoints.serves(0)(WarehouseId(2)));
    let _other = sit(&endpoints);
    assert!(!endpoints.serves(0)(WarehouseId(2)));
}
