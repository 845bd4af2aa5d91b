//! Licences and sources of everything that is built in, held to the rules of `deny.toml`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The licences of the list `allow` under `[licenses]`.
fn allowed() -> BTreeSet<String> {
    let rules = fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let list = rules.split("allow = [").nth(1).unwrap().split("\n]").next().unwrap();
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    list.lines().filter_map(quoted).collect()
}

/// Whether an SPDX expression can be met with the allowed licences alone.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (met, rest) = any_of(&words, allowed);
    met && rest.is_empty()
}

fn any_of<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    let (mut met, mut rest) = all_of(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (other, left) = all_of(after, allowed);
        (met, rest) = (met || other, left);
    }
    (met, rest)
}

fn all_of<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    let (mut met, mut rest) = licence(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (other, left) = licence(after, allowed);
        (met, rest) = (met && other, left);
    }
    (met, rest)
}

fn licence<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inner @ ..] => match any_of(inner, allowed) {
            (met, [")", rest @ ..]) => (met, rest),
            (_, rest) => (false, rest),
        },
        [name, "WITH", exception, rest @ ..] => (allowed.contains(&format!("{name} WITH {exception}")), rest),
        [name, rest @ ..] => (allowed.contains(*name), rest),
        [] => (false, words),
    }
}

/// Everything that is built here, as `name version (source)|licence`; the lock file names more.
fn built() -> String {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--locked",
            "--offline",
            "--edges",
            "normal,build,dev",
            "--prefix",
            "none",
        ])
        .args(["--format", "{p}|{l}"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8(tree.stdout).unwrap()
}

/// Whether a package comes from the registry or lies in this workspace: those say nothing else in brackets.
fn has_known_source(package: &str) -> bool {
    let here = workspace();
    let noted = package.split('(').skip(1).map(|noted| noted.split(')').next().unwrap_or(""));
    noted.into_iter().all(|noted| noted == "proc-macro" || Path::new(noted).starts_with(&here))
}

#[test]
fn every_package_has_an_allowed_licence_and_comes_from_the_registry() {
    let (allowed, built) = (allowed(), built());
    let packages: BTreeSet<(&str, &str)> =
        built.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')).collect();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    for (package, licence) in packages {
        assert!(is_met(licence, &allowed), "{package} is licensed {licence:?}");
        assert!(has_known_source(package), "{package} comes from elsewhere");
    }
}

#[test]
fn a_package_of_another_source_is_found() {
    assert!(has_known_source("csv v1.4.0") && has_known_source("clap_derive v4.6.0 (proc-macro)"));
    assert!(!has_known_source("csv v1.4.0 (https://example.com/csv#1234)"));
    assert!(!has_known_source("csv v1.4.0 (registry `mine`)"));
}

#[test]
fn expressions_are_met_by_a_choice_or_by_all_parts() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()]);
    for met in
        ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND MIT", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "", "none"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}
