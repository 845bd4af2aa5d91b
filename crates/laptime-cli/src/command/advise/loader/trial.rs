//! One measurement after the other, made by a Python of the user's that is spoken with.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use laptime_analyse::advise::loader_search::{Aim, Enough, Pace, Setting, Trial};
use laptime_core::units;
use laptime_launch::{Blocked, Dialogue, Ended, Heard, Watcher, program, signal_name};
use serde::{Deserialize, Serialize};

use super::progress::Progress;
use crate::args::LoaderRequest;
use crate::failure::Failure;
use crate::one_line::shown;

/// What measures. It is handed over as the first line, so any Python with torch will do.
const PROGRAM: &str = include_str!("../../../../../../python/laptime/torch/loader_trial.py");
const RECEIVE: &str = "import json; exec(json.loads(input()))";

/// How long an import and the making of the loader may take where there is time: some list a million files.
const IMPORT_LIMIT: Duration = Duration::from_secs(600);
/// How long a loader may give no batch.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Whatever the budget, a loader is not called silent within this, and an import takes its time.
const SHORTEST_SILENCE: Duration = Duration::from_secs(10);
const SHORTEST_IMPORT: Duration = Duration::from_secs(120);
/// How long a measurement may go on by itself; it is stopped before, when enough was heard.
const TRIAL_LIMIT_S: f64 = 30.0;
/// How long to wait before the progress is drawn again.
const BEAT: Duration = Duration::from_millis(200);

/// Why measuring ends before its end.
#[derive(Debug)]
pub(super) enum Stop {
    Interrupted,
    Failed(Failure),
}

/// The loader as its function made it.
#[derive(Debug, Deserialize)]
pub(super) struct About {
    pub(super) batch: Option<u64>,
    pub(super) batches: Option<u64>,
    pub(super) cuda: bool,
}

/// What the Python says.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Message {
    Ready(About),
    /// Seconds from the begin of the first pass to its first batch.
    First {
        seconds: f64,
    },
    /// Seconds since the batch before, and samples.
    Batches {
        batches: Vec<(f64, u64)>,
    },
    End(Used),
    Error(Trouble),
}

/// What a measurement used, the first batches apart.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Used {
    steady_s: f64,
    main_s: f64,
    workers_s: f64,
    machine_s: f64,
    disk_bytes: f64,
    worker_bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Trouble {
    /// What failed: `import`, `function`, `factory`, `loader`, `iterate`, ….
    what: String,
    reason: String,
    hint: Option<String>,
}

/// What the Python is asked.
#[derive(Debug, Serialize)]
struct Request {
    kind: &'static str,
    workers: u32,
    prefetch: Option<u32>,
    pin: bool,
    batch: Option<u64>,
    copy: bool,
    seconds: f64,
}

/// The Python, and what is measured.
pub(super) struct Trials<'a> {
    dialogue: Dialogue<'a>,
    loader: String,
    /// Whether workers were seen to work at all.
    workers_work: bool,
}

impl<'a> Trials<'a> {
    /// Starts the Python.
    pub(super) fn start(
        request: &LoaderRequest,
        signals: &'a Blocked,
        watcher: Option<&'a Watcher>,
    ) -> Result<Self, Failure> {
        let failure = || Failure::new(asked(&request.loader));
        let Some(python) = request.python.clone().or_else(program::python) else {
            return Err(failure().because("there is no Python here").hint("name one with --python PATH"));
        };
        let words = [python.clone(), "-c".into(), RECEIVE.into(), request.loader.clone().into()];
        // What is measured here is no training to record.
        let variables = [("LAPTIME_DISABLED", OsString::from("1"))];
        let dialogue = Dialogue::start(&words, &variables, signals, watcher).map_err(|error| {
            let reason = format!("{} could not be started", shown(&python.to_string_lossy()));
            failure().because(reason).caused_by(&error).hint("name a Python with --python PATH")
        })?;
        let mut trials = Self { dialogue, loader: request.loader.clone(), workers_work: false };
        let program = serde_json::to_string(PROGRAM).map_err(|error| failure().caused_by(&error))?;
        // A Python that is gone already is heard of when it is listened to.
        let _ = trials.dialogue.say(&program);
        Ok(trials)
    }

    /// Waits until the loader is made.
    pub(super) fn about(&mut self, progress: &mut Progress) -> Result<About, Stop> {
        let limit = progress.left().map_or(IMPORT_LIMIT, |left| left.clamp(SHORTEST_IMPORT, IMPORT_LIMIT));
        match self.hear(limit, None, progress)? {
            Some(Message::Ready(about)) => Ok(about),
            Some(Message::Error(trouble)) => Err(Stop::Failed(self.failed(&trouble, None))),
            Some(_) => Err(Stop::Failed(self.failure().because("its Python said something unexpected"))),
            None => Err(Stop::Failed(
                self.failure()
                    .because(format!("no loader after {}", units::duration(limit.as_secs_f64())))
                    .hint("code outside `if __name__ == \"__main__\":` runs at import"),
            )),
        }
    }

    /// Measures a setting until the aim is reached.
    pub(super) fn measure(
        &mut self,
        setting: Setting,
        aim: &Aim,
        progress: &mut Progress,
    ) -> Result<Trial, Stop> {
        self.ask(setting);
        let mut heard = Measurement::of(setting);
        let silence =
            progress.left().map_or(SILENCE_LIMIT, |left| left.clamp(SHORTEST_SILENCE, SILENCE_LIMIT));
        loop {
            match self.hear(silence, heard.pace.rate(), progress)? {
                Some(Message::First { seconds }) => heard.first_batch_s = seconds,
                Some(Message::Batches { batches }) => {
                    batches.into_iter().for_each(|(gap, samples)| heard.pace.take(gap, samples));
                    if heard.ended.is_none() {
                        heard.ended = heard.pace.enough(aim);
                        if heard.ended.is_some() {
                            let _ = self.dialogue.say(r#"{"kind":"stop"}"#);
                        }
                    }
                }
                Some(Message::End(used)) => {
                    self.workers_work |= setting.workers > 0;
                    return Ok(heard.trial(&used));
                }
                Some(Message::Error(trouble)) => return self.trouble(setting, &trouble),
                Some(Message::Ready(_)) => {}
                None => return Err(Stop::Failed(self.silent(setting, silence))),
            }
        }
    }

    fn ask(&mut self, setting: Setting) {
        let Setting { workers, prefetch, pin, batch, copied } = setting;
        let request =
            Request { kind: "try", workers, prefetch, pin, batch, copy: copied, seconds: TRIAL_LIMIT_S };
        let line = serde_json::to_string(&request).unwrap_or_default();
        let _ = self.dialogue.say(&line);
    }

    /// The next message; `None` where there is none for so long.
    fn hear(
        &mut self,
        limit: Duration,
        rate: Option<f64>,
        progress: &mut Progress,
    ) -> Result<Option<Message>, Stop> {
        let deadline = Instant::now() + limit;
        loop {
            progress.beat(rate);
            let left = deadline.saturating_duration_since(Instant::now());
            match self.dialogue.hear(left.min(BEAT)) {
                Heard::Line(line) => match serde_json::from_str(&line) {
                    Ok(message) => return Ok(Some(message)),
                    Err(error) => {
                        let reason = format!("its Python said `{line}`");
                        return Err(Stop::Failed(self.failure().because(reason).caused_by(&error)));
                    }
                },
                Heard::Silence if left.is_zero() => return Ok(None),
                Heard::Silence => {}
                Heard::Interrupted => return Err(Stop::Interrupted),
                Heard::Ended(ended) => return Err(Stop::Failed(self.died(ended))),
            }
        }
    }

    /// A setting that failed is left out where others work; else there is nothing to choose from.
    fn trouble(&self, setting: Setting, trouble: &Trouble) -> Result<Trial, Stop> {
        let is_its_own = matches!(trouble.what.as_str(), "iterate" | "memory");
        if is_its_own && self.workers_work && setting.workers > 1 {
            return Ok(Trial { setting, failed: Some(trouble.reason.clone()), ..Trial::default() });
        }
        Err(Stop::Failed(self.failed(trouble, Some(setting))))
    }

    fn failure(&self) -> Failure {
        Failure::new(asked(&self.loader))
    }

    fn failed(&self, trouble: &Trouble, setting: Option<Setting>) -> Failure {
        let (place, function) = self.loader.rsplit_once(':').unwrap_or((&self.loader, ""));
        let reason = &trouble.reason;
        let because = match (trouble.what.as_str(), setting) {
            ("import", _) => format!("could not import {place}: {reason}"),
            ("factory", _) => format!("{function}() failed: {reason}"),
            ("function" | "loader" | "short" | "stream" | "batch", _) => reason.clone(),
            (_, Some(setting)) => format!("with num_workers={}: {reason}", setting.workers),
            (_, None) => reason.clone(),
        };
        let without_torch = reason.contains("No module named 'torch'");
        let hint = match without_torch {
            true => Some("--python PATH names the Python that has torch".to_owned()),
            false => trouble.hint.clone(),
        };
        Failure { hint, ..self.failure().because(because) }
    }

    fn silent(&self, setting: Setting, limit: Duration) -> Failure {
        let limit = units::duration(limit.as_secs_f64());
        let reason = format!("with num_workers={} no batch came for {limit}", setting.workers);
        self.failure().because(reason).hint(
            "a lock or a thread taken over by fork can hang a worker; `timeout=` of DataLoader names it",
        )
    }

    fn died(&self, ended: Ended) -> Failure {
        let how = match ended {
            Ended::Exit(code) => format!("its Python ended with exit code {code}"),
            Ended::Signal(signal) => {
                format!("its Python was ended by signal {signal}{}", signal_name(signal))
            }
        };
        let last = self.dialogue.last_words();
        let failure = self.failure().because(how);
        if last.is_empty() { failure } else { failure.because(format!("its last words: {last}")) }
    }
}

fn asked(loader: &str) -> String {
    format!("could not measure the loader of `{loader}`")
}

/// What was heard of one measurement.
struct Measurement {
    setting: Setting,
    pace: Pace,
    first_batch_s: f64,
    ended: Option<Enough>,
}

impl Measurement {
    fn of(setting: Setting) -> Self {
        Self { setting, pace: Pace::of(setting.workers), first_batch_s: 0.0, ended: None }
    }

    fn trial(&self, used: &Used) -> Trial {
        let per_s = |seconds: f64| if used.steady_s > 0.0 { seconds / used.steady_s } else { 0.0 };
        let seconds = self.pace.seconds();
        Trial {
            setting: self.setting,
            samples_per_s: self.pace.rate().unwrap_or(0.0),
            error: self.pace.error(),
            seconds,
            batch_s: self.pace.batch_s().unwrap_or(0.0),
            first_batch_s: self.first_batch_s,
            main_cpus: per_s(used.main_s),
            worker_cpus: per_s(used.workers_s),
            other_cpus: per_s(used.machine_s - used.main_s - used.workers_s).max(0.0),
            disk_bytes: used.disk_bytes as u64,
            worker_bytes: used.worker_bytes,
            unevenness: self.pace.unevenness(),
            ended: self.ended.or(Some(Enough::TimeOver)),
            failed: None,
        }
    }
}
