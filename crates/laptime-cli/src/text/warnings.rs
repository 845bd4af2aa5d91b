//! What is missing or doubtful, one clear sentence each.

use laptime_analyse::Warning;
use laptime_core::Trouble;

use super::shown;
use super::units::{bytes, count, counted, duration};

/// A warning as a sentence that says what it means for the report.
pub(crate) fn warning_text(warning: &Warning) -> String {
    match warning {
        Warning::Trouble { trouble } => trouble_text(trouble),
        Warning::SpansDropped { count } => format!(
            "{} dropped because the ring was full; times and shares are complete, p95 is not",
            was(*count, "span")
        ),
        Warning::HostTimes { device } => {
            format!("times are the host's; the device ({}) works on after them", shown(device))
        }
        Warning::ClockStepped { seconds } => {
            format!("the wall clock was stepped by {}; durations are not affected", duration(*seconds))
        }
        Warning::Suspended { seconds } => {
            format!("the machine slept for {}; that time is not in the ledger", duration(*seconds))
        }
        Warning::RanksMissing { ranks, world } => format!(
            "{} of {world} left nothing on record: not started, or kept in another folder \
             (laptime report FOLDER FOLDER shows them together)",
            ranks_named(ranks)
        ),
        Warning::CollectivesNotSeen => {
            "the collectives of the ranks were not seen: who is late and how much of the \
                                        exchange is hidden cannot be told"
                .to_owned()
        }
    }
}

fn trouble_text(trouble: &Trouble) -> String {
    match trouble {
        Trouble::LogNotWritten { because, lost_events: 0, .. } => format!(
            "the log could not be written ({}); this report is whole, what is kept on disk is not",
            shown(because)
        ),
        Trouble::LogNotWritten { because, lost_events, .. } => format!(
            "the log could not be written ({}); {} missing from this report, its times are whole",
            shown(because),
            if *lost_events == 1 {
                "1 event is".to_owned()
            } else {
                format!("{} events are", count(*lost_events))
            },
        ),
        Trouble::RingNotKept { because } => format!(
            "no ring that survives a kill could be made ({}); a kill may lose the last 100 ms",
            shown(because)
        ),
        Trouble::RecorderBroke { because } => format!(
            "recording stopped at a fault of its own ({}); what came after is missing",
            shown(because)
        ),
        Trouble::HooksNotAttached { because, hint } => {
            format!("the stages of the script were not recorded: {}; {}", shown(because), shown(hint))
        }
        Trouble::PackageReplaced { folder, log, needed } => format!(
            "the script's own laptime in {} was not used: its log is {}, and {} is read here",
            shown(folder),
            shown(log),
            shown(needed)
        ),
        Trouble::NothingToRecord { because } => shown(because),
        // What `laptime run --change` asks for goes by the name `change num_workers=4`.
        Trouble::HookOff { hook, because } if hook.starts_with("change ") => {
            format!("the {} was not made: {}", shown(hook), shown(because))
        }
        Trouble::HookOff { hook, because } => {
            format!("the hook of {} is off ({}); what it records is missing", shown(hook), shown(because))
        }
        Trouble::DeviceTimesOff { because } => {
            format!("times of the device could not be taken ({}); all times are the host's", shown(because))
        }
        Trouble::CollectivesNotSeen { because } => {
            format!("not all exchange between ranks or devices is seen: {}", shown(because))
        }
        Trouble::LayerTimesOff { because } => format!("no times of layers: {}", shown(because)),
        Trouble::ThreadsNotRecorded { threads } => {
            format!(
                "{} not recorded because all lanes were taken; their stages are missing",
                was(*threads, "thread")
            )
        }
        Trouble::DamagedLog { file, bytes: lost } => {
            format!(
                "{} of {} could not be read; what was recorded there is missing",
                bytes(*lost),
                shown(file)
            )
        }
    }
}

/// `rank 2`, `ranks 2, 3 and 4`, `ranks 2, 3, 4 and 93 others`.
fn ranks_named(ranks: &[u32]) -> String {
    const MOST: usize = 4;
    let named: Vec<String> = ranks.iter().take(MOST).map(u32::to_string).collect();
    match named.as_slice() {
        [one] => format!("rank {one}"),
        named if ranks.len() > MOST => {
            format!("ranks {} and {} others", named.join(", "), count((ranks.len() - MOST) as u64))
        }
        [first @ .., last] => format!("ranks {} and {last}", first.join(", ")),
        [] => "no rank".to_owned(),
    }
}

fn was(number: u64, one: &str) -> String {
    format!("{} {}", counted(number, one), if number == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_says_what_it_means_for_the_report() {
        let lost = |lost_events| Trouble::LogNotWritten {
            because: "No space left on device".to_owned(),
            lost_blocks: 3,
            lost_events,
        };
        let all = [
            Warning::SpansDropped { count: 1203 },
            Warning::SpansDropped { count: 1 },
            Warning::ClockStepped { seconds: -3.2 },
            Warning::Suspended { seconds: 7_500.0 },
            Warning::Trouble { trouble: lost(0) },
            Warning::Trouble { trouble: lost(1203) },
            Warning::Trouble { trouble: Trouble::RingNotKept { because: "/dev/shm is full".to_owned() } },
            Warning::Trouble {
                trouble: Trouble::HooksNotAttached {
                    because: "python3.10 is older than 3.11".to_owned(),
                    hint: "run the script with Python 3.11 or newer".to_owned(),
                },
            },
            Warning::Trouble {
                trouble: Trouble::PackageReplaced {
                    folder: "/env/laptime".to_owned(),
                    log: "version 1".to_owned(),
                    needed: "version 2".to_owned(),
                },
            },
            Warning::Trouble {
                trouble: Trouble::HookOff {
                    hook: "torch.save".to_owned(),
                    because: "no such name".to_owned(),
                },
            },
            Warning::Trouble {
                trouble: Trouble::HookOff {
                    hook: "change pin_memory=1".to_owned(),
                    because: "no GPU".to_owned(),
                },
            },
            Warning::Trouble { trouble: Trouble::ThreadsNotRecorded { threads: 2 } },
            Warning::Trouble { trouble: Trouble::DamagedLog { file: "0.log".to_owned(), bytes: 4096 } },
        ];
        let lines: Vec<String> = all.iter().map(warning_text).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        1,203 spans were dropped because the ring was full; times and shares are complete, p95 is not
        1 span was dropped because the ring was full; times and shares are complete, p95 is not
        the wall clock was stepped by -3.20 s; durations are not affected
        the machine slept for 2h05m; that time is not in the ledger
        the log could not be written (No space left on device); this report is whole, what is kept on disk is not
        the log could not be written (No space left on device); 1,203 events are missing from this report, its times are whole
        no ring that survives a kill could be made (/dev/shm is full); a kill may lose the last 100 ms
        the stages of the script were not recorded: python3.10 is older than 3.11; run the script with Python 3.11 or newer
        the script's own laptime in /env/laptime was not used: its log is version 1, and version 2 is read here
        the hook of torch.save is off (no such name); what it records is missing
        the change pin_memory=1 was not made: no GPU
        2 threads were not recorded because all lanes were taken; their stages are missing
        4.0 KiB of 0.log could not be read; what was recorded there is missing
        ");
    }
}
