//! Curves: numbers that change within a phase. They stand in the text of a value, `ramp(100,500)` for `rate` or
//! `hotspot(0.1, ramp(0.2,0.9))` for `homes`, and are replaced by their number at a moment before the value is read. So
//! whatever can be controlled can follow a curve.

use crate::values::time;
use std::time::Duration;

/// A number over the time of a phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Curve {
    /// From the one to the other, evenly.
    Ramp(f64, f64),
    /// One after the other, for equal times.
    Step(Vec<f64>),
    /// Around a mean, with an amplitude and a period in seconds; it begins at the mean and rises.
    Sine { mean: f64, amplitude: f64, period: f64 },
    /// The normal distribution's bell: at its peak at a time, with a deviation, both in seconds, above a base.
    Gaussian { mean: f64, deviation: f64, peak: f64, base: f64 },
}

/// What is said of a curve that is none.
const KNOWN: &str = "use ramp(FROM,TO), step(A,B,...), sine(MEAN,AMPLITUDE,PERIOD) or gaussian(MEAN,DEVIATION,PEAK[,BASE]), \
                     with times as 10s";

/// The names of curves.
const NAMES: [&str; 4] = ["ramp", "step", "sine", "gaussian"];

impl Curve {
    fn read(name: &str, arguments: &str) -> Result<Self, String> {
        let wrong = || format!("has {name}({arguments}), which is no curve: {KNOWN}");
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        let number =
            |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong);
        let seconds = |text: &str| match time(text) {
            Ok(time) => Ok(time.as_secs_f64()),
            Err(problem) => Err(format!("has {name}(…) with a time that {problem}")),
        };
        let more_than_zero = |seconds: f64, what: &str| {
            if seconds > 0.0 {
                Ok(seconds)
            } else {
                Err(format!("has {name}(…) whose {what} must be more than zero"))
            }
        };
        match (name, &arguments[..]) {
            ("ramp", &[from, to]) => Ok(Self::Ramp(number(from)?, number(to)?)),
            ("step", values) => {
                Ok(Self::Step(values.iter().map(|text| number(text)).collect::<Result<_, _>>()?))
            }
            ("sine", &[mean, amplitude, period]) => Ok(Self::Sine {
                mean: number(mean)?,
                amplitude: number(amplitude)?,
                period: more_than_zero(seconds(period)?, "period")?,
            }),
            ("gaussian", &[mean, deviation, peak, ref base @ ..]) if base.len() < 2 => Ok(Self::Gaussian {
                mean: seconds(mean)?,
                deviation: more_than_zero(seconds(deviation)?, "deviation")?,
                peak: number(peak)?,
                base: base.first().map_or(Ok(0.0), |base| number(base))?,
            }),
            _ => Err(wrong()),
        }
    }

    /// The number at a time, in seconds since a phase of so many seconds began.
    pub(crate) fn at(&self, time: f64, lasts: f64) -> f64 {
        match self {
            Self::Ramp(from, to) => from + (to - from) * time / lasts,
            Self::Step(values) => {
                let number = (time / lasts * values.len() as f64) as usize;
                values[number.min(values.len() - 1)]
            }
            Self::Sine { mean, amplitude, period } => {
                mean + amplitude * (std::f64::consts::TAU * time / period).sin()
            }
            Self::Gaussian { mean, deviation, peak, base } => {
                base + (peak - base) * (-0.5 * ((time - mean) / deviation).powi(2)).exp()
            }
        }
    }
}

/// A text with curves in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    /// What stands before each curve, and the curve.
    pieces: Vec<(String, Curve)>,
    rest: String,
}

impl Template {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, name)) = first_curve(rest) {
            let inner = &rest[at + name.len() + 1..];
            let (arguments, after) = inner
                .split_once(')')
                .ok_or_else(|| format!("has {name}( without its closing bracket: {KNOWN}"))?;
            pieces.push((rest[..at].to_owned(), Curve::read(name, arguments)?));
            rest = after;
        }
        Ok(Self { pieces, rest: rest.to_owned() })
    }

    /// Whether it has curves.
    pub(crate) fn moves(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Whether one of its curves changes all the time, and not by jumps alone.
    pub(crate) fn flows(&self) -> bool {
        self.pieces.iter().any(|(_, curve)| !matches!(curve, Curve::Step(_)))
    }

    /// Where its curves jump, in parts of the phase.
    pub(crate) fn jumps(&self) -> Vec<f64> {
        let of = |curve: &Curve| match curve {
            Curve::Step(values) => (1..values.len()).map(|at| at as f64 / values.len() as f64).collect(),
            Curve::Ramp(..) | Curve::Sine { .. } | Curve::Gaussian { .. } => Vec::new(),
        };
        self.pieces.iter().flat_map(|(_, curve)| of(curve)).collect()
    }

    /// What is wrong if a curve is looked at this often only.
    pub(crate) fn too_fine(&self, step: Duration) -> Option<String> {
        let step = step.as_secs_f64();
        self.pieces.iter().find_map(|(_, curve)| match curve {
            Curve::Sine { period, .. } if *period < 4.0 * step => {
                Some(format!("has a sine with a period of {period} s, and a curve is looked at every {step} s: take four times that at least"))
            }
            Curve::Gaussian { deviation, .. } if *deviation < step => {
                Some(format!("has a gaussian with a deviation of {deviation} s, and a curve is looked at every {step} s: take that at least"))
            }
            Curve::Ramp(..) | Curve::Step(_) | Curve::Sine { .. } | Curve::Gaussian { .. } => None,
        })
    }

    /// The text at a time, in seconds since a phase of so many seconds began. `whole`: with whole numbers.
    pub(crate) fn at(&self, time: f64, lasts: f64, whole: bool) -> String {
        let mut text = String::new();
        for (before, curve) in &self.pieces {
            let value = curve.at(time, lasts);
            text.push_str(before);
            // A millionth is finer than anything that can be controlled.
            let value = if whole { value.round() } else { (value * 1e6).round() / 1e6 };
            // Nothing is less than nothing by rounding alone.
            text.push_str(&(value + 0.0).to_string());
        }
        text + &self.rest
    }
}

/// Where the first curve of a text begins, and its name.
fn first_curve(text: &str) -> Option<(usize, &'static str)> {
    NAMES.into_iter().filter_map(|name| Some((text.find(&format!("{name}("))?, name))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, times: &[f64], whole: bool) -> Vec<String> {
        match Template::read(text) {
            Ok(template) => times.iter().map(|&time| template.at(time, 10.0, whole)).collect(),
            Err(problem) => vec![problem],
        }
    }

    #[test]
    fn each_curve_has_its_known_values() {
        assert_eq!(at("ramp(10,20)", &[0.0, 2.5, 10.0], false), ["10", "12.5", "20"]);
        assert_eq!(at("step(1,5,9)", &[0.0, 3.4, 6.7, 10.0], false), ["1", "5", "9", "9"]);
        assert_eq!(at("sine(100,50,8s)", &[0.0, 2.0, 4.0, 6.0], false), ["100", "150", "100", "50"]);
        assert_eq!(at("gaussian(5s,1s,200)", &[5.0, 6.0], false), ["200", "121.306132"]);
        assert_eq!(at("gaussian(5s,1s,200,100)", &[5.0, 0.0], true), ["200", "100"]);
    }

    #[test]
    fn what_is_no_curve_stays_as_it_stands() {
        assert_eq!(at("hotspot(0.1, ramp(0.2,0.8))", &[5.0], false), ["hotspot(0.1, 0.5)"]);
        assert_eq!(at("ramp(45,40),43,4,4,ramp(4,9)", &[5.0], false), ["42.5,43,4,4,6.5"]);
        assert_eq!(at("ramp(1,4)", &[4.0], true), ["2"]);
        assert!(Template::read("zipf(0.99)").is_ok_and(|template| !template.moves()));
    }

    #[test]
    fn what_is_wrong_with_a_curve_is_told() {
        for text in
            ["ramp(1)", "ramp(1,x)", "ramp(1,2", "sine(1,2,0s)", "gaussian(1s,2s)", "step()", "sine(1,2,3,4)"]
        {
            assert!(Template::read(text).is_err(), "{text}");
        }
    }
}
