//! The command and every process it started.

use std::collections::BTreeMap;
use std::fs;

use laptime_core::proc::numbers;
use laptime_store::process_start;

/// Processes that are followed at most.
const MOST_PROCESSES: usize = 256;

/// The processes of a command by pid, with their starts: one whose parent is gone still belongs to it.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    members: BTreeMap<u32, u64>,
}

impl ProcessTree {
    /// The tree below a process.
    pub(crate) fn of(root: u32) -> Self {
        Self { members: process_start(root).map(|start| (root, start)).into_iter().collect() }
    }

    /// Drops the processes that are gone and adds the children of the others.
    pub(crate) fn grow(&mut self) {
        let known = std::mem::take(&mut self.members);
        let mut open: Vec<u32> = known.keys().copied().collect();
        while let Some(pid) = open.pop() {
            let Some(start) = process_start(pid) else { continue };
            let another = known.get(&pid).is_some_and(|known| *known != start);
            if another || self.members.len() >= MOST_PROCESSES || self.members.contains_key(&pid) {
                continue;
            }
            self.members.insert(pid, start);
            open.extend(children(pid));
        }
    }

    /// Every process, with its start.
    pub(crate) fn members(&self) -> impl Iterator<Item = (u32, u64)> {
        self.members.iter().map(|(pid, start)| (*pid, *start))
    }

    /// Whether a process is one of them.
    pub(crate) fn has(&self, pid: u32, start: u64) -> bool {
        self.members.get(&pid) == Some(&start)
    }
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list).collect::<Vec<u32>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_belongs_to_the_tree_until_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut tree = ProcessTree::of(std::process::id());
        tree.grow();
        let has = |tree: &ProcessTree, pid| tree.members().any(|(member, _)| member == pid);
        assert!(has(&tree, child.id()) && has(&tree, std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        tree.grow();
        assert!(!has(&tree, child.id()));
    }
}
