//! A scatter plot of a sweep's figure as a picture (SVG): a mark for each point, at the medians of two metrics, with
//! whiskers from the least to the greatest.

use super::markup::Markup;
use super::plot::{
    HEIGHT, LETTER, NARROW, Picture, RIGHT, TOP, WIDE, axis_of_side, colour, line, mark, text, tick,
    tick_step, titled_text,
};
use crate::figures::number;
use crate::sweep::Spread;
use crate::sweep::figure::{Cell, Panel};

/// Height of a label, and its distance from a mark.
const LABEL: f64 = 12.0;
const AWAY: f64 = 8.0;

/// One of the two axes: numbers, and the places of their ends in the picture.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Returns an axis from 0, or from the least number below, to the greatest one. Its ends are round numbers.
    fn over(values: impl Iterator<Item = Spread> + Clone, from: f64, to: f64) -> Self {
        let least = values.clone().map(|value| value.min).fold(0.0, f64::min);
        let greatest = values.map(|value| value.max).fold(0.0, f64::max);
        let step = tick_step(greatest.max(-least));
        let high = if greatest > least { (greatest / step - 1e-9).ceil() * step } else { step };
        Self { low: (least / step + 1e-9).floor() * step, high, step, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value - self.low) / (self.high - self.low)
    }

    /// Returns the round numbers with their labels.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count).map(|n| self.low + f64::from(n) * self.step).map(|value| {
            // Sums of steps miss 0 by a little.
            let value = if value.abs() < self.step * 1e-6 { 0.0 } else { value };
            let sign = if value < 0.0 { "−" } else { "" };
            (value, format!("{sign}{}", tick(value.abs(), self.step)))
        })
    }
}

/// A rectangle of the picture that a label or a mark fills.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// A point with both numbers.
struct Point<'a> {
    series: usize,
    name: &'a str,
    label: &'a str,
    along: Spread,
    up: Spread,
}

/// Draws the panels of the two metrics as one picture, with the width of the page if `alone`.
pub(super) fn scatter(along: &Panel, up: &Panel, alone: bool) -> Picture {
    let points: Vec<Point<'_>> = points(along, up).collect();
    let width = if alone { WIDE } else { NARROW };
    let (left, right, bottom) = (26.0 + 6.0 * LETTER, width - RIGHT - 10.0, HEIGHT - 40.0);
    let across = Axis::over(points.iter().map(|point| point.along), left, right);
    let upward = Axis::over(points.iter().map(|point| point.up), bottom, TOP);
    let mut all = Markup::default();
    for (value, label) in upward.ticks() {
        let y = upward.place(value);
        all.push(line(if value == 0.0 { "base" } else { "grid" }, left, y, right, y));
        all.push(text("end", left - 6.0, y + 4.0, &label));
    }
    for (value, label) in across.ticks() {
        let x = across.place(value);
        all.push(line(if value == 0.0 { "base" } else { "grid" }, x, TOP, x, bottom));
        all.push(text("middle", x, bottom + 17.0, &label));
    }
    all.push(titled_text("axis", f64::midpoint(left, right), HEIGHT - 6.0, &along.y_title));
    all.push(axis_of_side(f64::midpoint(TOP, bottom), &up.y_title));
    let at = |point: &Point<'_>| (across.place(point.along.median), upward.place(point.up.median));
    let mut taken: Vec<Area> = points.iter().map(|point| around(at(point))).collect();
    for point in &points {
        let (x, y) = at(point);
        let mut one = Markup::with_text("title", &[], &tip(point, along, up));
        let class = colour("whisker", point.series);
        one.push(line(&class, across.place(point.along.min), y, across.place(point.along.max), y));
        one.push(line(&class, x, upward.place(point.up.min), x, upward.place(point.up.max)));
        one.push(mark(point.series, x, y));
        all.push(Markup::element("g", &[], one));
        let wide = point.label.chars().count() as f64 * LETTER;
        let free = places((x, y), wide).into_iter().find(|(_, _, _, area)| {
            area.left >= left
                && area.right <= width
                && area.top >= 0.0
                && area.bottom <= bottom
                && !taken.iter().any(|other| other.meets(area))
        });
        // A label without a free place is left out; the table has it.
        if let Some((anchor, x, y, area)) = free {
            all.push(text(anchor, x, y, point.label));
            taken.push(area);
        }
    }
    let tips: Vec<String> = points.iter().map(|point| tip(point, along, up)).collect();
    let says = format!("{} by {}. {}", up.y_title, along.y_title, tips.join("; "));
    Picture { content: all, width, height: HEIGHT, says }
}

/// Returns all points: the place of the series, its name, the label, and the cells along the bottom and the side.
fn cells<'a>(
    along: &'a Panel,
    up: &'a Panel,
) -> impl Iterator<Item = (usize, &'a str, &'a str, [&'a Cell; 2])> {
    along.series.iter().zip(&up.series).enumerate().flat_map(|(series, (of_along, of_up))| {
        let cells = of_along.cells.iter().zip(&of_up.cells);
        along
            .x
            .iter()
            .zip(cells)
            .map(move |(label, (along, up))| (series, of_along.name.as_str(), label.as_str(), [along, up]))
    })
}

/// Returns the points that have both numbers.
fn points<'a>(along: &'a Panel, up: &'a Panel) -> impl Iterator<Item = Point<'a>> {
    cells(along, up).filter_map(|(series, name, label, [along, up])| {
        Some(Point { series, name, label, along: along.value?, up: up.value? })
    })
}

/// Returns the names of the points that lack a number, and so have no mark.
pub(super) fn without_mark(along: &Panel, up: &Panel) -> Vec<String> {
    cells(along, up)
        .filter(|(.., cells)| cells.iter().any(|cell| cell.value.is_none()))
        .map(|(_, name, label, _)| name_of(name, label))
        .collect()
}

/// Returns the name of a point: that of its series, if it has one, and its label.
fn name_of(series: &str, label: &str) -> String {
    if series.is_empty() { label.to_owned() } else { format!("{series}, {label}") }
}

/// Returns the area of a mark.
fn around((x, y): (f64, f64)) -> Area {
    Area { left: x - 5.0, top: y - 5.0, right: x + 5.0, bottom: y + 5.0 }
}

/// Returns the places of a label of this width beside a mark, the best first: anchor, position of the text, area.
fn places((x, y): (f64, f64), wide: f64) -> [(&'static str, f64, f64, Area); 4] {
    let area = |left: f64, middle: f64| Area {
        left,
        top: middle - LABEL / 2.0,
        right: left + wide,
        bottom: middle + LABEL / 2.0,
    };
    let beside = |anchor, x, middle: f64, left| (anchor, x, middle + 4.0, area(left, middle));
    [
        beside("start", x + AWAY, y, x + AWAY),
        beside("end", x - AWAY, y, x - AWAY - wide),
        beside("middle", x, y - AWAY - LABEL / 2.0, x - wide / 2.0),
        beside("middle", x, y + AWAY + LABEL / 2.0, x - wide / 2.0),
    ]
}

/// Returns the tooltip of a mark.
fn tip(point: &Point<'_>, along: &Panel, up: &Panel) -> String {
    let value = |panel: &Panel, value: Spread| {
        let range = if value.min < value.max {
            format!(" ({} to {})", number(value.min), number(value.max))
        } else {
            String::new()
        };
        format!("{} {}{range}", panel.y_title, number(value.median))
    };
    format!("{}: {}, {}", name_of(point.name, point.label), value(along, point.along), value(up, point.up))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(value: f64) -> Spread {
        Spread { median: value, min: value, max: value, runs: 1 }
    }

    #[test]
    fn an_axis_begins_at_0_or_below_and_ends_at_a_round_number() {
        for (values, low, high) in [
            (vec![0.1, 1.0], 0.0, 1.0),
            (vec![-0.3, 0.9], -0.4, 1.0),
            (vec![], 0.0, 1.0),
            (vec![0.0], 0.0, 1.0),
        ] {
            let axis = Axis::over(values.iter().copied().map(spread), 0.0, 100.0);
            assert!((axis.low - low).abs() < 1e-9 && (axis.high - high).abs() < 1e-9, "{values:?}");
            assert!(axis.place(axis.low).abs() < 1e-9);
            assert!((axis.place(axis.high) - 100.0).abs() < 1e-9);
        }
        let axis = Axis::over([spread(-0.3), spread(0.9)].into_iter(), 0.0, 100.0);
        let labels: Vec<String> = axis.ticks().map(|(_, label)| label).collect();
        assert_eq!(labels, ["−0.4", "−0.2", "0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }
}
