//! Logins from `~/.netrc`, where `curl`, `ftp` and `git` look for them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::address::Address;

/// A user and a password. Its `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Login")
    }
}

/// The login of the URL, or of the file that `NETRC` names, or of `~/.netrc`.
pub(super) fn login_for(address: &Address) -> Option<Login> {
    if let (Some(user), Some(password)) = (&address.user, &address.password) {
        return Some(Login { user: user.clone(), password: password.clone() });
    }
    let home = || env::home_dir().map(|home| home.join(".netrc"));
    let file = env::var_os("NETRC").map(PathBuf::from).or_else(home)?;
    let login = of_file(&file, &address.host)?;
    // A user in the URL asks for the password of that user only.
    address.user.as_ref().is_none_or(|user| *user == login.user).then_some(login)
}

fn of_file(file: &Path, host: &str) -> Option<Login> {
    of_text(&fs::read_to_string(file).ok()?, host)
}

/// The first entry of the machine, or the `default`. Macros end where an empty line does.
fn of_text(text: &str, host: &str) -> Option<Login> {
    let (mut login, mut password, mut ours) = (None, None, false);
    let mut words =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    let done = |login: &Option<String>, password: &Option<String>| {
        Some(Login { user: login.clone()?, password: password.clone()? })
    };
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if ours && let Some(found) = done(&login, &password) {
                    return Some(found);
                }
                (login, password) = (None, None);
                ours = word == "default" || words.next().is_some_and(|name| name.eq_ignore_ascii_case(host));
            }
            "login" => login = words.next().map(str::to_owned),
            "password" => password = words.next().map(str::to_owned),
            _ => {}
        }
    }
    if ours { done(&login, &password) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\nmachine a.example login one password p1\nmachine b.example\n  login two\n  password p2\ndefault login any password p3\n";

    #[test]
    fn a_machine_has_its_own_login_and_others_the_default() {
        let of = |host| of_text(TEXT, host).map(|login| (login.user, login.password));
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(of("a.example"), pair("one", "p1"));
        assert_eq!(of("B.example"), pair("two", "p2"));
        assert_eq!(of("c.example"), pair("any", "p3"));
        assert_eq!(of_text("machine a login x", "a"), None);
    }
}
