//! A small chart within a table row: the window that a rule allows, and the measured value as a dot.

use super::markup::Markup;

const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 22.0;
/// Room at both ends, so that a dot at the edge is whole.
const EDGE: f64 = 8.0;

/// Draws the window from `low` to `high` (open to the right if `None`) and `actual`, on a scale of its own.
/// `good` colours the dot; `None` leaves it grey.
pub(super) fn range(low: f64, high: Option<f64>, actual: f64, good: Option<bool>, says: &str) -> Markup {
    if !(low.is_finite() && actual.is_finite() && high.is_none_or(f64::is_finite)) {
        return Markup::text("–");
    }
    // A minimum has no width to scale by: a twentieth of it makes a narrow miss visible.
    let window_end = high.unwrap_or((low + 0.05 * low.abs()).max(actual));
    let (least, most) = (low.min(actual), window_end.max(actual));
    // A window of one value still needs a scale.
    let span = if most > least { most - least } else { most.abs().max(1.0) * 0.1 };
    let (from, to) = (least - 0.25 * span, most + 0.25 * span);
    let x = |value: f64| EDGE + (value - from) / (to - from) * (WIDTH - 2.0 * EDGE);
    let band_end = high.map_or(WIDTH - EDGE, x);
    let number = |v: f64| format!("{v:.1}");

    let line = [
        ("x1", number(EDGE)),
        ("x2", number(WIDTH - EDGE)),
        ("y1", number(HEIGHT / 2.0)),
        ("y2", number(HEIGHT / 2.0)),
        ("class", "axis".to_owned()),
    ];
    let band = [
        ("x", number(x(low))),
        ("width", number((band_end - x(low)).max(1.0))),
        ("y", number(4.0)),
        ("height", number(HEIGHT - 8.0)),
        ("rx", "2".to_owned()),
        ("class", "band".to_owned()),
    ];
    let dot_class = match good {
        Some(true) => "dot good",
        Some(false) => "dot bad",
        None => "dot",
    };
    let dot = [
        ("cx", number(x(actual))),
        ("cy", number(HEIGHT / 2.0)),
        ("r", "5".to_owned()),
        ("class", dot_class.to_owned()),
    ];
    let shapes = [shape("line", &line), shape("rect", &band), shape("circle", &dot)];
    let (width, height) = (WIDTH.to_string(), HEIGHT.to_string());
    let view = format!("0 0 {WIDTH} {HEIGHT}");
    let frame = [
        ("class", "range"),
        ("viewBox", view.as_str()),
        ("width", width.as_str()),
        ("height", height.as_str()),
        ("role", "img"),
        ("aria-label", says),
    ];
    Markup::element("svg", &frame, shapes.into_iter().collect())
}

fn shape(name: &'static str, attributes: &[(&'static str, String)]) -> Markup {
    let borrowed: Vec<_> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    Markup::element(name, &borrowed, Markup::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_gets_a_dot_within_the_picture() {
        for (low, high, actual) in [
            (0.9, Some(1.1), 1.0),
            (0.9, Some(1.1), 40.0),
            (5.0, Some(5.0), 5.0),
            (43.0, None, 42.0),
            (0.0, None, 0.0),
        ] {
            let html = range(low, high, actual, Some(true), "").into_html();
            let cx: f64 = html.split("cx=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=WIDTH).contains(&cx), "{low} {high:?} {actual}: {cx}");
            assert!(!html.contains("NaN") && !html.contains("inf"));
        }
        assert!(range(f64::NAN, None, 1.0, None, "").into_html().contains('–'));
    }
}
