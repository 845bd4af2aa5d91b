//! Charts for tests: one of each kind people will see.

use laptime_analyse::scaling::{self, Point, ScalingLaw};

use super::{Axis, Chart, Mark, Scale, Series, Unit, scaling_series};

pub(super) fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.to_owned(), unit, scale }
}

fn points(xs: &[f64], time: impl Fn(f64) -> f64) -> Vec<Point> {
    // A pattern instead of chance: ± 2 %.
    let factors = [0.98, 1.02, 1.0, 1.01, 0.99];
    let shifted = |at: usize| factors.iter().cycle().skip(at).take(4);
    let point = |(at, x): (usize, &f64)| {
        let times: Vec<f64> = shifted(at).map(|factor| factor * time(*x)).collect();
        Point::new(*x, &times)
    };
    xs.iter().enumerate().map(point).collect()
}

/// A law with its points, and beyond them.
pub(super) fn hinge() -> Chart {
    let batches = [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
    let points = points(&batches, |batch| 8e-3 + 1.74e-4 * (batch - 40.0).max(0.0));
    let law = ScalingLaw::through(&points, scaling::Axis::Work).unwrap();
    Chart {
        title: "Step time against batch: flat below 40".to_owned(),
        x: axis("batch", Unit::Number, Scale::Log),
        y: axis("step time", Unit::Seconds, Scale::Log),
        series: vec![scaling_series("cnn", &law, Some(2048.0))],
    }
}

/// One series on plain axes.
pub(super) fn rows() -> Chart {
    let points = points(&[1e3, 2.5e4, 5e4, 7.5e4, 1e5], |rows| 9e-3 + 1.24e-5 * rows);
    let law = ScalingLaw::through(&points, scaling::Axis::Work).unwrap();
    Chart {
        title: "Epoch time against rows".to_owned(),
        x: axis("rows", Unit::Number, Scale::Linear),
        y: axis("epoch time", Unit::Seconds, Scale::Linear),
        series: vec![scaling_series("", &law, None)],
    }
}

/// Four losses over time.
pub(super) fn losses() -> Chart {
    let curve = |name: &str, speed: f64, floor: f64| {
        let mark = |step: u32| {
            let t = f64::from(step) * 0.25;
            Mark::new(t, floor + 2.3 * (-speed * t).exp())
        };
        Series {
            name: name.to_owned(),
            marks: (0..60).map(mark).collect(),
            joined: true,
            ..Series::default()
        }
    };
    Chart {
        title: "Loss against time, by optimizer".to_owned(),
        x: axis("time", Unit::Seconds, Scale::Linear),
        y: axis("loss", Unit::Number, Scale::Log),
        series: vec![
            curve("adam", 0.9, 0.02),
            curve("momentum", 0.6, 0.015),
            curve("rmsprop", 0.4, 0.05),
            curve("sgd", 0.12, 0.1),
        ],
    }
}

/// Throughput of four models by batch.
pub(super) fn throughput() -> Chart {
    let series = |name: &str, launch: f64, each: f64| {
        let mark = |batch: f64| {
            let rate = batch / (launch + each * batch);
            Mark { x: batch, y: rate, interval: Some((0.93 * rate, 1.07 * rate)) }
        };
        let marks: Vec<Mark> = [32.0, 64.0, 128.0, 256.0, 512.0].into_iter().map(mark).collect();
        Series { name: name.to_owned(), marks, joined: true, ..Series::default() }
    };
    Chart {
        title: "Samples a second against batch".to_owned(),
        x: axis("batch", Unit::Number, Scale::Log),
        y: axis("throughput", Unit::Of("samples/s".to_owned()), Scale::Linear),
        series: vec![
            series("linear", 20e-6, 0.05e-6),
            series("mlp", 41e-6, 0.11e-6),
            series("cnn", 300e-6, 2e-6),
            series("transformer <4 layers> & more", 900e-6, 9e-6),
        ],
    }
}

/// What a sweep that went wrong leaves: the marks given, on these scales.
pub(super) fn odd(marks: &[(f64, f64)], scale: Scale) -> Chart {
    let marks = marks.iter().map(|(x, y)| Mark::new(*x, *y)).collect();
    Chart {
        title: "Odd".to_owned(),
        x: axis("x", Unit::Number, scale),
        y: axis("time", Unit::Seconds, scale),
        series: vec![Series { name: "only".to_owned(), marks, ..Series::default() }],
    }
}
