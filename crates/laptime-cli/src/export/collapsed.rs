//! Collapsed stacks: one line a stack, its frames apart by `;`, then microseconds; what flame graphs are
//! drawn from.

use std::collections::BTreeMap;

use laptime_analyse::ProfileStacks;

use super::samples::{function_name, has_ranks, part_name};

/// The lines; who was sampled and the stage are the outermost frames.
pub(super) fn lines(stacks: &ProfileStacks) -> String {
    let ranked = has_ranks(stacks);
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &stacks.stacks {
        let mut frames = vec![frame(&part_name(stack.part, stack.rank, ranked))];
        frames.extend(stack.stage.as_deref().map(frame));
        let calls = stack.calls.iter().filter_map(|call| stacks.functions.get(*call));
        frames.extend(calls.map(|function| frame(&function_name(function))));
        let sum = sums.entry(frames.join(";")).or_default();
        *sum = sum.saturating_add(stack.micros);
    }
    sums.iter().map(|(frames, micros)| format!("{frames} {micros}\n")).collect()
}

/// A name as one frame: what separates frames and lines must not be in it.
fn frame(name: &str) -> String {
    name.chars().map(|letter| if letter == ';' || letter.is_control() { '_' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::sample;
    use super::*;

    #[test]
    fn equal_stacks_are_one_line_and_names_cannot_break_it() {
        insta::assert_snapshot!(lines(&sample()), @r"
        loader workers;<module> (train.py:1) 70000
        training;data_wait;<module> (train.py:1);decode__all (train.py:14) 350000
        training;forward;<module> (train.py:1) 100000
        ");
    }
}
