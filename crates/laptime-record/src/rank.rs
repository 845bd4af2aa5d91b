//! Which of several processes that train together this one is, as its launcher tells.

/// Variables of launchers: this process' rank, and how many there are.
const LAUNCHERS: [(&str, &str); 3] = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// The rank of this process and the number of ranks; 0 of 1 when it is alone.
#[must_use]
pub fn rank_from_environment() -> (u32, u32) {
    rank_from(|name| std::env::var(name).ok())
}

fn rank_from(variable: impl Fn(&str) -> Option<String>) -> (u32, u32) {
    let number = |name| variable(name)?.trim().parse::<u32>().ok();
    let told = LAUNCHERS.into_iter().find_map(|(rank, ranks)| Some((number(rank)?, number(ranks)?)));
    told.filter(|(rank, ranks)| rank < ranks).unwrap_or((0, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)]) -> (u32, u32) {
        rank_from(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into()))
    }

    #[test]
    fn the_launcher_that_tells_both_numbers_is_believed() {
        assert_eq!(told(&[]), (0, 1));
        assert_eq!(told(&[("RANK", "1"), ("WORLD_SIZE", "2")]), (1, 2));
        assert_eq!(told(&[("RANK", "1")]), (0, 1));
        assert_eq!(told(&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4")]), (3, 4));
        assert_eq!(told(&[("RANK", "7"), ("WORLD_SIZE", "2")]), (0, 1));
    }
}
