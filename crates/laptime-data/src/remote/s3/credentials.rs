//! Keys, region and profile from the environment and `~/.aws`, as Amazon's own tools find them.

use std::env;
use std::fs;
use std::path::PathBuf;

/// Where requests go and what they are signed with. Its `Debug` shows no key.
#[derive(Clone, Default, PartialEq, Eq)]
pub(in crate::remote) struct Credentials {
    pub(super) key: Option<(String, String)>,
    pub(super) token: Option<String>,
    pub(super) region: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Credentials({})", self.region)
    }
}

impl Credentials {
    /// Of the environment first, then of the profile in `~/.aws`.
    pub(super) fn of_this_user() -> Self {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let file = |name: &str, variable: &str| {
            let home = || env::home_dir().map(|home| home.join(".aws").join(name));
            let path = env::var_os(variable).map(PathBuf::from).or_else(home)?;
            fs::read_to_string(path).ok()
        };
        let keys = file("credentials", "AWS_SHARED_CREDENTIALS_FILE").unwrap_or_default();
        let settings = file("config", "AWS_CONFIG_FILE").unwrap_or_default();
        let of_file = |name| value(&keys, &profile, name).or_else(|| value(&settings, &profile, name));
        let pair = |id: Option<String>, secret: Option<String>| id.zip(secret);
        let own = pair(variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"));
        let (key, token) = match own {
            Some(key) => (Some(key), variable("AWS_SESSION_TOKEN")),
            None => (
                pair(of_file("aws_access_key_id"), of_file("aws_secret_access_key")),
                of_file("aws_session_token"),
            ),
        };
        let region =
            variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).or_else(|| of_file("region"));
        Self { key, token, region: region.unwrap_or_else(|| "us-east-1".to_owned()) }
    }
}

/// The value of a name in `[profile]`, or `[profile profile]` as in the settings.
fn value(text: &str, profile: &str, name: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let section = section.trim();
            inside = section.strip_prefix("profile ").unwrap_or(section).trim() == profile;
        } else if inside
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == name
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_its_own_values() {
        let text = "[default]\nregion = a\n\n[profile work]\nregion=b\naws_access_key_id = k=1\n";
        assert_eq!(value(text, "default", "region").as_deref(), Some("a"));
        assert_eq!(value(text, "work", "region").as_deref(), Some("b"));
        assert_eq!(value(text, "work", "aws_access_key_id").as_deref(), Some("k=1"));
        assert_eq!(value(text, "none", "region"), None);
    }
}
