//! What a sweep sets out to measure: the axes, their grid, and when a point is measured well enough.

use serde::{Deserialize, Serialize};

/// One axis: a name and the values it takes, as they are put into the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// What stands between the braces in the command.
    pub name: String,
    /// The values in the order they were given.
    pub values: Vec<String>,
}

/// A value for programs: a number where every value of its axis is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// A word.
    Word(String),
}

impl Parameter {
    /// The values as numbers; `None` when one is a word.
    #[must_use]
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| number(value)).collect()
    }

    /// The values for programs.
    #[must_use]
    pub fn typed(&self) -> Vec<Value> {
        let words = || self.values.iter().cloned().map(Value::Word).collect();
        self.numbers().map_or_else(words, |numbers| numbers.into_iter().map(Value::from).collect())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        // Beyond this a number with a decimal point is no longer exact.
        let whole = number.fract() == 0.0 && number.abs() < (1_u64 << 53) as f64;
        if whole { Self::Whole(number as i64) } else { Self::Number(number) }
    }
}

/// A number as people write it: `5000`, `1e5`, `100_000`, `0.1`.
fn number(text: &str) -> Option<f64> {
    let begins =
        text.trim_start_matches(['-', '+']).starts_with(|first: char| first.is_ascii_digit() || first == '.');
    text.replace('_', "").parse().ok().filter(|number: &f64| begins && number.is_finite())
}

/// When a point is measured well enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Repeats every point gets.
    pub fewest: u32,
    /// Repeats no point gets more of.
    pub most: u32,
    /// The half-width of the 95 % interval, as a share of the mean, that is narrow enough.
    pub precision: f64,
    /// Time that the repeats of a point take together at least, seconds.
    pub min_time_s: f64,
}

/// A value to be reached by training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What is to reach it.
    pub metric: TargetMetric,
    /// The value.
    pub value: f64,
}

/// What can be trained to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetMetric {
    /// Down to a loss.
    Loss,
    /// Up to an accuracy.
    Accuracy,
}

impl TargetMetric {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Accuracy => "accuracy",
        }
    }
}

/// Everything a sweep was asked for; with its seed, the order of its repeats follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The axes; the last one varies fastest from point to point.
    pub parameters: Vec<Parameter>,
    /// The command as it was typed, with `{NAME}` where values go.
    pub command: Vec<String>,
    /// Decides the order of the repeats.
    pub seed: u64,
    /// When a point is measured well enough.
    pub goal: Goal,
    /// What training is to reach; without it, the goal of the command itself counts.
    pub target: Option<Target>,
}

impl Plan {
    /// Points of the whole grid.
    #[must_use]
    pub fn points(&self) -> usize {
        self.parameters.iter().fold(1, |points, axis| points.saturating_mul(axis.values.len()))
    }

    /// For each axis, which of its values a point has.
    #[must_use]
    pub fn places(&self, point: usize) -> Vec<usize> {
        let mut left = point;
        let mut places: Vec<usize> = Vec::new();
        for axis in self.parameters.iter().rev() {
            let values = axis.values.len().max(1);
            places.push(left % values);
            left /= values;
        }
        places.reverse();
        places
    }

    /// The values of a point, one for each axis.
    #[must_use]
    pub fn values(&self, point: usize) -> Vec<&str> {
        let places = self.places(point);
        self.parameters.iter().zip(places).map(|(axis, place)| axis.values[place].as_str()).collect()
    }

    /// A point in words: `rows=1000 batch=32`.
    #[must_use]
    pub fn point_name(&self, point: usize) -> String {
        let values = self.values(point);
        let named = self.parameters.iter().zip(values).map(|(axis, value)| format!("{}={value}", axis.name));
        named.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::planted::plan;

    #[test]
    fn the_last_axis_varies_fastest_and_every_point_is_met_once() {
        let plan = plan(&[("rows", &["10", "20"]), ("batch", &["a", "b", "c"])]);
        let names: Vec<String> = (0..plan.points()).map(|point| plan.point_name(point)).collect();
        assert_eq!(names[..3], ["rows=10 batch=a", "rows=10 batch=b", "rows=10 batch=c"]);
        assert_eq!((names.len(), names[5].as_str()), (6, "rows=20 batch=c"));
    }

    #[test]
    fn an_axis_is_a_number_only_where_all_its_values_are() {
        let axis = |values: &[&str]| Parameter {
            name: "x".into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        assert_eq!(axis(&["1e5", "100_000", "0.5"]).numbers(), Some(vec![1e5, 1e5, 0.5]));
        assert_eq!(axis(&["1e5", "0.5"]).typed(), [Value::Whole(100_000), Value::Number(0.5)]);
        for word in ["full", "inf", "nan", "", "1x"] {
            assert_eq!(axis(&["1", word]).numbers(), None, "{word}");
        }
    }
}
