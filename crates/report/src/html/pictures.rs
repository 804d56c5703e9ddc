//! The figures of a sweep as files of their own (SVG), for papers, books and slides.

use super::markup::Markup;
use super::plot::{LETTER, NARROW, Picture, WIDE, sample};
use super::sweep::pictures;
use crate::sweep::Sweep;
use crate::sweep::figure::{Figure, Kind, axis_title};

/// Colours and strokes. The page's style has variables, which few programs beside browsers know.
const STYLE: &str = include_str!("picture.css");

/// Height of a title, of a row of the legend, and of the title of a panel.
const TITLE: f64 = 30.0;
const ROW: f64 = 20.0;
const PANEL_TITLE: f64 = 22.0;
/// Free space at the sides, and between two entries of a legend.
const MARGIN: f64 = 16.0;

/// Draws each figure of the sweep that has a picture, with its number from 1.
#[must_use]
pub fn render_pictures(sweep: &Sweep) -> Vec<(usize, String)> {
    let drawn = (1..).zip(&sweep.figures).filter(|(_, figure)| figure.spec.kind != Kind::Table);
    drawn.filter_map(|(number, figure)| Some((number, drawing(figure)?))).collect()
}

/// Draws a figure with its title and legend; none without panels. Panels stand in two columns.
fn drawing(figure: &Figure) -> Option<String> {
    let panels = pictures(figure);
    let columns = panels.len().min(2);
    let width = if columns < 2 { WIDE } else { 2.0 * NARROW };
    let says = panels.first()?.1.says.clone();
    let mut all = Markup::with_text("style", &[], STYLE);
    all.push(Markup::element(
        "rect",
        &[("width", "100%"), ("height", "100%"), ("fill", "#fff")],
        Markup::default(),
    ));
    all.push(words("title", width / 2.0, 20.0, &figure.spec.title));
    let (legend, mut y) = legend(figure, width);
    all.push(legend);
    for row in panels.chunks(columns) {
        let titled = row.iter().any(|(title, _)| !title.is_empty());
        let top = y + if titled { PANEL_TITLE } else { 0.0 };
        for (column, (title, picture)) in row.iter().enumerate() {
            let left = column as f64 * NARROW;
            all.push(words("panel", left + picture.width / 2.0, top - 6.0, title));
            all.push(placed(picture, left, top));
        }
        y = top + row.iter().map(|(_, picture)| picture.height).fold(0.0, f64::max);
    }
    let view = format!("0 0 {width} {}", y + MARGIN / 2.0);
    let place = [
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("viewBox", view.as_str()),
        ("role", "img"),
        ("aria-label", says.as_str()),
    ];
    Some(Markup::element("svg", &place, all).into_html() + "\n")
}

fn words(class: &str, x: f64, y: f64, text: &str) -> Markup {
    let place = [("class", class), ("x", &x.to_string()), ("y", &y.to_string()), ("text-anchor", "middle")];
    Markup::with_text("text", &place, text)
}

fn placed(picture: &Picture, x: f64, y: f64) -> Markup {
    at(x, y, picture.content.clone())
}

fn at(x: f64, y: f64, content: Markup) -> Markup {
    Markup::element("g", &[("transform", &format!("translate({x} {y})"))], content)
}

/// Draws the names of the series, if there are several. Returns it with its lower end.
fn legend(figure: &Figure, width: f64) -> (Markup, f64) {
    let mut all = Markup::default();
    let Some(panel) = figure.panels.first().filter(|panel| panel.series.len() > 1) else {
        return (all, TITLE);
    };
    let (mut x, mut y) = (MARGIN, TITLE);
    let mut next = |length: f64| {
        if x + length > width - MARGIN && x > MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        let place = (x, y);
        x += length + MARGIN;
        place
    };
    let title = figure.spec.series.as_deref().map(axis_title).unwrap_or_default();
    let long = |text: &str| text.chars().count() as f64 * LETTER;
    let (left, top) = next(long(&title));
    let place = [("class", "axis"), ("x", &left.to_string()), ("y", &(top + 12.0).to_string())];
    all.push(Markup::with_text("text", &place, &title));
    for (n, series) in panel.series.iter().enumerate() {
        let (drawn, wide) = sample(figure.spec.kind, n);
        let (left, top) = next(wide + 6.0 + long(&series.name));
        all.push(at(left, top, drawn));
        let place = [("x", &(left + wide + 6.0).to_string()), ("y", &(top + 12.0).to_string())];
        let place = place.map(|(key, value)| (key, value.as_str()));
        all.push(Markup::with_text("text", &place, &series.name));
    }
    (all, y + ROW)
}
