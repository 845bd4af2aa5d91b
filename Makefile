# `make test` runs everything; `make check` is what to run before each commit.
# They need a Rust toolchain (1.95 or newer), and the tests of the Python package Python 3.11 or newer:
# what those need besides (torch and TensorFlow, about 8 GB) goes into an environment in the user's cache folder, once.

# One profile everywhere, so that nothing is built twice.
CARGO_FLAGS := --release --workspace --locked --features laptime/tracing,laptime/load

.PHONY: test test-core check fmt clippy doc direction words python-check rust-test python-test programs page-tools bench wheels

test: check rust-test python-test

# What needs no Python: the crates without the package, and no framework of training.
test-core:
	cargo test --release --locked -p laptime-core -p laptime-store -p laptime-record -p laptime-analyse -p laptime-profile

rust-test: programs page-tools
	cargo test $(CARGO_FLAGS)

check: fmt words python-check clippy doc direction

fmt:
	cargo fmt --all --check
	rustfmt --edition 2024 --check examples/*/src/main.rs

clippy:
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc $(CARGO_FLAGS) --no-deps

direction:
	cargo test $(CARGO_FLAGS) --test direction

# Linters of text and Python, in an environment of their own.
CHECK := $(HOME)/.cache/laptime/check
CHECK_NEEDS := python/requirements-check.txt
CHECK_STAMP = $(CHECK)/.laptime-$(shell sha256sum $(CHECK_NEEDS) | cut -c1-16)

$(CHECK_STAMP): $(CHECK_NEEDS)
	test -x $(CHECK)/bin/python || python3 -m venv $(CHECK)
	$(CHECK)/bin/pip install --quiet --requirement $(CHECK_NEEDS)
	touch $@

words: $(CHECK_STAMP)
	$(CHECK)/bin/typos

python-check: $(CHECK_STAMP)
	$(CHECK)/bin/ruff check --quiet
	$(CHECK)/bin/ruff format --check --quiet
	$(CHECK)/bin/mypy

# The package, built as the wheel that people install and tested through it.
VENV := $(HOME)/.cache/laptime/venv
PYTHON_NEEDS := python/requirements-test.txt
PYTHON_STAMP = $(VENV)/.laptime-$(shell sha256sum $(PYTHON_NEEDS) | cut -c1-16)

$(PYTHON_STAMP): $(PYTHON_NEEDS)
	test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement $(PYTHON_NEEDS)
	touch $@

# Programs that tests use, each with its package: Debian's, where they may be installed, else those tests are skipped.
PROGRAMS := chromium:chromium promtool:prometheus mpirun:openmpi-bin nginx:nginx vsftpd:vsftpd sshd:openssh-server \
	openssl:openssl curl:curl

programs:
	@export PATH="$$PATH:/usr/sbin"; \
	missing=$$(for program in $(PROGRAMS); do command -v $${program%%:*} >/dev/null || echo $${program##*:}; done); \
	test -z "$$missing" || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { apt-get update && apt-get install --yes --no-install-recommends $$missing; } >/dev/null 2>&1; } || \
	echo "not installed, so the tests that use them are skipped:" $$missing

# What drives the browser that looks at laptime's own pages, and what judges them: from npm, where that is.
PAGE_TOOLS := $(HOME)/.cache/laptime/npm

page-tools:
	@test -d $(PAGE_TOOLS)/node_modules/puppeteer-core -a -d $(PAGE_TOOLS)/node_modules/axe-core || \
	{ command -v npm >/dev/null && \
	  npm install --prefix $(PAGE_TOOLS) --no-save --no-audit --no-fund --silent puppeteer-core@24 axe-core@4 >/dev/null 2>&1; } || \
	echo "no npm here: what axe-core would find in pages is not tested"

python-test: $(PYTHON_STAMP) programs page-tools
	rm -rf dist
	$(VENV)/bin/maturin build --quiet --release --locked --out dist
	$(VENV)/bin/pip install --quiet --force-reinstall --no-deps dist/laptime-*.whl
	$(VENV)/bin/pytest --quiet python/tests

# Wheels that install without Rust: Zig links them against old C libraries, for x86-64, ARM64 and musl.
WHEELS := $(HOME)/.cache/laptime/wheels
WHEEL_NEEDS := python/requirements-wheels.txt
WHEEL_STAMP = $(WHEELS)/.laptime-$(shell sha256sum $(WHEEL_NEEDS) | cut -c1-16)
MATURIN = PATH="$(WHEELS)/bin:$$PATH" maturin build --quiet --release --locked --zig --out dist/wheels

$(WHEEL_STAMP): $(WHEEL_NEEDS)
	test -x $(WHEELS)/bin/python || python3 -m venv $(WHEELS)
	$(WHEELS)/bin/pip install --quiet --requirement $(WHEEL_NEEDS)
	touch $@

wheels: $(WHEEL_STAMP)
	rustup --quiet target add aarch64-unknown-linux-gnu x86_64-unknown-linux-musl
	rm -rf dist/wheels
	$(MATURIN) --target x86_64-unknown-linux-gnu --compatibility manylinux2014
	$(MATURIN) --target aarch64-unknown-linux-gnu --compatibility manylinux2014
	$(MATURIN) --target x86_64-unknown-linux-musl --compatibility musllinux_1_2
	ls -l dist/wheels

# The bars, each a table.
bench: $(PYTHON_STAMP)
	cargo run --release --locked -p laptime-benches -- guard
	cargo run --release --locked -p laptime-benches -- epochs
	cargo run --release --locked -p laptime-benches -- export
	cargo run --release --locked -p laptime-benches -- memory
	cargo run --release --locked -p laptime-benches -- kill
	cargo run --release --locked -p laptime-benches -- planted
	cargo run --release --locked -p laptime-benches -- rows
	cargo run --release --locked -p laptime-benches -- scan
	cargo run --release --locked -p laptime-benches -- simulation
	cargo run --release --locked -p laptime-benches -- sweep
	cargo run --release --locked -p laptime-benches -- frameworks
	$(VENV)/bin/python benches/python/overhead.py
	$(VENV)/bin/python benches/python/torch_step.py
	$(VENV)/bin/python benches/python/collectives.py
	$(VENV)/bin/python benches/python/keras_fit.py
	$(VENV)/bin/python benches/python/profile_cost.py
	$(VENV)/bin/python benches/python/live_page.py
	$(VENV)/bin/python benches/python/forks.py 10000
	$(VENV)/bin/python benches/python/ray_sweep.py
	$(VENV)/bin/python benches/python/run_list.py

# Recorded trainings of other Rust libraries. They are packages of their own and no part of `make test`: Burn takes
# minutes to build.
.PHONY: examples example-burn example-candle
examples: example-burn example-candle

example-burn example-candle: example-%:
	runs=$$(mktemp -d) && trap 'rm -rf "$$runs"' EXIT && export LAPTIME_DIR="$$runs" && \
	cargo run --release --locked --manifest-path examples/$*/Cargo.toml && \
	cargo run --quiet --release --locked -- report >"$$runs/report" && \
	cat "$$runs/report" && grep --quiet ' 6 epochs ' "$$runs/report"
