//! The modules that a thread calls from outside any other, known by their address.

use super::Address;

/// What a call of a module means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleKind {
    /// It computes what is trained.
    Model,
    /// It computes a loss.
    Loss,
    /// Its call is no stage: code of a compiled function, whose caller is one.
    Silent,
}

/// What is known of one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    address: Address,
    pub(super) kind: ModuleKind,
    /// Whether it was called to be trained.
    pub(super) trained: bool,
}

/// Sorted by address: a script that calls every layer by itself has many.
pub(super) struct Modules(Vec<Known>);

impl Modules {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    fn place(&self, address: Address) -> Result<usize, usize> {
        self.0.binary_search_by_key(&address.0, |known| known.address.0)
    }

    #[inline]
    pub(super) fn find(&self, address: Address) -> Option<Known> {
        self.place(address).ok().map(|at| self.0[at])
    }

    pub(super) fn register(&mut self, address: Address, kind: ModuleKind) {
        let known = Known { address, kind, trained: false };
        match self.place(address) {
            Ok(at) => self.0[at] = known,
            Err(at) => self.0.insert(at, known),
        }
    }

    pub(super) fn train(&mut self, address: Address) {
        if let Ok(at) = self.place(address) {
            self.0[at].trained = true;
        }
    }

    pub(super) fn forget(&mut self, address: Address) {
        if let Ok(at) = self.place(address) {
            self.0.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_known_until_it_is_forgotten() {
        let mut modules = Modules::new();
        for address in [3, 1, 2] {
            modules.register(Address(address), ModuleKind::Model);
        }
        modules.register(Address(2), ModuleKind::Loss);
        modules.train(Address(3));
        modules.train(Address(9));
        modules.forget(Address(1));
        let kinds = [1, 2, 3, 9].map(|at| modules.find(Address(at)).map(|known| (known.kind, known.trained)));
        assert_eq!(kinds, [None, Some((ModuleKind::Loss, false)), Some((ModuleKind::Model, true)), None]);
    }
}
