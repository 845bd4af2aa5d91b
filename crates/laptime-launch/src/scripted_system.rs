//! A machine whose files say what a test wrote.

use std::collections::HashMap;

use laptime_core::proc::numbers;
use laptime_record::probe::{System, Usage};

use crate::processes::Processes;

/// Files under `/proc` and `/sys`; `/proc/PID/children` and `/proc/PID/threads` are lists of numbers.
#[derive(Default)]
pub(crate) struct ScriptedSystem {
    files: HashMap<&'static str, &'static str>,
}

impl ScriptedSystem {
    pub(crate) fn of(files: &[(&'static str, &'static str)]) -> Self {
        Self { files: files.iter().copied().collect() }
    }
}

impl System for ScriptedSystem {
    fn text(&self, path: &str) -> Option<String> {
        self.files.get(path).map(|text| (*text).to_owned())
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn thread_cpu_ns(&self) -> u64 {
        0
    }
}

impl Processes for ScriptedSystem {
    fn children(&self, pid: u32) -> Vec<u32> {
        numbers(&self.text(&format!("/proc/{pid}/children")).unwrap_or_default()).collect()
    }

    fn threads(&self, pid: u32) -> Vec<u32> {
        numbers(&self.text(&format!("/proc/{pid}/threads")).unwrap_or_default()).collect()
    }
}
