//! Curves: numbers that change within a phase. A curve stands in the text of a value, as `ramp(100,500)` for `rate` or
//! `hotspot(0.1, ramp(0.2,0.9))` for `homes`. Each step of the run replaces it by its number before the value is read,
//! so every key of a phase can follow a curve.

use crate::problem::Problem;
use crate::values::time;
use std::time::Duration;

/// A number as a function of the time in a phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Curve {
    /// A straight line from the first number to the second.
    Ramp(f64, f64),
    /// Numbers one after the other, each for an equal time.
    Step(Vec<f64>),
    /// A sine around `mean` that begins at the mean and rises; `period` in seconds.
    Sine { mean: f64, amplitude: f64, period: f64 },
    /// A bell curve from `base` to `peak`, with the peak at `mean`; `mean` and `deviation` in seconds.
    Gaussian { mean: f64, deviation: f64, peak: f64, base: f64 },
}

/// The known curves, for messages about others.
const KNOWN: &str = "use ramp(FROM,TO), step(A,B,...), sine(MEAN,AMPLITUDE,PERIOD) or \
                     gaussian(MEAN,DEVIATION,PEAK[,BASE]), with times as 10s";

/// The names of curves.
const NAMES: [&str; 4] = ["ramp", "step", "sine", "gaussian"];

/// Names that other programs have for curves, each with its own one and an example.
const OTHER_NAMES: [(&str, &str, &str); 15] = [
    ("linear", "ramp", RAMP),
    ("line", "ramp", RAMP),
    ("lin", "ramp", RAMP),
    ("slope", "ramp", RAMP),
    ("rampup", "ramp", RAMP),
    ("ramp_up", "ramp", RAMP),
    ("steps", "step", "step(100,200,400)"),
    ("stairs", "step", "step(100,200,400)"),
    ("stages", "step", "step(100,200,400)"),
    ("sin", "sine", "sine(100,50,10s)"),
    ("sinus", "sine", "sine(100,50,10s)"),
    ("wave", "sine", "sine(100,50,10s)"),
    ("gauss", "gaussian", "gaussian(15s,5s,200)"),
    ("bell", "gaussian", "gaussian(15s,5s,200)"),
    ("normal", "gaussian", "gaussian(15s,5s,200)"),
];
const RAMP: &str = "ramp(100,200)";

impl Curve {
    /// Reads a curve from its name and the text between its brackets.
    fn read(name: &str, arguments: &str) -> Result<Self, Problem> {
        let wrong = || {
            let form =
                if name == "ramp" { "use ramp(FROM,TO) with two numbers, as ramp(100,200)" } else { KNOWN };
            Problem::from(format!("has {name}({arguments}), which is no curve: {form}"))
        };
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        let number =
            |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong);
        let seconds = |text: &str| match time(text) {
            Ok(time) => Ok(time.as_secs_f64()),
            Err(problem) => Err(Problem::from(format!("has {name}(…) with a time that {problem}"))),
        };
        let more_than_zero = |seconds: f64, what: &str| {
            if seconds > 0.0 {
                Ok(seconds)
            } else {
                Err(Problem::from(format!("has {name}(…) whose {what} must be more than zero")))
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

    /// Returns the number `time` seconds after the beginning of a phase that lasts `lasts` seconds.
    fn at(&self, time: f64, lasts: f64) -> f64 {
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
    /// Each curve with the text before it.
    pieces: Vec<(String, Curve)>,
    /// The text after the last curve.
    rest: String,
}

impl Template {
    /// Finds the curves in a text.
    ///
    /// # Errors
    /// The arguments of a curve are wrong, or its closing bracket is missing.
    pub(crate) fn read(text: &str) -> Result<Self, Problem> {
        if let Some(problem) = other_name(text) {
            return Err(problem);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, name)) = first_curve(rest) {
            let inner = &rest[at + name.len() + 1..];
            let (arguments, after) = inner
                .split_once(')')
                .ok_or_else(|| Problem::from(format!("has {name}( without its closing bracket: {KNOWN}")))?;
            pieces.push((rest[..at].to_owned(), Curve::read(name, arguments)?));
            rest = after;
        }
        Ok(Self { pieces, rest: rest.to_owned() })
    }

    /// Returns true if the text has curves.
    pub(crate) fn moves(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Returns true if one of the curves changes continuously, and not by jumps alone.
    pub(crate) fn flows(&self) -> bool {
        self.pieces.iter().any(|(_, curve)| !matches!(curve, Curve::Step(_)))
    }

    /// Returns the times when the curves jump, as fractions of the phase.
    pub(crate) fn jumps(&self) -> Vec<f64> {
        let of = |curve: &Curve| match curve {
            Curve::Step(values) => (1..values.len()).map(|at| at as f64 / values.len() as f64).collect(),
            Curve::Ramp(..) | Curve::Sine { .. } | Curve::Gaussian { .. } => Vec::new(),
        };
        self.pieces.iter().flat_map(|(_, curve)| of(curve)).collect()
    }

    /// Returns the problem of a curve that changes too fast for steps of this length, if there is one.
    pub(crate) fn too_fine(&self, step: Duration) -> Option<String> {
        let step = step.as_secs_f64();
        let problem = |name: &str, width: &str, found: f64, least: f64| {
            let problem =
                format!("has a {name} with a {width} of {found} s, but the value changes every {step} s");
            (found < least).then(|| format!("{problem}: use a {width} of at least {least} s"))
        };
        self.pieces.iter().find_map(|(_, curve)| match curve {
            Curve::Sine { period, .. } => problem("sine", "period", *period, 4.0 * step),
            Curve::Gaussian { deviation, .. } => problem("gaussian", "deviation", *deviation, step),
            Curve::Ramp(..) | Curve::Step(_) => None,
        })
    }

    /// Returns the text `time` seconds after the beginning of a phase that lasts `lasts` seconds. `whole` rounds the
    /// numbers of the curves to whole ones.
    pub(crate) fn at(&self, time: f64, lasts: f64, whole: bool) -> String {
        let mut text = String::new();
        for (before, curve) in &self.pieces {
            let value = curve.at(time, lasts);
            text.push_str(before);
            // A millionth is finer than any control.
            let value = if whole { value.round() } else { (value * 1e6).round() / 1e6 };
            // Adding 0 turns -0, which rounding may give, into 0.
            text.push_str(&(value + 0.0).to_string());
        }
        text + &self.rest
    }
}

/// Returns the problem of a name before a bracket that is nearly the name of a curve: another program's, or one with
/// capital letters or a space.
fn other_name(text: &str) -> Option<Problem> {
    text.match_indices('(').find_map(|(at, _)| {
        let before = text[..at].trim_end();
        let given = before.rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()?;
        let begin = before.len() - given.len();
        let name = given.to_ascii_lowercase();
        let arguments = text[at..].split_inclusive(')').next().unwrap_or_default();
        if NAMES.contains(&name.as_str()) {
            let is_written_well = name == given && before.len() == at;
            let rest = &text[begin..];
            return (!is_written_well)
                .then(|| format!("has {rest}, which is no curve: write {name}{arguments}").into());
        }
        let (other, own, example) = OTHER_NAMES.iter().find(|(other, ..)| *other == name)?;
        Some(format!("has {other}{arguments}, which is no curve: write {own}, as {example}").into())
    })
}

/// Returns the position and the name of the first curve in a text.
fn first_curve(text: &str) -> Option<(usize, &'static str)> {
    NAMES.into_iter().filter_map(|name| Some((text.find(&format!("{name}("))?, name))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, times: &[f64], whole: bool) -> Vec<String> {
        match Template::read(text) {
            Ok(template) => times.iter().map(|&time| template.at(time, 10.0, whole)).collect(),
            Err(problem) => vec![problem.to_string()],
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
    fn text_around_curves_stays_the_same() {
        assert_eq!(at("hotspot(0.1, ramp(0.2,0.8))", &[5.0], false), ["hotspot(0.1, 0.5)"]);
        assert_eq!(at("ramp(45,40),43,4,4,ramp(4,9)", &[5.0], false), ["42.5,43,4,4,6.5"]);
        assert_eq!(at("ramp(1,4)", &[4.0], true), ["2"]);
        assert!(Template::read("zipf(0.99)").is_ok_and(|template| !template.moves()));
    }

    #[test]
    fn wrong_curves_are_rejected_with_a_reason() {
        for (text, said) in [
            ("ramp(1)", "has ramp(1), which is no curve: use ramp(FROM,TO)"),
            ("ramp(1,x)", "has ramp(1,x), which is no curve"),
            ("ramp(1,2", "has ramp( without its closing bracket"),
            ("sine(1,2,0s)", "has sine(…) whose period must be more than zero"),
            ("sine(1,2,x)", "has sine(…) with a time that must be a time such as 30s"),
            ("gaussian(1s,2s)", "which is no curve"),
            ("step()", "which is no curve"),
            ("sine(1,2,3,4)", "which is no curve"),
            ("linear(100,200)", "has linear(100,200), which is no curve: write ramp, as ramp(100,200)"),
            ("Linear(100, 200)", "write ramp, as ramp(100,200)"),
            ("linear(100..200)", "write ramp, as ramp(100,200)"),
            ("sin(1,2,3s)", "write sine, as sine(100,50,10s)"),
            ("steps(1,2)", "write step, as step(100,200,400)"),
            ("gauss(1s,2s,3)", "write gaussian, as gaussian(15s,5s,200)"),
            ("hotspot(0.1, linear(0.2,0.9))", "has linear(0.2,0.9), which is no curve: write ramp"),
            ("RAMP(1,2)", "has RAMP(1,2), which is no curve: write ramp(1,2)"),
            ("ramp (1,2)", "has ramp (1,2), which is no curve: write ramp(1,2)"),
            ("ramp(100..200)", "use ramp(FROM,TO) with two numbers, as ramp(100,200)"),
            ("ramp(100,200,10s)", "use ramp(FROM,TO) with two numbers, as ramp(100,200)"),
        ] {
            let problem = Template::read(text).err().map(|problem| problem.to_string()).unwrap_or_default();
            assert!(problem.starts_with("has ") && problem.contains(said), "{text}: {problem}");
        }
    }

    #[test]
    fn curves_that_are_finer_than_a_step_are_rejected() {
        let problem = |text: &str| Template::read(text).map(|read| read.too_fine(Duration::from_millis(250)));
        for good in ["sine(1,2,1s)", "gaussian(5s,250ms,200)", "ramp(1,2)", "step(1,2)"] {
            assert_eq!(problem(good), Ok(None), "{good}");
        }
        let said = "has a sine with a period of 0.9 s, but the value changes every 0.25 s: use a period of at least \
                    1 s";
        assert_eq!(problem("sine(1,2,900ms)"), Ok(Some(said.to_owned())));
        assert!(problem("gaussian(5s,200ms,9)").is_ok_and(|problem| problem.is_some()));
    }
}
