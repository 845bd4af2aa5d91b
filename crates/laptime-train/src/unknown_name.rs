//! A name that stands for no choice.

/// A setting has no choice of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {setting} `{name}`")]
pub struct UnknownName {
    /// What was to be chosen, such as `model`.
    pub setting: &'static str,
    /// What was asked for.
    pub name: String,
    /// The names there are, in the order they are listed to a user.
    pub known: Vec<&'static str>,
}

impl UnknownName {
    /// The choice of this name.
    pub(crate) fn find<T: Copy, const N: usize>(
        setting: &'static str,
        choices: [T; N],
        name_of: fn(T) -> &'static str,
        name: &str,
    ) -> Result<T, Self> {
        let known = || choices.map(name_of).to_vec();
        let found = choices.into_iter().find(|choice| name_of(*choice) == name);
        found.ok_or_else(|| Self { setting, name: name.to_owned(), known: known() })
    }

    /// The next thing to type.
    #[must_use]
    pub fn hint(&self) -> String {
        let known: Vec<String> = self.known.iter().map(|name| format!("`{name}`")).collect();
        format!("choose {}", known.join(", "))
    }
}
