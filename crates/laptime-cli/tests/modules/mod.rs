//! The top modules of a crate and which of them names which, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// For each top module the others that it names, modules for tests left out.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The graph of the crate whose sources are in a folder.
pub(crate) fn graph(src: &Path) -> Graph {
    let root = code(&src.join("lib.rs"));
    let modules = declared(&root);
    let owners = owners(&root, &modules);
    let named = |module: &String| {
        let mut names = BTreeSet::new();
        collect(&file_of(src, module), &src.join(module), 1, &mut names);
        let owner = |name: &String| match modules.contains(name) {
            true => Some(name.clone()),
            false => owners.get(name).or_else(|| owners.get("*")).cloned(),
        };
        let mut named: BTreeSet<String> = names.iter().filter_map(owner).collect();
        named.remove(module);
        (module.clone(), named)
    };
    modules.iter().map(named).collect()
}

/// Every set of modules that reach each other, each with a way round.
pub(crate) fn cycles(graph: &Graph) -> Vec<(BTreeSet<String>, String)> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|one| (one, reached(graph, one))).collect();
    let mut found: BTreeMap<BTreeSet<String>, String> = BTreeMap::new();
    for one in graph.keys().filter(|one| reach[one].contains(one)) {
        let together = reach[one].iter().filter(|other| reach[**other].contains(one));
        let together: BTreeSet<String> = together.map(|other| (*other).clone()).collect();
        found.entry(together).or_insert_with(|| way_round(graph, one));
    }
    found.into_iter().collect()
}

fn reached<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = graph[from].iter().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    reached
}

/// The shortest way from a module back to itself: `clock → report → clock`.
fn way_round(graph: &Graph, from: &str) -> String {
    let mut ways: Vec<Vec<&str>> = vec![vec![from]];
    let mut seen = BTreeSet::new();
    while let Some(way) = (!ways.is_empty()).then(|| ways.remove(0)) {
        for next in graph.get(*way.last().unwrap()).into_iter().flatten() {
            let longer = [&way[..], &[next.as_str()]].concat();
            if next == from {
                return longer.join(" → ");
            }
            if seen.insert(next) {
                ways.push(longer);
            }
        }
    }
    String::new()
}

/// The names after `crate::`, or after as many `super::` as lead to the root, in a module and those inside it.
fn collect(file: &Path, folder: &Path, depth: usize, names: &mut BTreeSet<String>) {
    let code = code(file);
    let to_root = "super::".repeat(depth);
    for path in ["crate::", to_root.as_str()] {
        for (at, _) in code.match_indices(path) {
            let outer = code[..at].ends_with("super::") || code[..at].ends_with(is_of_word);
            if !outer && !code[at + path.len()..].starts_with("super::") {
                names.extend(first_names(&code[at + path.len()..]));
            }
        }
    }
    for module in declared(&code) {
        collect(&file_of(folder, &module), &folder.join(&module), depth + 1, names);
    }
}

/// `a` of `a::b`, or `a` and `c` of `{a::b, c::{d, e}}`.
fn first_names(path: &str) -> Vec<String> {
    let word = |text: &str| text.trim_start().chars().take_while(|c| is_of_word(*c)).collect::<String>();
    let Some(inside) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut names, mut depth, mut begun) = (Vec::new(), 0, 0);
    for (at, letter) in inside.char_indices() {
        match letter {
            ',' | '}' if depth == 0 => {
                names.push(word(&inside[begun..at]));
                begun = at + 1;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if letter == '}' && depth == 0 && begun == at + 1 {
            break;
        }
    }
    names
}

/// Modules declared with `mod name;`.
fn declared(code: &str) -> BTreeSet<String> {
    let mut words = code.split_whitespace().peekable();
    let mut found = BTreeSet::new();
    while let Some(word) = words.next() {
        if word == "mod"
            && let Some(name) = words.peek().and_then(|name| name.strip_suffix(';'))
        {
            found.insert(name.to_owned());
        }
    }
    found
}

/// Which module a name at the root comes from; `*` of all that are not listed.
fn owners(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for statement in root.split(';').filter_map(|statement| Some(statement.split_once("use ")?.1)) {
        let Some((module, names)) = statement.split_once("::") else { continue };
        let module = module.trim().to_owned();
        if modules.contains(&module) {
            let names = names.split(|c: char| !is_of_word(c) && c != '*').filter(|name| !name.is_empty());
            owners.extend(names.map(|name| (name.to_owned(), module.clone())));
        }
    }
    owners
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn file_of(folder: &Path, module: &str) -> PathBuf {
    let beside = folder.join(format!("{module}.rs"));
    if beside.is_file() { beside } else { folder.join(module).join("mod.rs") }
}

fn code(file: &Path) -> String {
    let source = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    without_tests(&without_text(&source))
}

/// The source without comments and without what stands in quotes.
fn without_text(source: &str) -> String {
    let (mut kept, mut rest) = (String::new(), source);
    while let Some(at) = rest.find(['/', '"', '\'', 'r']) {
        kept.push_str(&rest[..at]);
        let word = kept.ends_with(is_of_word);
        rest = &rest[at..];
        let skipped = match rest.as_bytes() {
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.find("*/").map_or(rest.len(), |end| end + 2),
            [b'"', ..] => quoted(rest),
            [b'r', b'"' | b'#', ..] if !word => raw(rest),
            [b'\'', b'\\', ..] => rest[3..].find('\'').map_or(rest.len(), |end| end + 4),
            [b'\'', _, b'\'', ..] => 3,
            _ => 0,
        };
        let taken = if skipped == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { 0 };
        kept.push_str(&rest[..taken]);
        rest = &rest[skipped.max(taken)..];
    }
    kept + rest
}

fn quoted(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

fn raw(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|letter| *letter == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    text[2 + hashes..].find(&end).map_or(text.len(), |at| 2 + hashes + at + end.len())
}

/// The code without items that only tests have.
fn without_tests(code: &str) -> String {
    let (mut kept, mut rest) = (String::new(), code);
    while let Some((before, after)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        rest = &after[item_len(after)..];
    }
    kept + rest
}

/// To the end of the first item: its semicolon, or the bracket that closes its body.
fn item_len(code: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in code.char_indices() {
        match letter {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}
