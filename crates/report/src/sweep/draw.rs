//! Drawing of figures: the points of a sweep at their places, with their numbers and the verdict on the claim.

use std::collections::BTreeMap;

use super::figure::{Cell, Figure, FigureSpec, Kind, POSITION, Panel, Series};
use super::points::{Axis, Point, Run, Spread, State};
use crate::metrics::FiveNumbers;

impl FigureSpec {
    /// Returns the figure over these points.
    #[must_use]
    pub fn draw(&self, axes: &[Axis], points: &[Point]) -> Figure {
        let values = |name: &str| -> Vec<String> {
            let all = axes.iter().find(|axis| axis.name == name).map_or(&[][..], |axis| &axis.values);
            all.iter()
                .filter(|value| self.only.get(name).is_none_or(|only| only.contains(value)))
                .cloned()
                .collect()
        };
        let over = |name: &Option<String>| match name {
            Some(name) => values(name),
            None => vec![String::new()],
        };
        let mut panels = Vec::new();
        for (metric, y_title) in self.y.iter().zip(&self.y_titles) {
            for title in over(&self.panel) {
                if self.is_over_list(axes) {
                    let names = over(&self.series);
                    let (x, series) = self.over_list(axes, points, metric, &title, names);
                    panels.push(Panel { title, metric: metric.clone(), y_title: y_title.clone(), x, series });
                    continue;
                }
                let x = values(&self.x);
                let series = over(&self.series)
                    .into_iter()
                    .map(|name| {
                        let cell = |x: &String| {
                            let at = [
                                (Some(&self.x), x),
                                (self.series.as_ref(), &name),
                                (self.panel.as_ref(), &title),
                            ];
                            let at = at
                                .into_iter()
                                .filter_map(|(axis, value)| Some((axis?.as_str(), value.as_str())));
                            self.cell(axes, points, metric, &at.collect())
                        };
                        Series { cells: x.iter().map(cell).collect(), name }
                    })
                    .collect();
                panels.push(Panel { title, metric: metric.clone(), y_title: y_title.clone(), x, series });
            }
        }
        let mut figure = Figure { spec: self.clone(), panels, verdict: None };
        figure.verdict = figure.judge(axes);
        figure
    }

    /// Returns the seconds or places, as many as the longest run has, and a line for each series.
    fn over_list(
        &self,
        axes: &[Axis],
        points: &[Point],
        metric: &str,
        panel: &str,
        names: Vec<String>,
    ) -> (Vec<String>, Vec<Series>) {
        let point = |name: &str| {
            let at = [(self.series.as_deref(), name), (self.panel.as_deref(), panel)];
            let at = at.into_iter().filter_map(|(axis, value)| Some((axis?, value))).collect();
            self.find(axes, points, &at, None)
        };
        let lines: Vec<(String, Option<&Point>)> =
            names.into_iter().map(|name| (name.clone(), point(&name))).collect();
        let lists = lines.iter().filter_map(|(_, point)| Some(&point.as_ref()?.runs)).flatten();
        let count = lists.filter_map(|run| Some(run.counted_seconds(metric)?.len())).max().unwrap_or(0);
        let cells = |point: &Point| -> Vec<Cell> {
            (0..count).map(|second| Cell::of_second(point, metric, second)).collect()
        };
        let series = lines.into_iter().map(|(name, point)| Series {
            name,
            cells: point.map_or_else(|| vec![Cell::default(); count], cells),
        });
        // Seconds are counted from 0, all other places from 1.
        let first = usize::from(self.x == POSITION);
        ((first..first + count).map(|place| place.to_string()).collect(), series.collect())
    }

    /// Returns the point at these values of the axes; `changed` replaces the value of one of them.
    fn find<'a>(
        &self,
        axes: &[Axis],
        points: &'a [Point],
        at: &BTreeMap<&str, &str>,
        changed: Option<(&str, &str)>,
    ) -> Option<&'a Point> {
        points.iter().find(|point| {
            axes.iter().zip(&point.at).all(|(axis, value)| {
                let name = axis.name.as_str();
                if let Some((_, wanted)) = changed.filter(|(changed, _)| *changed == name) {
                    return value == wanted;
                }
                match at.get(name) {
                    Some(wanted) => value == wanted,
                    None => self.only.get(name).is_none_or(|only| only.contains(value)),
                }
            })
        })
    }

    fn cell(&self, axes: &[Axis], points: &[Point], metric: &str, at: &BTreeMap<&str, &str>) -> Cell {
        let find = |changed: Option<(&str, &str)>| self.find(axes, points, at, changed);
        let Some(point) = find(None) else { return Cell::default() };
        let runs = point.runs.iter();
        let (boxed, quartiles) =
            if self.kind == Kind::Boxplot { boxed(point, metric).unzip() } else { (None, None) };
        let values: Vec<(u32, f64)> = match &self.relative_to {
            None => runs.filter_map(|run| Some((run.repetition, run.counted(metric)?))).collect(),
            Some((axis, value)) => {
                let base = find(Some((axis, value)));
                // Repetition by repetition: runs of the same repetition were made close to each other.
                runs.filter_map(|run| {
                    let base = base?.runs.iter().find(|base| base.repetition == run.repetition)?;
                    let ratio = run.counted(metric)? / base.counted(metric)?;
                    ratio.is_finite().then_some((run.repetition, ratio))
                })
                .collect()
            }
        };
        let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        Cell {
            value: if self.kind == Kind::Boxplot { boxed } else { Spread::of(&numbers) },
            quartiles,
            values,
            ..Cell::without_number(point)
        }
    }
}

impl Cell {
    /// Returns the cell of a point, with the states of its runs and no number.
    fn without_number(point: &Point) -> Self {
        let unchecked = |run: &&Run| run.state == State::Complete && run.checks_failed > 0;
        Self {
            value: None,
            quartiles: None,
            wanted: point.runs.len() as u32,
            partial: point.runs_in(State::Partial) as u32,
            unchecked: point.runs.iter().filter(unchecked).count() as u32,
            values: Vec::new(),
        }
    }

    /// Returns the cell of a second of a point's runs. A complete run may lack a number there, because it ended before
    /// or had nothing to measure.
    fn of_second(point: &Point, metric: &str, second: usize) -> Self {
        let of_point = Self::without_number(point);
        let lists: Vec<&[Option<f64>]> =
            point.runs.iter().filter_map(|run| run.counted_seconds(metric)).collect();
        let values: Vec<f64> = lists.iter().filter_map(|list| *list.get(second)?).collect();
        let without = (lists.len() - values.len()) as u32;
        // The states of the runs are counted once, not in each second.
        let of_runs = |number: u32| if second == 0 { number } else { 0 };
        Self {
            value: Spread::of(&values),
            wanted: of_point.wanted.saturating_sub(without),
            partial: of_runs(of_point.partial),
            unchecked: of_runs(of_point.unchecked),
            ..of_point
        }
    }
}

/// Returns a box over the nodes: each of its five numbers is the median over the complete runs.
fn boxed(point: &Point, metric: &str) -> Option<(Spread, [f64; 2])> {
    let number = |name: &str| {
        let name = format!("{metric}.{name}");
        Spread::of(&point.runs.iter().filter_map(|run| run.counted(&name)).collect::<Vec<_>>())
    };
    let [min, q1, median, q3, max] = FiveNumbers::NAMES.map(number);
    let (median, runs) = (median?.median, median?.runs);
    Some((Spread { min: min?.median, median, max: max?.median, runs }, [q1?.median, q3?.median]))
}
