//! A command line that was not understood, in the words of every other failure.

use std::error::Error;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::{EXIT_USAGE, Failure, closest};

/// The commands, as they are typed.
const COMMANDS: [&str; 12] = [
    "run", "demo", "train", "sweep", "data", "pack", "report", "advise", "predict", "compare", "runs",
    "serve",
];

/// Why to stop after reading the command line.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Help or version: show the text and end with that code; only code 0 goes to standard output.
    Show {
        /// What to show.
        text: String,
        /// The code to end with.
        exit: u8,
    },
    /// It was typed wrong.
    Refused(Failure),
}

impl Stop {
    /// What clap found, with the command line it found it in.
    pub(super) fn from_clap(error: &clap::Error, words: &[OsString]) -> Self {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Self::Show { text: error.to_string(), exit: 0 }
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Self::Show { text: error.to_string(), exit: EXIT_USAGE }
            }
            _ => Self::Refused(refused(error, words)),
        }
    }
}

/// The failure for a model laptime does not have.
pub(crate) fn unknown_model(typed: &str, known: &[&str]) -> Failure {
    let failure = Failure::usage(format!("could not train `{typed}`"))
        .because(format!("unknown model `{typed}`; available: {}", known.join(", ")));
    match closest(typed, known.iter().copied()) {
        Some(meant) => failure.hint(format!("did you mean `laptime train {meant}`?")),
        None => failure.hint(format!("laptime train {}", known.first().unwrap_or(&"mlp"))),
    }
}

fn refused(error: &clap::Error, words: &[OsString]) -> Failure {
    let typed: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Failure::usage(format!("could not understand `laptime {}`", typed.join(" ")))
        .because(because(error))
        .hint(suggestion(error, &typed).unwrap_or_else(|| help_command(&typed)))
}

fn because(error: &clap::Error) -> String {
    let (option, value) =
        (argument_name(error, ContextKind::InvalidArg), context(error, ContextKind::InvalidValue));
    match error.kind() {
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            format!("invalid value `{value}` for {option}: {why}")
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{option} needs a value"),
        ErrorKind::InvalidValue => {
            format!(
                "invalid value `{value}` for {option}: it can be {}",
                context(error, ContextKind::ValidValue)
            )
        }
        ErrorKind::UnknownArgument => format!("unknown option or argument `{option}`"),
        ErrorKind::InvalidSubcommand => {
            format!("unknown command `{}`", context(error, ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = context(error, ContextKind::InvalidArg);
            let missing: Vec<String> = missing.split(", ").map(required_name).collect();
            format!("{} {} missing", missing.join(" and "), if missing.len() > 1 { "are" } else { "is" })
        }
        ErrorKind::ArgumentConflict => conflict(error),
        _ => first_line(error),
    }
}

fn conflict(error: &clap::Error) -> String {
    let (one, other) =
        (argument_name(error, ContextKind::InvalidArg), argument_name(error, ContextKind::PriorArg));
    if one == other { format!("{one} was given twice") } else { format!("{one} cannot be used with {other}") }
}

/// Clap's own words, for what has no words of ours.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn suggestion(error: &clap::Error, typed: &[String]) -> Option<String> {
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = || kinds.into_iter().map(|kind| context(error, kind)).find(|meant| !meant.is_empty());
    let meant = closest_command(error, typed).map(str::to_owned).or_else(suggested)?;
    Some(format!("did you mean `{meant}`?"))
}

/// The command that was meant; clap takes no swapped letters of a short one for it.
fn closest_command(error: &clap::Error, typed: &[String]) -> Option<&'static str> {
    let first = typed.first().filter(|_| error.kind() == ErrorKind::InvalidSubcommand)?;
    (*first == context(error, ContextKind::InvalidSubcommand)).then(|| closest(first, COMMANDS))?
}

/// The help of the command that was meant, as far as it is known.
fn help_command(typed: &[String]) -> String {
    let path = match typed {
        [command, action, ..] if command == "runs" && action == "remove" => "runs remove ".to_owned(),
        [command, ..] if COMMANDS.contains(&command.as_str()) => format!("{command} "),
        _ => String::new(),
    };
    format!("laptime {path}--help")
}

/// The name of an option or argument as it is typed, without clap's brackets and the name of its value.
fn argument_name(error: &clap::Error, kind: ContextKind) -> String {
    bare_name(&context(error, kind))
}

fn bare_name(name: &str) -> String {
    let name = name.split(' ').next().unwrap_or_default();
    name.trim_matches(['<', '>', '[', ']', '.']).replace('|', ", ")
}

/// The name of what must be given; of a group any one must.
fn required_name(name: &str) -> String {
    let name = bare_name(name);
    if name.contains(',') { format!("one of {name}") } else { name }
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
