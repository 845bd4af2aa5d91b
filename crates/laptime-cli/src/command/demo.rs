//! `laptime demo`: a small CNN on generated data, long enough to show where its time goes.

use laptime_record::ProgramStart;
use laptime_train::{ModelKind, Plan};

use super::train::{Session, train};
use crate::Ending;
use crate::args::DemoArgs;
use crate::failure::Failure;
use crate::screen::Screen;

/// Enough epochs for a steady state, of enough rows to be watched, few enough to end in seconds.
const EPOCHS: u64 = 8;
const ROWS: u64 = 8_000;

pub(crate) fn run(began: &ProgramStart, args: &DemoArgs, screen: &Screen) -> Result<Ending, Failure> {
    let plan = Plan { epochs: EPOCHS, rows: Some(ROWS), validate: 0.2, ..Plan::new(ModelKind::Cnn) };
    let session = Session { name: "demo".into(), place: &args.place, output: args.output, tensorboard: None };
    train(began, &[plan], &session, screen)
}
