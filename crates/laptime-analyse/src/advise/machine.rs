//! Machine: what of a computer makes trainings slow, before any is run.

use laptime_core::units::{bytes, percent};
use serde::Serialize;

/// The version of [`MachineAdvice`]; fields may be added to it, none changes meaning.
pub const MACHINE_ADVICE_SCHEMA: &str = "laptime.machine_advice/1";

/// Clocks that are held below this share of what the CPUs can do are lowered.
const LOWERED: f64 = 0.95;
/// Other programs that keep this share of the CPUs busy are felt.
const BUSY: f64 = 0.25;
/// Memory that is left below this share of what there is, is short.
const LITTLE_LEFT: f64 = 0.1;
/// Swap that is used beyond this, bytes: some always is.
const MUCH_SWAP: u64 = 256 << 20;
/// Shared memory that a loader with some workers fills, bytes: containers get 64 MiB unless they ask for more.
const LITTLE_SHARED: u64 = 512 << 20;

/// What a computer says of itself; what it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFacts {
    /// CPUs there are: what `os.cpu_count()` says, and so how many threads frameworks start.
    pub cpus: u32,
    /// CPUs that a process may use by its affinity.
    pub allowed_cpus: Option<u32>,
    /// CPUs by the quota of the control group.
    pub quota_cpus: Option<f64>,
    /// `OMP_NUM_THREADS`, where it is set.
    pub omp_threads: Option<u32>,
    /// What decides about the clocks of the CPUs: `powersave`, ….
    pub governor: Option<String>,
    /// The highest clock that is allowed, and that there is, kHz.
    pub clock_khz: Option<(u64, u64)>,
    /// CPUs that are busy now.
    pub busy_cpus: Option<f64>,
    /// Memory that a training may still take, and all of it, by machine or control group, bytes.
    pub memory_bytes: Option<(u64, u64)>,
    /// Swap in use, bytes.
    pub swap_bytes: Option<u64>,
    /// The size of `/dev/shm`, bytes.
    pub shared_bytes: Option<u64>,
    /// The file system of the folder that runs are kept in: `ext4`, `nfs4`, ….
    pub runs_file_system: Option<String>,
    /// Whether laptime was built without optimisation.
    pub debug_build: bool,
}

/// What to change of a computer before something is trained on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineAdvice {
    /// Always [`MACHINE_ADVICE_SCHEMA`].
    pub schema: &'static str,
    /// CPUs that a training may use.
    pub cpus: f64,
    /// What to change.
    pub items: Vec<MachineItem>,
    /// What was looked at and is fine.
    pub fine: Vec<&'static str>,
}

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineItem {
    /// Its name for programs: `threads`.
    pub id: &'static str,
    /// What is the matter, with numbers.
    pub because: String,
    /// What to type.
    pub change: String,
}

/// What of a computer makes trainings slow.
#[must_use]
pub fn advise_machine(facts: &MachineFacts) -> MachineAdvice {
    let mut advice = MachineAdvice {
        schema: MACHINE_ADVICE_SCHEMA,
        cpus: facts.usable_cpus(),
        items: Vec::new(),
        fine: Vec::new(),
    };
    for (id, subject, look) in CHECKS {
        match look(facts) {
            Found::Item(because, change) => advice.items.push(MachineItem { id, because, change }),
            Found::Fine => advice.fine.push(subject),
            Found::NotKnown => {}
        }
    }
    advice
}

enum Found {
    Item(String, String),
    Fine,
    NotKnown,
}

type Check = (&'static str, &'static str, fn(&MachineFacts) -> Found);

const CHECKS: [Check; 8] = [
    ("threads", "CPUs and threads", threads),
    ("load", "load", load),
    ("clocks", "clocks", clocks),
    ("memory", "memory", memory),
    ("swap", "swap", swap),
    ("shared_memory", "/dev/shm", shared_memory),
    ("runs_folder", "runs folder", runs_folder),
    ("debug_build", "build", debug_build),
];

impl MachineFacts {
    /// CPUs that a training may use.
    fn usable_cpus(&self) -> f64 {
        let allowed = self.allowed_cpus.map_or(f64::INFINITY, f64::from);
        f64::from(self.cpus.max(1)).min(allowed).min(self.quota_cpus.unwrap_or(f64::INFINITY))
    }
}

/// Frameworks start a thread for each CPU that they see, and none of them sees a quota.
fn threads(facts: &MachineFacts) -> Found {
    let usable = facts.usable_cpus();
    let started = facts.omp_threads.unwrap_or_else(|| facts.cpus.min(facts.allowed_cpus.unwrap_or(u32::MAX)));
    let advised = usable.floor().max(1.0);
    if f64::from(started) <= usable.ceil() {
        return Found::Fine;
    }
    let limit = if facts.quota_cpus.is_some_and(|quota| quota <= usable) { "cgroup" } else { "affinity" };
    Found::Item(
        format!("{usable:.1} CPUs by {limit} where a framework starts {started} threads"),
        format!("export OMP_NUM_THREADS={advised:.0}"),
    )
}

fn load(facts: &MachineFacts) -> Found {
    let Some(busy) = facts.busy_cpus else { return Found::NotKnown };
    let usable = facts.usable_cpus();
    if busy < BUSY * f64::from(facts.cpus.max(1)) {
        return Found::Fine;
    }
    let free = (usable - busy).floor().max(1.0);
    Found::Item(
        format!("other programs keep {busy:.1} of {} CPUs busy", facts.cpus),
        format!("wait for them (see: top), or train beside them with OMP_NUM_THREADS={free:.0}"),
    )
}

fn clocks(facts: &MachineFacts) -> Found {
    if let Some((allowed, highest)) =
        facts.clock_khz.filter(|(allowed, highest)| (*allowed as f64) < LOWERED * *highest as f64)
    {
        let ghz = |khz: u64| khz as f64 / 1e6;
        return Found::Item(
            format!("the CPUs may clock at {:.2} of {:.2} GHz", ghz(allowed), ghz(highest)),
            "sudo cpupower frequency-set -u 100GHz".to_owned(),
        );
    }
    match facts.governor.as_deref() {
        Some("powersave" | "conservative") if facts.clock_khz.is_some() => Found::Item(
            format!("the CPUs' governor is {}", facts.governor.as_deref().unwrap_or_default()),
            "sudo cpupower frequency-set -g performance".to_owned(),
        ),
        Some(_) => Found::Fine,
        None => Found::NotKnown,
    }
}

fn memory(facts: &MachineFacts) -> Found {
    let Some((left, all)) = facts.memory_bytes else { return Found::NotKnown };
    let share = left as f64 / all.max(1) as f64;
    if share >= LITTLE_LEFT {
        return Found::Fine;
    }
    Found::Item(
        format!("{} of {} memory are left ({})", bytes(left), bytes(all), percent(share)),
        "end what holds it (see: ps aux --sort=-rss | head), or raise the limit of the container".to_owned(),
    )
}

fn swap(facts: &MachineFacts) -> Found {
    match facts.swap_bytes {
        None => Found::NotKnown,
        Some(used) if used < MUCH_SWAP => Found::Fine,
        Some(used) => Found::Item(
            format!("{} are swapped out", bytes(used)),
            "end what needs the memory; then: sudo swapoff -a && sudo swapon -a".to_owned(),
        ),
    }
}

fn shared_memory(facts: &MachineFacts) -> Found {
    match facts.shared_bytes {
        None => Found::NotKnown,
        Some(size) if size >= LITTLE_SHARED => Found::Fine,
        Some(size) => Found::Item(
            format!(
                "/dev/shm has {}: workers hand batches over through it, and die when it is full",
                bytes(size)
            ),
            "docker run --shm-size=8g …, or: sudo mount -o remount,size=8G /dev/shm".to_owned(),
        ),
    }
}

fn runs_folder(facts: &MachineFacts) -> Found {
    const REMOTE: [&str; 11] =
        ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "ceph", "beegfs", "9p", "fuse.sshfs", "afs"];
    match facts.runs_file_system.as_deref() {
        None => Found::NotKnown,
        Some(kind) if REMOTE.contains(&kind) => Found::Item(
            format!("runs are kept on a network disk ({kind})"),
            "export LAPTIME_DIR=/tmp/laptime".to_owned(),
        ),
        Some(_) => Found::Fine,
    }
}

fn debug_build(facts: &MachineFacts) -> Found {
    match facts.debug_build {
        false => Found::Fine,
        true => Found::Item(
            "laptime is built without optimisation: its own models train many times slower".to_owned(),
            "cargo build --release".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> MachineFacts {
        MachineFacts {
            cpus: 64,
            allowed_cpus: Some(64),
            governor: Some("performance".into()),
            clock_khz: Some((4_000_000, 4_000_000)),
            busy_cpus: Some(0.3),
            memory_bytes: Some((60 << 30, 64 << 30)),
            swap_bytes: Some(0),
            shared_bytes: Some(32 << 30),
            runs_file_system: Some("ext4".into()),
            ..MachineFacts::default()
        }
    }

    fn ids(facts: &MachineFacts) -> Vec<&'static str> {
        advise_machine(facts).items.iter().map(|item| item.id).collect()
    }

    #[test]
    fn a_healthy_machine_gets_no_advice() {
        let advice = advise_machine(&healthy());
        assert_eq!(advice.items, []);
        assert_eq!(advice.fine.len(), CHECKS.len());
    }

    #[test]
    fn a_quota_that_no_framework_sees_is_set_as_the_number_of_threads() {
        let facts = MachineFacts { quota_cpus: Some(8.0), ..healthy() };
        let advice = advise_machine(&facts);
        assert_eq!(advice.cpus, 8.0);
        assert_eq!(advice.items[0].because, "8.0 CPUs by cgroup where a framework starts 64 threads");
        assert_eq!(advice.items[0].change, "export OMP_NUM_THREADS=8");
        assert_eq!(ids(&MachineFacts { omp_threads: Some(8), ..facts }), Vec::<&str>::new());
    }

    #[test]
    fn an_affinity_is_seen_by_frameworks() {
        assert_eq!(ids(&MachineFacts { allowed_cpus: Some(4), ..healthy() }), Vec::<&str>::new());
    }

    #[test]
    fn what_makes_a_machine_slow_is_named_with_what_to_type() {
        let facts = MachineFacts {
            busy_cpus: Some(40.0),
            governor: Some("powersave".into()),
            memory_bytes: Some((1 << 30, 64 << 30)),
            swap_bytes: Some(3 << 30),
            shared_bytes: Some(64 << 20),
            runs_file_system: Some("nfs4".into()),
            debug_build: true,
            ..healthy()
        };
        let expected = ["load", "clocks", "memory", "swap", "shared_memory", "runs_folder", "debug_build"];
        assert_eq!(ids(&facts), expected);
        assert!(advise_machine(&facts).items.iter().all(|item| !item.change.is_empty()));
    }

    #[test]
    fn lowered_clocks_are_told_in_gigahertz() {
        let advice = advise_machine(&MachineFacts { clock_khz: Some((2_000_000, 4_000_000)), ..healthy() });
        assert_eq!(advice.items[0].because, "the CPUs may clock at 2.00 of 4.00 GHz");
    }

    #[test]
    fn what_is_not_known_is_neither_fine_nor_advised() {
        let advice = advise_machine(&MachineFacts { cpus: 2, ..MachineFacts::default() });
        assert_eq!(advice.items, []);
        assert_eq!(advice.fine, ["CPUs and threads", "build"]);
    }
}
