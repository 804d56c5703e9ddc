//! The graphs of clause 5.6 as pictures (SVG), for pages without a script.

use crate::figures::{P90, count, nopm, number, percent, type_name};
use crate::html::data::{Frequency, RunData};
use crate::html::markup::Markup;
use crate::html::plot::{
    HEIGHT, LETTER, NARROW, Picture, RIGHT, TOP, WIDE, axis_of_side, line, rectangle, text, tick, tick_step,
    titled_text,
};
use crate::model::RunResult;
use crate::observed::checkpoints;

/// Least number of points of the throughput over time, and greatest number of seconds of a point (clause 5.6.4).
const POINTS: usize = 240;
const POINT_MAX_S: usize = 30;

/// A pair of axes: the horizontal one from `x.0` to `x.1`, the vertical one from 0.
struct Axes {
    width: f64,
    left: f64,
    x: (f64, f64),
    top_value: f64,
}

/// Lower end of the vertical axis.
const BOTTOM: f64 = HEIGHT - 40.0;

impl Axes {
    /// Draws the axes with their numbers and titles.
    fn draw(width: f64, x: (f64, f64), greatest: f64, titles: [&str; 2]) -> (Self, Markup) {
        let step = tick_step(greatest);
        let top_value = if greatest > 0.0 { (greatest * 1.04 / step).ceil() * step } else { 1.0 };
        let ticks = |from: f64, to: f64, step: f64| {
            let first = (from / step).ceil();
            let last = ((to - first * step) / step + 1e-6).floor().max(0.0) as u32;
            (0..=last).map(move |n| (first + f64::from(n)) * step)
        };
        let longest =
            ticks(0.0, top_value, step).map(|value| tick(value, step).chars().count()).max().unwrap_or(1);
        let axes = Self { width, left: 32.0 + longest as f64 * LETTER, x, top_value };
        let mut all = Markup::default();
        for value in ticks(0.0, top_value, step) {
            let y = axes.y(value);
            all.push(line(if value == 0.0 { "base" } else { "grid" }, axes.left, y, width - RIGHT, y));
            all.push(text("end", axes.left - 6.0, y + 4.0, &tick(value, step)));
        }
        let across = tick_step(x.1 - x.0);
        for value in ticks(x.0, x.1, across) {
            let sign = if value < 0.0 { "−" } else { "" };
            let label = format!("{sign}{}", tick(value.abs(), across));
            all.push(line("base", axes.at(value), BOTTOM, axes.at(value), BOTTOM + 4.0));
            all.push(text("middle", axes.at(value), BOTTOM + 17.0, &label));
        }
        all.push(titled_text("axis", (axes.left + width - RIGHT) / 2.0, HEIGHT - 6.0, titles[0]));
        all.push(axis_of_side((TOP + BOTTOM) / 2.0, titles[1]));
        (axes, all)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * value / self.top_value
    }

    fn at(&self, value: f64) -> f64 {
        self.left + (self.width - RIGHT - self.left) * (value - self.x.0) / (self.x.1 - self.x.0)
    }

    /// Draws a vertical line with a label at its head, `row` lines below the top.
    fn mark(&self, class: &str, value: f64, label: &str, row: f64) -> Markup {
        let x = self.at(value);
        let mut all = line(class, x, TOP, x, BOTTOM);
        let right = x + label.chars().count() as f64 * LETTER + 6.0 < self.width - RIGHT;
        let (anchor, shift) = if right { ("start", 4.0) } else { ("end", -4.0) };
        all.push(text(anchor, x + shift, TOP + 10.0 + row * 14.0, label));
        all
    }

    fn picture(&self, content: Markup, says: String) -> Picture {
        Picture { content, width: self.width, height: HEIGHT, says }
    }
}

fn figure(title: &str, note: &str, picture: Picture, alone: bool) -> Markup {
    let mut all = Markup::with_text("figcaption", &[], title);
    all.push(Markup::with_text("p", &[("class", "note")], note));
    all.push(picture.on_page(alone));
    Markup::element("figure", &[], all)
}

/// Draws a distribution with its mean, and with its 90th percentile if it has one to show.
fn histogram(f: &Frequency, axis: &str, unit: (&str, f64), p90: bool) -> Picture {
    let (unit, per_ms) = unit;
    let bin = f.bin_ms * per_ms;
    let (mean, tail) = (f.mean_ms * per_ms, f.p90_ms * per_ms);
    let greatest = f.percent.iter().copied().fold(0.0, f64::max);
    let end = bin * f.percent.len() as f64;
    let titles = [format!("{axis}, {unit}"), "share, %".to_owned()];
    let (axes, mut all) = Axes::draw(NARROW, (0.0, end), greatest, titles.each_ref().map(String::as_str));
    for (n, share) in f.percent.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let (left, right) = (axes.at(bin * n as f64), axes.at(bin * (n + 1) as f64));
        let y = axes.y(*share);
        all.push(rectangle(0, left, y, (right - left - 0.8).max(0.5), BOTTOM - y));
    }
    all.push(axes.mark("mark-line", mean, &format!("average {}", number(mean)), 0.0));
    if p90 {
        all.push(axes.mark("mark-line second", tail, &format!("90th percentile {}", number(tail)), 1.0));
    }
    let says = format!(
        "{axis}: average {} {unit}, 90th percentile {} {unit}, greatest {} {unit}",
        number(mean),
        number(tail),
        number(f.max_ms * per_ms)
    );
    axes.picture(all, says)
}

/// Draws the response times of each type (clause 5.6.1).
pub(super) fn response_times(r: &RunResult, run: &RunData) -> Markup {
    let figures = r.types_in_order().into_iter().zip(&run.types).filter_map(|((key, of), data)| {
        let f = data.frequency.as_ref()?;
        let thin = if P90.is_thin(of.completed()) { " Too few for a sure 90th percentile." } else { "" };
        let note = format!(
            "{} transactions: average {} ms, 90th percentile {} ms, greatest {} ms; {} % beyond the scale.{thin}",
            count(of.completed()),
            number(f.mean_ms),
            number(f.p90_ms),
            number(f.max_ms),
            percent(f.beyond_percent)
        );
        let picture = histogram(f, "response time", ("ms", 1.0), true);
        Some(figure(&format!("{} response times", type_name(key)), &note, picture, false))
    });
    Markup::element("div", &[("class", "multiples")], figures.collect())
}

/// Draws the think times of New-Order (clause 5.6.3).
pub(super) fn think_times(r: &RunResult, run: &RunData) -> Markup {
    let figures = r.types_in_order().into_iter().zip(&run.types).filter_map(|((key, _), data)| {
        let f = data.think.as_ref()?;
        let note = format!(
            "Average {} s, greatest {} s; {} % beyond the scale.",
            number(f.mean_ms / 1e3),
            number(f.max_ms / 1e3),
            percent(f.beyond_percent)
        );
        let picture = histogram(f, "think time", ("s", 1e-3), false);
        Some(figure(&format!("{} think times", type_name(key)), &note, picture, false))
    });
    Markup::element("div", &[("class", "multiples")], figures.collect())
}

/// Draws the throughput from the ramp-up to the end of the interval (clause 5.6.4).
pub(super) fn over_time(r: &RunResult) -> Markup {
    let seconds = || {
        let of = |series: &'_ crate::model::Series| {
            series.second.iter().copied().zip(series.new_order.iter().copied()).collect::<Vec<_>>()
        };
        // A short last second would show a dip that nobody measured.
        let mut window = of(&r.series);
        window.truncate(r.whole_seconds());
        of(&r.warmup_series).into_iter().chain(window).collect::<Vec<(i64, u64)>>()
    };
    let all_seconds = seconds();
    let (Some(first), Some(last)) = (all_seconds.first(), all_seconds.last()) else {
        return Markup::default();
    };
    let step = (all_seconds.len() / POINTS).clamp(1, POINT_MAX_S);
    let bucket = |second: &i64| second.div_euclid(step as i64);
    let points: Vec<(f64, f64)> = all_seconds
        .chunk_by(|a, b| bucket(&a.0) == bucket(&b.0))
        .filter_map(|points| {
            let start = points.first()?.0 as f64;
            let orders: u64 = points.iter().map(|(_, orders)| orders).sum();
            let length = points.len() as f64;
            Some((start + length / 2.0, orders as f64 * 60.0 / length))
        })
        .collect();
    let minutes = last.0 - first.0 > 600;
    let scale = if minutes { 60.0 } else { 1.0 };
    let axis = if minutes {
        "minutes from the start of the interval"
    } else {
        "seconds from the start of the interval"
    };
    let ends = (first.0 as f64 / scale, (last.0 + 1) as f64 / scale);
    let greatest = points.iter().map(|(_, nopm)| *nopm).fold(0.0, f64::max);
    let (axes, mut all) = Axes::draw(WIDE, ends, greatest, [axis, "new orders per minute"]);
    let path: Vec<String> = points
        .iter()
        .map(|(second, nopm)| format!("{:.1},{:.1}", axes.at(second / scale), axes.y(*nopm)))
        .collect();
    let place = [("class", "stroke line c1"), ("points", &path.join(" "))];
    all.push(Markup::element("polyline", &place, Markup::default()));
    let begun = checkpoints(r);
    for second in begun.iter().flatten() {
        let x = axes.at(*second as f64 / scale);
        all.push(line("mark-line second", x, TOP, x, BOTTOM));
    }
    if first.0 < 0 {
        all.push(axes.mark("mark-line", 0.0, "interval", 0.0));
    }
    let marks = match begun.as_deref() {
        None => "The database reported no checkpoints.",
        Some([]) => "No checkpoint began in the interval.",
        Some(_) => "Dotted lines mark the seconds in which a checkpoint began.",
    };
    let each = if step == 1 { "a second".to_owned() } else { format!("{step} s") };
    let note =
        format!("Each point stands for {each}. The ramp-up ends where the interval begins, at 0. {marks}");
    let says = format!("The interval has {} new orders per minute", nopm(r.nopm));
    figure("New orders per minute over time", &note, axes.picture(all, says), true)
}
