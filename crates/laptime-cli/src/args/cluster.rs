//! The options that give work to a cluster.

use serde::{Deserialize, Serialize};

/// Where work is done, and what each piece of it asks of a machine.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Give the work to the machines of a Ray cluster [default address: the cluster that runs here]
    #[arg(long, value_name = "ray[=ADDRESS]", value_parser = parse_on, help_heading = "Cluster")]
    pub(crate) on: Option<On>,
    /// CPUs that Ray sets aside for each [default: 1, and the command sees all]
    #[arg(long, value_name = "N", value_parser = parse_amount, requires = "on", help_heading = "Cluster")]
    pub(crate) cpus: Option<f64>,
    /// GPUs that Ray sets aside for each
    #[arg(long, value_name = "N", value_parser = parse_amount, requires = "on", help_heading = "Cluster")]
    pub(crate) gpus: Option<f64>,
    /// Memory that Ray sets aside for each, such as 8GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, requires = "on", help_heading = "Cluster")]
    pub(crate) memory: Option<u64>,
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct On {
    /// Ray's address; `None` for the cluster that the environment names or that runs on this machine.
    pub(crate) address: Option<String>,
}

fn parse_on(text: &str) -> Result<On, String> {
    match text.split_once('=') {
        None if text == "ray" => Ok(On { address: None }),
        Some(("ray", address)) if !address.is_empty() => Ok(On { address: Some(address.to_owned()) }),
        _ => Err("expected ray, or ray=ADDRESS such as ray=10.0.0.1:6379".to_owned()),
    }
}

fn parse_amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "expected a number such as 2 or 0.5".to_owned())
}

fn parse_memory(text: &str) -> Result<u64, String> {
    let digits = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let scale = match text[digits..].trim() {
        "" | "B" => 1.0,
        "MB" => 1e6,
        "GB" => 1e9,
        "MiB" => (1_u64 << 20) as f64,
        "GiB" => (1_u64 << 30) as f64,
        _ => 0.0,
    };
    let bytes = text[..digits].parse::<f64>().map_or(0.0, |number| number * scale);
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err("expected a size such as 500MB or 8GiB".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_ray_with_or_without_an_address() {
        let address = |text| parse_on(text).map(|on| on.address);
        assert_eq!(address("ray"), Ok(None));
        assert_eq!(address("ray=10.0.0.1:6379"), Ok(Some("10.0.0.1:6379".to_owned())));
        assert!(address("ray=").is_err() && address("slurm").is_err() && address("").is_err());
    }

    #[test]
    fn memory_is_a_number_with_a_unit() {
        assert_eq!(parse_memory("8GiB"), Ok(8 << 30));
        assert_eq!(parse_memory("1.5GB"), Ok(1_500_000_000));
        assert!(
            ["", "GiB", "8 apples", "0", "-1GB", "1e400GB"].iter().all(|text| parse_memory(text).is_err())
        );
    }
}
