//! The connections of a run: sessions at the endpoints of a database, and lines of terminals.

use super::markup::{Markup, figures, pairs, table, words};
use crate::figures::{count, number};
use crate::model::{EndpointResult, RunResult};

/// The endpoints with the sessions that they had.
pub(super) fn endpoints(r: &RunResult) -> Markup {
    if r.endpoints.is_empty() {
        return Markup::default();
    }
    let seconds = r.window.warmup_s + r.window.measured_s;
    let row = |found: &EndpointResult| {
        let counts = [
            found.sessions.into(),
            found.transactions,
            found.away,
            found.opened,
            found.lost,
            found.refused,
            found.moved,
            found.refreshed,
        ];
        let cells = counts.map(|number| Markup::text(&count(number)));
        let shares = [found.opened_per_s(seconds), found.connecting_percent(seconds)];
        let shares = shares.map(|share| Markup::text(&number(share)));
        std::iter::once(Markup::text(&found.endpoint)).chain(cells).chain(shares).collect()
    };
    let columns = [
        words("Endpoint"),
        figures("sessions"),
        figures("transactions"),
        figures("of warehouses led elsewhere"),
        figures("opened"),
        figures("lost"),
        figures("refused"),
        figures("moved here"),
        figures("refreshed"),
        figures("opened per second"),
        figures("% of the time in connecting"),
    ];
    table("Endpoints, with the warm-up", &columns, r.endpoints.iter().map(row).collect())
}

/// The terminals' lines to a WAS, and their display delay.
pub(super) fn terminals(r: &RunResult) -> Markup {
    let Some(terminals) = &r.terminals else { return Markup::default() };
    let mut rows = Vec::new();
    if let Some(was) = &terminals.was {
        rows.push(("WAS".to_owned(), Markup::text(&was.address)));
        let counts = [
            ("Lines", was.lines),
            ("Lost lines", was.lost),
            ("Reconnected", was.reconnected),
            ("Without their context", was.contexts_lost),
        ];
        rows.extend(counts.map(|(name, value)| (name.to_owned(), Markup::text(&count(value)))));
        let menu = &was.menu_ms;
        let text =
            format!("{} ms, mean {}, at most {}", number(menu.p90), number(menu.mean), number(menu.max));
        rows.push(("Menu response, 90th percentile".to_owned(), Markup::text(&text)));
    }
    let delay = match terminals.display_delay_ms {
        0.0 => "none".to_owned(),
        delay => format!("{} ms, not part of the latencies on this page", number(delay)),
    };
    rows.push(("Display delay (TPC-C 6.6.3.7)".to_owned(), Markup::text(&delay)));
    Markup::element("div", &[("class", "narrow")], pairs("Terminals (TPC-C 6.6)", rows))
}
