//! A panel of a sweep's figure as a picture (SVG): bars or lines, medians with whiskers from the least to the greatest.
//! It uses the page's colours, so that it is legible in light, in dark and on paper; lines also differ by their marks.

use super::markup::Markup;
use crate::figures::{count, number};
use crate::sweep::Spread;
use crate::sweep::figure::{Cell, Kind, Panel, Scale};

/// Width of a picture alone in its row, in units of the page's text; [`NARROW`] is that of one beside others.
pub(super) const WIDE: f64 = 760.0;
pub(super) const NARROW: f64 = 480.0;
pub(super) const HEIGHT: f64 = 310.0;
pub(super) const TOP: f64 = 22.0;
pub(super) const RIGHT: f64 = 14.0;
/// Approximate width of a letter in labels.
pub(super) const LETTER: f64 = 6.4;
const LINE: f64 = 14.0;
/// Number of the page's colours for series.
const COLOURS: usize = 8;
const LABEL_LINES: usize = 3;

/// Geometry of the picture.
struct Frame {
    width: f64,
    left: f64,
    bottom: f64,
    top_value: f64,
}

impl Frame {
    fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - TOP) * (value / self.top_value)
    }

    fn inner(&self) -> f64 {
        self.width - self.left - RIGHT
    }
}

/// Draws the panel, with the width of the page if `alone`.
pub(super) fn plot(panel: &Panel, kind: Kind, scale: Scale, x_title: &str, alone: bool) -> Picture {
    let width = if alone { WIDE } else { NARROW };
    let values = panel.series.iter().flat_map(|series| &series.cells).filter_map(|cell| cell.value);
    let greatest = values.map(|spread| spread.max).fold(0.0, f64::max);
    let step = tick_step(greatest);
    let top_value = if greatest > 0.0 { (greatest * 1.04 / step).ceil() * step } else { 1.0 };
    let ticks: Vec<(f64, String)> = (0..)
        .map(|n| f64::from(n) * step)
        .take_while(|value| *value <= top_value * 1.000_001)
        .map(|value| (value, tick(value, step)))
        .collect();
    let longest = ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1);
    let left = 26.0 + longest as f64 * LETTER + 6.0;
    let inner = width - left - RIGHT;
    let bars = matches!(kind, Kind::Bar | Kind::Boxplot);
    let labels: Vec<Vec<String>> = if bars || scale == Scale::Even {
        // Neighbours need a space between them.
        let letters = (inner / panel.x.len().max(1) as f64 / LETTER - 1.0).floor() as usize;
        panel.x.iter().map(|x| wrap(x, letters.max(4))).collect()
    } else {
        panel.x.iter().map(|x| vec![x.clone()]).collect()
    };
    let lines = labels.iter().map(Vec::len).max().unwrap_or(1).max(1);
    let height = HEIGHT + (lines - 1) as f64 * LINE;
    let bottom = height - 26.0 - lines as f64 * LINE;
    let frame = Frame { width, left, bottom, top_value };

    let mut all = Markup::default();
    for (value, label) in &ticks {
        let y = frame.y(*value);
        let class = if *value == 0.0 { "base" } else { "grid" };
        all.push(line(class, left, y, width - RIGHT, y));
        all.push(text("end", left - 6.0, y + 4.0, label));
    }
    let places = places(panel, bars, scale, &frame);
    let mut free_from = f64::MIN;
    for (x, label) in places.iter().zip(&labels) {
        // A label that would overlap the one before is left out; the table has it.
        let half = label.iter().map(|part| part.chars().count()).max().unwrap_or(0) as f64 * LETTER / 2.0;
        if !bars && x - half < free_from {
            continue;
        }
        free_from = x + half + 4.0;
        for (n, part) in label.iter().enumerate() {
            all.push(text("middle", *x, bottom + 17.0 + n as f64 * LINE, part));
        }
    }
    all.push(titled_text("axis", left + inner / 2.0, height - 6.0, x_title));
    let middle = (TOP + bottom) / 2.0;
    all.push(axis_of_side(middle, &panel.y_title));
    all.push(if bars { draw_bars(panel, kind, &frame, &places) } else { draw_lines(panel, &frame, &places) });
    Picture { content: all, width, height, says: spoken(panel) }
}

/// A drawn panel.
pub(super) struct Picture {
    pub(super) content: Markup,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Content of the picture in words.
    pub(super) says: String,
}

impl Picture {
    /// Returns it for the page, with the width of the page if `alone`.
    pub(super) fn on_page(self, alone: bool) -> Markup {
        let view = format!("0 0 {} {}", self.width, self.height);
        let place = [
            ("class", if alone { "plot alone" } else { "plot" }),
            ("viewBox", view.as_str()),
            ("role", "img"),
            ("aria-label", self.says.as_str()),
        ];
        Markup::element("svg", &place, self.content)
    }
}

/// Draws the names of the series with their colours, if there are several.
pub(super) fn legend(panel: &Panel, kind: Kind, title: &str) -> Markup {
    if panel.series.len() < 2 {
        return Markup::default();
    }
    let entries = panel.series.iter().enumerate().map(|(n, series)| {
        let (sample, width) = sample(kind, n);
        let width = width.to_string();
        let place = [("width", width.as_str()), ("height", "14"), ("aria-hidden", "true")];
        let mut entry = Markup::element("svg", &place, sample);
        entry.push(Markup::text(&series.name));
        Markup::element("li", &[], entry)
    });
    let title = Markup::with_text("li", &[("class", "title")], title);
    Markup::element("ul", &[("class", "legend")], std::iter::once(title).chain(entries).collect())
}

/// Draws a sample of a series for a legend, 14 high, and returns it with its width.
pub(super) fn sample(kind: Kind, n: usize) -> (Markup, f64) {
    if matches!(kind, Kind::Bar | Kind::Boxplot) {
        return (rectangle(n, 1.0, 2.0, 12.0, 10.0), 14.0);
    }
    let joined = kind != Kind::Scatter;
    let mut sample =
        if joined { line(&colour("stroke line", n), 0.0, 7.0, 22.0, 7.0) } else { Markup::default() };
    sample.push(mark(n, 11.0, 7.0));
    (sample, 22.0)
}

/// Returns the horizontal position of each value.
fn places(panel: &Panel, bars: bool, scale: Scale, frame: &Frame) -> Vec<f64> {
    let count = panel.x.len();
    let band = frame.inner() / count.max(1) as f64;
    let even = |n: usize| frame.left + band * (n as f64 + 0.5);
    let sized: Option<Vec<f64>> = match scale {
        Scale::Even => None,
        _ if bars => None,
        Scale::Linear => panel.x.iter().map(|x| x.parse().ok()).collect(),
        Scale::Log => panel.x.iter().map(|x| x.parse().ok().map(f64::log10)).collect(),
    };
    let Some(sized) = sized.filter(|sized| sized.iter().all(|x| x.is_finite())) else {
        return (0..count).map(even).collect();
    };
    let (low, high) = sized.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    if high <= low {
        return (0..count).map(even).collect();
    }
    // Room at both ends keeps marks off the axis.
    let room = 18.0;
    sized
        .into_iter()
        .map(|x| frame.left + room + (frame.inner() - 2.0 * room) * (x - low) / (high - low))
        .collect()
}

fn draw_bars(panel: &Panel, kind: Kind, frame: &Frame, places: &[f64]) -> Markup {
    let mut all = Markup::default();
    let series = panel.series.len().max(1) as f64;
    let band = frame.inner() / panel.x.len().max(1) as f64;
    let width = (band * 0.76 / series).min(64.0);
    // Numbers that would overlap are left to the table.
    let medians = panel.series.iter().flat_map(|series| &series.cells).filter_map(|cell| cell.value);
    let longest = medians.map(|value| number(value.median).chars().count()).max().unwrap_or(0);
    let room = if panel.series.len() == 1 { band } else { width };
    let numbered = longest as f64 * LETTER <= room;
    for (n, of) in panel.series.iter().enumerate() {
        for ((cell, place), x) in of.cells.iter().zip(places).zip(&panel.x) {
            let centre = place + (n as f64 - (series - 1.0) / 2.0) * width;
            let Some(value) = cell.value else {
                all.push(missing(centre, frame, cell, &of.name, x));
                continue;
            };
            let mut bar = Markup::with_text("title", &[], &tip(&of.name, x, cell, value));
            let (left, wide) = (centre - width * 0.46, width * 0.92);
            // A box covers the middle half of the nodes, a bar everything from 0 to its value.
            let [low, high] = cell
                .quartiles
                .map_or([frame.bottom, frame.y(value.median)], |both| both.map(|at| frame.y(at)));
            if kind == Kind::Boxplot {
                bar.push(whisker("whisker", centre, value, frame));
                bar.push(rectangle(n, left, high, wide, low - high));
                let median = frame.y(value.median);
                bar.push(line("median", left, median, left + wide, median));
            } else {
                bar.push(rectangle(n, left, high, wide, low - high));
                bar.push(whisker("whisker", centre, value, frame));
            }
            if numbered {
                bar.push(text("middle", centre, frame.y(value.max) - 5.0, &number(value.median)));
            }
            all.push(Markup::element("g", &[], bar));
        }
    }
    all
}

fn draw_lines(panel: &Panel, frame: &Frame, places: &[f64]) -> Markup {
    let mut all = Markup::default();
    // Whiskers of several series at the same place would hide each other.
    let apart = 3.0;
    let middle = (panel.series.len().max(1) - 1) as f64 / 2.0;
    for (n, series) in panel.series.iter().enumerate() {
        let shift = (n as f64 - middle) * apart;
        // A gap in the data is a gap in the line.
        for stretch in
            series.cells.iter().zip(places).collect::<Vec<_>>().split(|(cell, _)| cell.value.is_none())
        {
            let points: Vec<String> = stretch
                .iter()
                .filter_map(|(cell, x)| {
                    let y = frame.y(cell.value?.median);
                    Some(format!("{},{}", coordinate(**x + shift), coordinate(y)))
                })
                .collect();
            if points.len() > 1 {
                let path = [("class", colour("stroke line", n)), ("points", points.join(" "))];
                let path = path.each_ref().map(|(name, value)| (*name, value.as_str()));
                all.push(Markup::element("polyline", &path, Markup::default()));
            }
        }
        for ((cell, place), x) in series.cells.iter().zip(places).zip(&panel.x) {
            let centre = place + shift;
            let Some(value) = cell.value else {
                all.push(missing(centre, frame, cell, &series.name, x));
                continue;
            };
            let mut point = Markup::with_text("title", &[], &tip(&series.name, x, cell, value));
            // In the colour of its series, since the whiskers of several series stand close together.
            point.push(whisker(&colour("whisker", n), centre, value, frame));
            point.push(mark(n, centre, frame.y(value.median)));
            all.push(Markup::element("g", &[], point));
        }
    }
    all
}

/// Draws a cross in place of a missing number.
fn missing(x: f64, frame: &Frame, cell: &Cell, series: &str, value: &str) -> Markup {
    if cell.wanted == 0 {
        return Markup::default();
    }
    let words = [series, value, "no complete run"].into_iter().filter(|word| !word.is_empty());
    let mut all = Markup::with_text("title", &[], &words.collect::<Vec<_>>().join(", "));
    let y = frame.bottom - 8.0;
    all.push(line("missing", x - 4.0, y - 4.0, x + 4.0, y + 4.0));
    all.push(line("missing", x - 4.0, y + 4.0, x + 4.0, y - 4.0));
    Markup::element("g", &[], all)
}

fn whisker(class: &str, x: f64, value: Spread, frame: &Frame) -> Markup {
    if value.min >= value.max {
        return Markup::default();
    }
    let (low, high) = (frame.y(value.min), frame.y(value.max));
    let mut all = line(class, x, low, x, high);
    all.push(line(class, x - 4.0, low, x + 4.0, low));
    all.push(line(class, x - 4.0, high, x + 4.0, high));
    all
}

/// Draws the mark of a series; shapes differ for readers who do not see the colours.
pub(super) fn mark(n: usize, x: f64, y: f64) -> Markup {
    let class = colour("mark", n);
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> =
            points.iter().map(|(dx, dy)| format!("{},{}", coordinate(x + dx), coordinate(y + dy))).collect();
        Markup::element("polygon", &[("class", &class), ("points", &points.join(" "))], Markup::default())
    };
    match n % 4 {
        0 => Markup::element(
            "circle",
            &[("class", &class), ("cx", &coordinate(x)), ("cy", &coordinate(y)), ("r", "4")],
            Markup::default(),
        ),
        1 => polygon(&[(-3.7, -3.7), (3.7, -3.7), (3.7, 3.7), (-3.7, 3.7)]),
        2 => polygon(&[(0.0, -5.0), (4.8, 3.6), (-4.8, 3.6)]),
        _ => polygon(&[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
    }
}

pub(super) fn colour(class: &str, n: usize) -> String {
    format!("{class} c{}", n % COLOURS + 1)
}

pub(super) fn rectangle(n: usize, x: f64, y: f64, width: f64, height: f64) -> Markup {
    let place = [x, y, width, height.max(0.0)].map(coordinate);
    let [x, y, width, height] = place.each_ref().map(String::as_str);
    Markup::element(
        "rect",
        &[("class", &colour("fill", n)), ("x", x), ("y", y), ("width", width), ("height", height)],
        Markup::default(),
    )
}

pub(super) fn line(class: &str, x1: f64, y1: f64, x2: f64, y2: f64) -> Markup {
    let place = [x1, y1, x2, y2].map(coordinate);
    let [x1, y1, x2, y2] = place.each_ref().map(String::as_str);
    Markup::element(
        "line",
        &[("class", class), ("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)],
        Markup::default(),
    )
}

pub(super) fn text(anchor: &str, x: f64, y: f64, words: &str) -> Markup {
    Markup::with_text("text", &[("text-anchor", anchor), ("x", &coordinate(x)), ("y", &coordinate(y))], words)
}

pub(super) fn titled_text(class: &str, x: f64, y: f64, words: &str) -> Markup {
    let place = [("class", class), ("text-anchor", "middle"), ("x", &coordinate(x)), ("y", &coordinate(y))];
    Markup::with_text("text", &place, words)
}

/// Draws the title of the vertical axis, around this height.
pub(super) fn axis_of_side(middle: f64, title: &str) -> Markup {
    let turned = format!("rotate(-90 12 {middle:.1})");
    Markup::element(
        "text",
        &[
            ("class", "axis"),
            ("x", "12"),
            ("y", &coordinate(middle)),
            ("text-anchor", "middle"),
            ("transform", &turned),
        ],
        Markup::text(title),
    )
}

fn coordinate(value: f64) -> String {
    format!("{value:.1}")
}

/// Returns the distance of grid lines: 1, 2 or 5 times a power of ten, for about five lines.
pub(super) fn tick_step(greatest: f64) -> f64 {
    if greatest <= 0.0 {
        return 1.0;
    }
    let rough = greatest / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let times =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| rough <= times * power * 1.000_001).unwrap_or(10.0);
    times * power
}

/// Returns the label of a value on the axis, with the digits that distinguish it from its neighbours.
pub(super) fn tick(value: f64, step: f64) -> String {
    if step >= 1.0 || value == 0.0 {
        return count(value.round() as u64);
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

/// Returns the tooltip of a mark.
fn tip(series: &str, x: &str, cell: &Cell, value: Spread) -> String {
    let name: Vec<&str> = [series, x].into_iter().filter(|part| !part.is_empty()).collect();
    let spread = if let Some([q1, q3]) = cell.quartiles {
        let [min, q1, q3, max] = [value.min, q1, q3, value.max].map(number);
        format!(" (nodes from {min} to {max}, the middle half from {q1} to {q3})")
    } else if value.runs > 1 {
        format!(" ({} to {}, {} runs)", number(value.min), number(value.max), value.runs)
    } else {
        String::new()
    };
    format!("{}: {}{spread}", name.join(", "), number(value.median))
}

/// Returns the panel in words, for screen readers.
fn spoken(panel: &Panel) -> String {
    let tips: Vec<String> = panel
        .series
        .iter()
        .flat_map(|series| {
            panel
                .x
                .iter()
                .zip(&series.cells)
                .filter_map(|(x, cell)| Some(tip(&series.name, x, cell, cell.value?)))
        })
        .collect();
    let title = if panel.title.is_empty() { String::new() } else { format!("{}, ", panel.title) };
    format!("{title}{}. {}", panel.y_title, tips.join("; "))
}

/// Breaks a label into lines of about `letters`, at blanks and after hyphens.
fn wrap(label: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in label.split_inclusive([' ', '-', '_', '/']) {
        let last = lines.len() - 1;
        let long = lines[last].chars().count() + word.trim_end().chars().count() > letters;
        if long && !lines[last].is_empty() && lines.len() < LABEL_LINES {
            lines.push(word.to_owned());
        } else {
            lines[last].push_str(word);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_at_round_numbers() {
        for (greatest, step) in [(17_744.0, 5_000.0), (1.0, 0.2), (0.31, 0.1), (5.0, 1.0), (0.0, 1.0)] {
            assert!((tick_step(greatest) - step).abs() < 1e-9, "{greatest}: {}", tick_step(greatest));
        }
        assert_eq!(tick(15_000.0, 5_000.0), "15,000");
        assert_eq!(tick(0.6, 0.2), "0.6");
        assert_eq!(tick(0.05, 0.05), "0.05");
    }

    #[test]
    fn labels_break_where_words_end() {
        assert_eq!(wrap("optimize-new-order", 10), ["optimize-", "new-order"]);
        assert_eq!(wrap("short", 10), ["short"]);
        assert_eq!(wrap("averyveryverylongword", 5), ["averyveryverylongword"]);
    }
}
