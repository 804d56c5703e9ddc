//! The phases of a run in the terminal and on the page: latencies, aborts and the queue of each, and a ramp as a picture.

use crate::sample::{Look, sample};
use lydite_report::controls::rate::{Actual, PhaseQueue, PhaseRate};
use lydite_report::model::{Latency, PhaseResult, RunResult};
use lydite_report::{render_html, render_table};

/// A phase of ten seconds: its rate, its completed New-Orders, their p50 and p99 in ms, and the queue at its end.
fn phase(number: u32, rate: f64, new_orders: u64, [p50, p99]: [f64; 2], queue: PhaseQueue) -> PhaseResult {
    let latency = Latency { p50: Some(p50), p99: Some(p99), max: Some(2.0 * p99), ..Latency::default() };
    let zero = || [("new_order".to_owned(), 0)].into();
    let mut phase = PhaseResult {
        from_s: f64::from(number) * 10.0,
        to_s: f64::from(number + 1) * 10.0,
        asked: [("rate".to_owned(), rate.to_string())].into(),
        transactions: [("new_order".to_owned(), new_orders)].into(),
        tps: rate,
        latency_ms: [("new_order".to_owned(), latency)].into(),
        queue_ms: [("new_order".to_owned(), Latency::default())].into(),
        retries: zero(),
        failed: zero(),
        unknown: zero(),
        aborts: [("deadlock".to_owned(), u64::from(number)), ("other".to_owned(), 0)].into(),
        ..PhaseResult::default()
    };
    let due = (10.0 * rate) as u64;
    let actual = Actual { due_per_s: rate, completed_per_s: rate, due };
    phase.controls.rate = Some(PhaseRate { asked_per_s: rate, actual: Some(actual) });
    phase.controls.queue = Some(queue);
    phase
}

/// A run whose rate goes up, and down again. Its last phase has too few New-Orders for a 99th percentile.
fn ramp() -> RunResult {
    let mut result = sample(Look { seconds: 120, ..Look::default() });
    result.plan.mode = Some("open".into());
    result.plan.rate = Some(766.0);
    let queue = |backlog, grew_by| PhaseQueue { backlog, grew_by };
    result.phases = vec![
        phase(0, 200.0, 2_000, [1.25, 3.5], queue(0, 0)),
        phase(1, 2_000.0, 9_000, [2_345.0, 4_567.0], queue(11_000, 11_000)),
        phase(2, 100.0, 900, [1.5, 3.25], queue(7, -10_993)),
    ];
    result
}

#[test]
fn a_line_for_each_phase_has_latency_aborts_and_queue_within_80_columns() {
    let text = render_table(&ramp(), 80, false);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "phase 1, 0 to 10 s, rate 200: 200 tx/s, New-Order p50 1.25 p99 3.50 ms, 0 aborts, queue 0 phase 2,",
        "rate 2000: 2,000 tx/s, New-Order p50 2,345 p99 4,567 ms, 1 abort, queue 11,000 (+11,000) phase 3,",
        "rate 100: 100 tx/s, New-Order p50 1.50 p99 ~3.25 ms, 2 aborts, queue 7 (-10,993) ",
        "~: fewer than 10 transactions lie above this percentile",
    ] {
        assert!(words.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    let (_, phases) = text.split_once("phase    1").unwrap();
    let (phases, _) = phases.split_once("client   ").unwrap();
    assert!(phases.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
}

/// In a closed loop nothing waits, and results of earlier versions have no such numbers.
#[test]
fn a_phase_has_no_words_for_what_it_lacks() {
    let mut result = ramp();
    result.phases[0].controls.queue = None;
    let text = render_table(&result, 200, false);
    assert!(text.contains("p99 3.50 ms, 0 aborts\nphase    2,"), "{text}");
    for phase in &mut result.phases {
        phase.latency_ms.clear();
        phase.aborts.clear();
        phase.controls = Default::default();
    }
    let text = render_table(&result, 200, false);
    assert!(text.contains("rate 200: 200 tx/s\nphase    2, 10 to 20 s, rate 2000: 2,000 tx/s\n"), "{text}");
    assert!(!text.contains('~'), "{text}");
    let page = render_html(&[result]);
    assert!(
        section(&page).contains("<table") && !section(&page).contains("<svg"),
        "a table without a picture"
    );
}

/// Returns the section of the phases.
fn section(page: &str) -> &str {
    let (_, section) = page.split_once("<section id=\"phases\">").unwrap();
    section.split_once("</section>").unwrap().0
}

#[test]
fn the_page_has_a_table_of_the_phases_and_their_latency_over_the_rate() {
    let page = render_html(&[ramp()]);
    let section = section(&page);
    for wanted in [
        ">configured/s</th>",
        ">2,000</td>",
        ">rate 2000</td>",
        ">4,567</td>",
        ">+11,000</td>",
        ">-10,993</td>",
        ">~3.25</td>",
        "~: fewer than 10 transactions",
        "<summary>All percentiles of latency and queue in each phase</summary>",
        ">New-Order queue<",
        "<figcaption>Latency by configured requests per second</figcaption>",
    ] {
        assert!(section.contains(wanted), "{wanted:?} is missing in\n{section}");
    }
    let (_, picture) = section.split_once("<svg class=\"plot alone\"").unwrap();
    let (tag, drawn) = picture.split_once('>').unwrap();
    // The phases by their rate, in words for readers who do not see the picture.
    let says = "New-Order latency in ms. p50, 100: 1.50; p50, 200: 1.25; p50, 2000: 2,345; p99, 100: 3.25; \
                p99, 200: 3.50; p99, 2000: 4,567";
    assert!(tag.contains("role=\"img\"") && tag.contains(&format!("aria-label=\"{says}\"")), "{tag}");
    let (drawn, _) = drawn.split_once("</svg>").unwrap();
    assert_eq!((drawn.matches("<polyline").count(), drawn.matches("<title>").count()), (2, 6), "{drawn}");
    assert!(page.contains("svg.plot {"), "the picture has its style");
    let (_, head) = page.split_once("<nav").unwrap();
    assert!(head.split_once("</nav>").unwrap().0.contains("href=\"#phases\""));
}

#[test]
fn phases_with_other_sessions_are_drawn_over_these_and_equal_ones_are_not_drawn() {
    let mut result = ramp();
    for (phase, sessions) in result.phases.iter_mut().zip(["8", "16", "4"]) {
        phase.controls = Default::default();
        phase.asked = [("sessions".to_owned(), sessions.to_owned())].into();
    }
    let page = render_html(&[result.clone()]);
    assert!(section(&page).contains("<figcaption>Latency by sessions</figcaption>"));
    assert!(section(&page).contains("p99, 4: 3.25; p99, 8: 3.50; p99, 16: 4,567"), "{}", section(&page));
    for phase in &mut result.phases {
        phase.asked = [("sessions".to_owned(), "8".to_owned())].into();
    }
    let page = render_html(&[result.clone()]);
    assert!(!section(&page).contains("<svg") && !page.contains("svg.plot {"));
    result.phases.truncate(1);
    assert!(!render_html(&[result]).contains("id=\"phases\""), "the only phase is the window");
}

#[test]
fn names_of_phases_cannot_become_markup() {
    let mut result = ramp();
    result.phases[0].name = Some("<script>alert(1)</script>".to_owned());
    result.phases[0].asked = [("rate".to_owned(), "<img src=x>".to_owned())].into();
    let page = render_html(&[result]);
    let section = section(&page);
    assert!(section.contains("&lt;script&gt;alert(1)") && section.contains("&lt;img src=x&gt;"));
    assert!(!section.contains("<script") && !section.contains("<img"));
}

#[test]
fn a_page_of_a_thousand_phases_stays_small_enough_to_send() {
    let mut result = ramp();
    let queue = PhaseQueue { backlog: 0, grew_by: 0 };
    result.phases = (0..1_000).map(|n| phase(n, f64::from(n), 2_000, [1.25, 3.5], queue)).collect();
    let page = render_html(&[result]);
    assert!(page.contains("are in the result: phases, latency_ms and queue_ms."));
    assert!(page.len() < 1_800_000, "{} bytes", page.len());
}
