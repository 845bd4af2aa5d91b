# `make test` runs everything; `make check` is what to run before each commit.
# Both need a Rust toolchain (1.95 or newer) and nothing else.

# One profile everywhere, so that Burn, which takes minutes, is built once.
CARGO_FLAGS := --release --workspace --locked

.PHONY: test check fmt clippy doc direction bench python-test

test: check
	cargo test $(CARGO_FLAGS)

check: fmt clippy doc direction

fmt:
	cargo fmt --all --check

clippy:
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc $(CARGO_FLAGS) --no-deps

direction:
	cargo test --release --locked -p laptime-cli --test direction

# The package, built as the wheel that people install and tested through it.
VENV := $(HOME)/.cache/laptime/venv
PYTHON_NEEDS := python/requirements-test.txt
PYTHON_STAMP = $(VENV)/.laptime-$(shell sha256sum $(PYTHON_NEEDS) | cut -c1-16)

$(PYTHON_STAMP): $(PYTHON_NEEDS)
	test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement $(PYTHON_NEEDS)
	touch $@

python-test: $(PYTHON_STAMP)
	rm -rf dist
	$(VENV)/bin/maturin build --quiet --release --locked --out dist
	$(VENV)/bin/pip install --quiet --force-reinstall --no-deps dist/laptime-*.whl
	$(VENV)/bin/pytest --quiet python/tests

# The bars, each a table. `torch` makes a Python environment in the user's cache folder first.
bench:
	cargo run --release --locked -p laptime-benches -- guard
	cargo run --release --locked -p laptime-benches -- memory
	cargo run --release --locked -p laptime-benches -- kill
	cargo run --release --locked -p laptime-benches -- torch
