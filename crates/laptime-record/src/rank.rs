//! Which of several processes that train together this one is, as its launcher says.

use std::hash::{DefaultHasher, Hash, Hasher};

use laptime_store::ProcessIdentity;

/// What a launcher passes to the processes it starts.
struct Launcher {
    /// What it is called in the names of its launches.
    name: &'static str,
    /// The variables with this process' rank and the number of ranks.
    rank: (&'static str, &'static str),
    /// Variables that together are the same in all ranks of one launch.
    shared: &'static [&'static str],
    /// The one of them that no other launch has, unless its value says nothing.
    unique: &'static str,
    /// How often it has started the ranks again.
    restarts: Option<&'static str>,
}

/// `accelerate launch` and DeepSpeed's launcher speak as torchrun does, without its names for a launch.
const LAUNCHERS: [Launcher; 3] = [
    Launcher {
        name: "torchrun",
        rank: ("RANK", "WORLD_SIZE"),
        shared: &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"],
        unique: "TORCHELASTIC_RUN_ID",
        restarts: Some("TORCHELASTIC_RESTART_COUNT"),
    },
    Launcher {
        name: "mpirun",
        rank: ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        shared: &["PMIX_NAMESPACE"],
        unique: "PMIX_NAMESPACE",
        restarts: None,
    },
    Launcher {
        name: "srun",
        rank: ("SLURM_PROCID", "SLURM_NTASKS"),
        shared: &["SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"],
        unique: "SLURM_JOB_ID",
        restarts: Some("SLURM_RESTART_COUNT"),
    },
];
/// What torchrun calls a launch that was given no name.
const NO_NAME: &str = "none";

/// One of several processes that were launched to train together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// This process' rank.
    pub rank: u32,
    /// How many ranks there are, two or more.
    pub ranks: u32,
    /// A name for the launch on this machine, one for each time that its ranks are started: no other has it.
    pub name: String,
    /// A name for the launch on any machine, whenever its ranks are started; a later launch may have it again where
    /// its launcher gives it no name of its own.
    pub shared_name: String,
    /// How often its ranks had been started before.
    pub restart: u32,
}

impl Launch {
    /// What the environment says; `None` for a process that is alone.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        Self::from(|name| std::env::var(name).ok(), &ProcessIdentity::parent())
    }

    /// What a script says that starts its ranks itself, where no launcher is to be believed.
    pub(crate) fn of_script(rank: u32, ranks: u32) -> Option<Self> {
        let numbers = [("RANK", rank.to_string()), ("WORLD_SIZE", ranks.to_string())];
        let said =
            |name: &str| numbers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let variable = |name: &str| std::env::var(name).ok();
        Self::from_environment()
            .or_else(|| Self::from(|name| said(name).or_else(|| variable(name)), &ProcessIdentity::parent()))
    }

    fn from(variable: impl Fn(&str) -> Option<String>, parent: &ProcessIdentity) -> Option<Self> {
        let Place { launcher, rank, ranks, words, is_unique, restart } =
            place(&variable).filter(|place| place.ranks > 1)?;
        let shared_name = format!("{launcher}:{}", words.join(":"));
        let mut hasher = DefaultHasher::new();
        (&shared_name, restart).hash(&mut hasher);
        if !is_unique {
            // Ranks of one launch on one machine have one parent: the launcher.
            (parent.pid, parent.pid_start, &parent.boot_id).hash(&mut hasher);
        }
        let name = format!("{:016x}", hasher.finish());
        Some(Self { rank, ranks, name, shared_name, restart })
    }
}

/// The rank of this process and the number of ranks; 0 of 1 when it is alone.
#[must_use]
pub fn rank_from_environment() -> (u32, u32) {
    place(&|name: &str| std::env::var(name).ok()).map_or((0, 1), |place| (place.rank, place.ranks))
}

/// The place of a process in a launch.
struct Place {
    launcher: &'static str,
    rank: u32,
    ranks: u32,
    /// The same in all ranks of the launch.
    words: Vec<String>,
    /// Whether no other launch has them.
    is_unique: bool,
    restart: u32,
}

/// The launcher that gives both numbers is believed.
fn place(variable: &impl Fn(&str) -> Option<String>) -> Option<Place> {
    let launchers = LAUNCHERS.iter().filter(|launcher| !is_only_allocated(launcher, variable));
    let found = launchers.into_iter().find_map(|launcher| launcher.place(variable));
    found.or_else(|| place_in_cluster(variable)).filter(|place| place.rank < place.ranks)
}

impl Launcher {
    fn place(&self, variable: &impl Fn(&str) -> Option<String>) -> Option<Place> {
        let number = |name| variable(name)?.trim().parse::<u32>().ok();
        Some(Place {
            launcher: self.name,
            rank: number(self.rank.0)?,
            ranks: number(self.rank.1)?,
            words: self.shared.iter().map(|name| variable(name).unwrap_or_default()).collect(),
            is_unique: variable(self.unique).is_some_and(|id| !id.is_empty() && id != NO_NAME),
            restart: self.restarts.and_then(number).unwrap_or(0),
        })
    }
}

/// What the strategies of TensorFlow read: who is in a cluster, and which of them this process is. Parameter
/// servers and evaluators are none of its ranks.
fn place_in_cluster(variable: &impl Fn(&str) -> Option<String>) -> Option<Place> {
    let config: serde_json::Value = serde_json::from_str(&variable("TF_CONFIG")?).ok()?;
    let addresses = |kind: &str| {
        let listed = config["cluster"][kind].as_array().into_iter().flatten();
        listed.filter_map(|address| Some(address.as_str()?.to_owned())).collect::<Vec<String>>()
    };
    let (chiefs, workers) = (addresses("chief"), addresses("worker"));
    let index = config["task"]["index"].as_u64()?;
    let rank = match config["task"]["type"].as_str()? {
        "chief" => index,
        "worker" => index + chiefs.len() as u64,
        _ => return None,
    };
    let words = [chiefs, workers].concat();
    let (rank, ranks) = (u32::try_from(rank).ok()?, u32::try_from(words.len()).ok()?);
    Some(Place { launcher: "tensorflow", rank, ranks, words, is_unique: false, restart: 0 })
}

/// Whether this is the script of a batch job of Slurm: it has the number of tasks, and only `srun` starts them.
fn is_only_allocated(launcher: &Launcher, variable: &impl Fn(&str) -> Option<String>) -> bool {
    launcher.name == "srun" && variable("SLURM_JOB_ID").is_some() && variable("SLURM_STEP_ID").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)], parent: u32) -> Option<Launch> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Launch::from(variable, &ProcessIdentity { pid: parent, ..ProcessIdentity::default() })
    }

    fn rank(variables: &[(&str, &str)]) -> Option<(u32, u32)> {
        launch(variables, 1).map(|launch| (launch.rank, launch.ranks))
    }

    #[test]
    fn the_launcher_that_gives_both_numbers_is_believed() {
        assert_eq!(rank(&[]), None);
        assert_eq!(rank(&[("RANK", "1"), ("WORLD_SIZE", "2")]), Some((1, 2)));
        assert_eq!(rank(&[("RANK", "0"), ("WORLD_SIZE", "1")]), None);
        assert_eq!(rank(&[("RANK", "1")]), None);
        assert_eq!(rank(&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4")]), Some((3, 4)));
        assert_eq!(rank(&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")]), Some((3, 4)));
        assert_eq!(rank(&[("RANK", "7"), ("WORLD_SIZE", "2")]), None);
    }

    #[test]
    fn a_cluster_of_tensorflow_has_its_chief_first_and_only_those_that_train() {
        let cluster = r#""cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}"#;
        let task = |task: &str| rank(&[("TF_CONFIG", &format!("{{{cluster}, \"task\": {task}}}"))]);
        assert_eq!(task(r#"{"type": "chief", "index": 0}"#), Some((0, 3)));
        assert_eq!(task(r#"{"type": "worker", "index": 1}"#), Some((2, 3)));
        assert_eq!(task(r#"{"type": "worker", "index": 2}"#), None);
        assert_eq!(task(r#"{"type": "ps", "index": 0}"#), None);
        for nonsense in
            ["", "{}", "[1]", r#"{"cluster": {"worker": 7}, "task": {"type": "worker", "index": 0}}"#]
        {
            assert_eq!(rank(&[("TF_CONFIG", nonsense)]), None, "{nonsense}");
        }
    }

    #[test]
    fn the_script_of_a_batch_job_is_alone_and_what_it_starts_with_srun_is_not() {
        let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "7")];
        assert_eq!(rank(&batch), None);
        assert_eq!(rank(&[&batch[..], &[("SLURM_STEP_ID", "0")]].concat()), Some((0, 4)));
        assert_eq!(rank(&[&batch[..], &[("RANK", "1"), ("WORLD_SIZE", "2")]].concat()), Some((1, 2)));
    }

    #[test]
    fn a_restart_has_a_run_of_its_own_in_the_same_launch() {
        let begun = |restart, parent| {
            let variables = [
                ("RANK", "0"),
                ("WORLD_SIZE", "2"),
                ("MASTER_ADDR", "a"),
                ("TORCHELASTIC_RUN_ID", "job"),
                ("TORCHELASTIC_RESTART_COUNT", restart),
            ];
            launch(&variables, parent).unwrap()
        };
        let (first, again) = (begun("0", 7), begun("2", 8));
        assert_ne!(first.name, again.name);
        assert_eq!((&first.shared_name, first.restart), (&again.shared_name, 0));
        assert_eq!((again.shared_name.as_str(), again.restart), ("torchrun:job:a:", 2));
    }

    #[test]
    fn ranks_of_one_launch_have_one_name_for_it_and_other_launches_another() {
        let name = |rank, port, id, parent| {
            let variables =
                [("RANK", rank), ("WORLD_SIZE", "2"), ("MASTER_PORT", port), ("TORCHELASTIC_RUN_ID", id)];
            launch(&variables, parent).unwrap().name
        };
        assert_eq!(name("0", "29500", "none", 7), name("1", "29500", "none", 7));
        assert_ne!(name("0", "29500", "none", 7), name("0", "29500", "none", 8));
        assert_ne!(name("0", "29500", "none", 7), name("0", "29501", "none", 7));
        // A launch over several machines has a launcher on each, and a name that distinguishes it from others.
        assert_eq!(name("0", "29500", "job", 7), name("1", "29500", "job", 8));
        assert_ne!(name("0", "29500", "job", 7), name("0", "29500", "next", 7));
    }
}
