//! The form of a change: `num_workers=4`.

use laptime_core::{CHANGES, Change};

use crate::failure::closest;

/// Reads a change by its name and value.
pub(super) fn parse_change(text: &str) -> Result<Change, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as num_workers=4")?;
    let Some((_, values)) = CHANGES.iter().find(|(known, _)| *known == name) else {
        let names = || CHANGES.iter().map(|(name, _)| *name);
        let meant = closest(name, names()).map(|name| format!("; did you mean `{name}`?"));
        let known = || format!("; known are {}", names().collect::<Vec<_>>().join(", "));
        return Err(format!("there is no change `{name}`{}", meant.unwrap_or_else(known)));
    };
    let fits = match *values {
        "N" => value.parse::<u64>().is_ok(),
        word => value == word || (word == "1" && value == "0"),
    };
    let expected = if *values == "N" { "a number" } else { values };
    if fits { Ok(Change::new(name, value)) } else { Err(format!("`{name}` takes {expected}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_known_name_with_a_value_of_its_kind() {
        assert_eq!(parse_change("num_workers=4"), Ok(Change::new("num_workers", 4)));
        assert_eq!(parse_change("autocast=bf16"), Ok(Change::new("autocast", "bf16")));
        assert_eq!(parse_change("pin_memory=0"), Ok(Change::new("pin_memory", 0)));
        assert!(parse_change("workers").unwrap_err().contains("NAME=VALUE"));
        assert!(parse_change("num_worker=4").unwrap_err().contains("did you mean `num_workers`"));
        assert_eq!(parse_change("threads=many"), Err("`threads` takes a number".to_owned()));
        assert_eq!(parse_change("autocast=fp8"), Err("`autocast` takes bf16".to_owned()));
    }
}
