//! Pictures of a comparison in turns (SVG): the runs in pairs, and the interval of the ratio after each pair.

use super::markup::Markup;
use super::plot::{
    HEIGHT, LETTER, Picture, RIGHT, TOP, WIDE, axis_of_side, colour, line, mark, text, titled_text,
};
use super::ticks::even;
use crate::ab::{Ab, Look, Pair, Role, times};
use crate::figures::number;

/// Room at the ends of an axis, as a share of its length.
const ROOM: f64 = 0.08;
/// Length of an arrow's head across and along.
const ARROW: f64 = 5.0;
/// Opacity of pairs that do not count.
const PALE: &str = "0.35";

/// A frame with a vertical axis that need not begin at 0, and even places along the bottom.
struct Frame {
    low: f64,
    high: f64,
    left: f64,
    bottom: f64,
    count: usize,
}

impl Frame {
    /// Returns a frame around these values; none without finite values.
    fn around(values: &[f64], count: usize) -> Option<Self> {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (least, most) = (finite().reduce(f64::min)?, finite().reduce(f64::max)?);
        let span = if most > least { most - least } else { most.abs().max(1e-9) * 0.1 };
        let low = least - ROOM * span;
        Some(Self {
            // What is never negative has no room below 0.
            low: if least >= 0.0 { low.max(0.0) } else { low },
            high: most + ROOM * span,
            left: 26.0 + 8.0 * LETTER + 6.0,
            bottom: HEIGHT - 40.0,
            count,
        })
    }

    fn y(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        self.bottom - (self.bottom - TOP) * (value - self.low) / (self.high - self.low)
    }

    fn band(&self) -> f64 {
        (WIDE - RIGHT - self.left) / self.count.max(1) as f64
    }

    fn x(&self, place: usize) -> f64 {
        self.left + self.band() * (place as f64 + 0.5)
    }

    /// Draws an arrow at each edge beyond which an interval at `x` goes on.
    fn arrows(&self, class: &str, x: f64, (low, high): (f64, f64)) -> Markup {
        let mut all = Markup::default();
        let mut arrow = |edge: f64, back: f64| {
            all.push(line(class, x - ARROW, edge + back, x, edge));
            all.push(line(class, x + ARROW, edge + back, x, edge));
        };
        if high > self.high {
            arrow(TOP, ARROW);
        }
        if low < self.low {
            arrow(self.bottom, -ARROW);
        }
        all
    }

    /// Draws the axes with their titles. `labels` stand along the bottom.
    fn draw(&self, labels: &[String], (across, upward): (&str, &str)) -> Markup {
        let mut all = Markup::default();
        for (value, label) in even(self.low, self.high) {
            let y = self.y(value);
            all.push(line("grid", self.left, y, WIDE - RIGHT, y));
            all.push(text("end", self.left - 6.0, y + 4.0, &label));
        }
        all.push(line("base", self.left, self.bottom, WIDE - RIGHT, self.bottom));
        // Labels that would overlap are left out; the table has them.
        let every = (3.0 * LETTER / self.band()).ceil().max(1.0) as usize;
        for (place, label) in labels.iter().enumerate().step_by(every) {
            all.push(text("middle", self.x(place), self.bottom + 17.0, label));
        }
        all.push(titled_text("axis", f64::midpoint(self.left, WIDE - RIGHT), HEIGHT - 6.0, across));
        all.push(axis_of_side(f64::midpoint(TOP, self.bottom), upward));
        all
    }
}

/// Draws the two runs of each pair, joined by a line; none without values.
pub(super) fn pairs(ab: &Ab) -> Option<Picture> {
    let values = ab.pairs.iter().flat_map(|pair| [pair.a.value, pair.b.value]).flatten();
    let frame = Frame::around(&values.collect::<Vec<_>>(), ab.pairs.len())?;
    let labels: Vec<String> = ab.pairs.iter().map(|pair| pair.number.to_string()).collect();
    let unit = if ab.metric.unit.is_empty() { String::new() } else { format!(", {}", ab.metric.unit) };
    let title = format!("{}{unit}", ab.metric.title);
    let mut all = frame.draw(&labels, ("pair", &title));
    let apart = (frame.band() * 0.18).min(16.0);
    let mut says = Vec::new();
    for (place, pair) in ab.pairs.iter().enumerate() {
        let centre = frame.x(place);
        // The run that came first stands to the left.
        let (a, b) = if pair.first == "a" { (-apart, apart) } else { (apart, -apart) };
        let tip = tip(pair);
        let mut one = Markup::with_text("title", &[], &tip);
        if let Some((a_value, b_value)) = pair.a.value.zip(pair.b.value) {
            one.push(line("base", centre + a, frame.y(a_value), centre + b, frame.y(b_value)));
        }
        one.push(pair.a.value.map_or_else(Markup::default, |value| mark(0, centre + a, frame.y(value))));
        one.push(pair.b.value.map_or_else(Markup::default, |value| mark(1, centre + b, frame.y(value))));
        let opacity = if pair.role == Role::Counted { "1" } else { PALE };
        all.push(Markup::element("g", &[("opacity", opacity)], one));
        says.push(tip);
    }
    for (n, name) in ["A", "B"].into_iter().enumerate() {
        let x = frame.left + 14.0 + 40.0 * n as f64;
        all.push(mark(n, x, TOP - 10.0));
        all.push(text("start", x + 9.0, TOP - 6.0, name));
    }
    Some(Picture { content: all, width: WIDE, height: HEIGHT, says: format!("{title}. {}", says.join("; ")) })
}

fn tip(pair: &Pair) -> String {
    format!(
        "pair {} ({}): A {}, B {}",
        pair.number,
        pair.role.words(),
        number(pair.a.value),
        number(pair.b.value)
    )
}

/// Draws the interval of the ratio after each pair, and a line at 1; none with fewer than two pairs.
pub(super) fn course(ab: &Ab) -> Option<Picture> {
    // The first intervals are so wide that the others would be flat.
    let last = ab.course.last()?;
    let reach = 4.0 * (last.high - last.low).max(0.01);
    let ends = ab.course.iter().flat_map(|look| [look.low, look.high]);
    let near = ends.filter(|end| (end - last.ratio).abs() <= reach).chain([1.0, last.low, last.high]);
    let frame = Frame::around(&near.collect::<Vec<_>>(), ab.course.len())?;
    let labels: Vec<String> = ab.course.iter().map(|look| look.pairs.to_string()).collect();
    let mut all = frame.draw(&labels, ("pairs that count", "B / A"));
    all.push(line("missing", frame.left, frame.y(1.0), WIDE - RIGHT, frame.y(1.0)));
    let mut says = Vec::new();
    for (place, look) in ab.course.iter().enumerate() {
        let x = frame.x(place);
        let tip = tip_of(look);
        let mut one = Markup::with_text("title", &[], &tip);
        let class = if look.decides { colour("stroke", 1) } else { colour("whisker", 1) };
        one.push(line(&class, x, frame.y(look.low), x, frame.y(look.high)));
        one.push(frame.arrows(&class, x, (look.low, look.high)));
        if (frame.low..=frame.high).contains(&look.ratio) {
            one.push(mark(1, x, frame.y(look.ratio)));
        }
        all.push(Markup::element("g", &[], one));
        says.push(tip);
    }
    Some(Picture { content: all, width: WIDE, height: HEIGHT, says: format!("B / A. {}", says.join("; ")) })
}

fn tip_of(look: &Look) -> String {
    let (ratio, low, high) = (times(look.ratio), times(look.low), times(look.high));
    format!("after {} pairs {ratio} ({low} to {high})", look.pairs)
}
