# What a newcomer and CI run. `make demo` shows what Fairpace is for; `make check` is the inner loop.

CARGO ?= cargo
# Ends what takes too long, and says what it waited for. Cargo starts test programs with it, too (.cargo/config.toml).
LIMIT = scripts/limit.sh
# Says how long it took; .ci/run prints a table of them.
STEP = scripts/step.sh
# What `make test` runs besides the examples of the documentation.
TESTS = --workspace --lib --bins --tests --locked --no-fail-fast
# The maintainers' program.
DEV = $(CARGO) run --release --quiet --package fairpace-dev --
# More arguments, as in `make duels ARGS="--duration 20s"`: for demo, duels, evaluate, reproduce, validation, tables, level-evidence,
# accuracy, swarm, abuse, soak, kernels, packages-test, nightly, bench and bench-kernel.
ARGS ?=
# How many scenarios `make swarm` draws, and the seed of the first.
N ?= 100
SEED ?= 1

.PHONY: help demo duels evaluate leaderboard reproduce validation validation-level setup build python notebooks test test-code \
	test-packages test-python test-crates check tidy fmt lint docs bench count bench-kernel objects api packages-check deny \
	tables level-theory level-evidence accuracy swarm abuse soak nightly packages packages-test kernels uml fuzz conform

help:
	@echo "make demo          a problem and a fix: simulated, then on this machine's own kernel (4 minutes as root, 3 more to build)"
	@echo "make duels         every algorithm against every other one, simulated: docs/duels.md (minutes)"
	@echo "make evaluate      algorithms against the criteria of evaluation/level: research/level/evaluation.md; it can be interrupted"
	@echo "make leaderboard   all algorithms against all criteria, by RFC 9743: docs/evaluation.md (40 minutes); it can be interrupted"
	@echo "make reproduce     every figure of the papers, simulated: REPRODUCTION.md, reproduction/gallery.html; it can be interrupted"
	@echo "make validation    the simulator against kernels: docs/validation.md and -short.md (hours, as root, quiet machine)"
	@echo "make conform       other BBRs beside the test cases of the IETF draft: docs/conform.md (minutes; builds their crates)"
	@echo "make validation-level  the same for LEVEL: research/level/validation.md (18 minutes)"
	@echo "make test          all lints, tests, packages and counts; CI adds 30 seconds each of abuse and soak, and deny"
	@echo "make uml           the kernel of --on virtual:uml, in the user's cache (ten minutes of CPU time)"
	@echo "make python        the Python package: a wheel in dist, tested in a fresh virtual environment (5 minutes)"
	@echo "make notebooks     docs/notebooks, and the controller that one of them trains: examples/learned.h (half an hour)"
	@echo "make check         formatting, lints, unit tests (under 2 minutes)"
	@echo "make fmt lint      format all code; all lints"
	@echo "make tidy          widths, lengths, words, links and the like, with file and line (a test of make check)"
	@echo "make docs          write the generated pages that take only seconds; check and test fail if one is out of date"
	@echo "make bench         delivered packets per CPU-second in the simulator, its memory, and steps of environments"
	@echo "make count         instructions per packet in the simulator, against the recorded ones (UPDATE=1 records)"
	@echo "make bench-kernel  CPU per gigabyte of fp_bbr1 against the kernel's bbr (root)"
	@echo "make tables        the tables of experiments/tables on their pages, simulated (minutes); it can be interrupted"
	@echo "make level-theory  the model of LEVEL beside packets: the tables of research/level/theory.md"
	@echo "make level-evidence  what LEVEL's parts are worth: research/level/evidence.md; it can be interrupted"
	@echo "make swarm         check N=100 random scenarios from SEED=1 on; N=1 replays one"
	@echo "make abuse         start fairpace with hostile input for two minutes, and judge each invocation; as root the kernel's, too"
	@echo "make soak          commands of an administrator, some of them killed, while 1,000 connections send checked data (root)"
	@echo "make nightly       what is too long for CI, each with its result at the end (root, a night): ARGS=--list names it"
	@echo "make fuzz          libFuzzer on parsers and algorithms, TIME=60 seconds each; its inputs are tests of crates/fuzz"
	@echo "make accuracy      how exactly the kernel host reports sends and losses to BBRv3 (root): a table of FIDELITY.md"
	@echo "make objects       the algorithms compiled for the kernel, into crates/kernel/objects"
	@echo "make api           the public API of the crates that others use: docs/api"
	@echo "make packages-check  package all library crates, and build a program with the packages alone, without clang"
	@echo "make packages      .deb, .rpm, tarball, OCI image, SBOM and checksums into dist (on Debian 12)"
	@echo "make packages-test  the .deb in a clean Debian 12 in QEMU: install, boot, upgrade, remove; broken boots (root, 15 minutes)"
	@echo "make kernels       boot Debian's kernels in QEMU and check all algorithms on each: docs/kernels.md (root, 20 minutes)"
	@echo "make deny          licences, sources, versions and known vulnerabilities of all dependencies (cargo-deny)"
	@echo "make setup         install what is missing (Debian packages)"

setup:
	@scripts/setup.sh

build: setup
	$(CARGO) build --release --package fairpace

demo: build
	$(CARGO) run --release --quiet --package fairpace -- demo $(ARGS)

duels: setup
	$(DEV) run experiments/duels.toml --write $(ARGS)

evaluate: setup
	$(DEV) run research/level/evaluation.toml --write $(ARGS)

leaderboard: setup
	$(DEV) run experiments/leaderboard.toml --write $(ARGS)

reproduce: setup
	$(DEV) run reproduction --write $(ARGS)

validation: setup
	$(DEV) run experiments/validation.toml experiments/validation-short.toml --write $(ARGS)

validation-level: setup
	$(DEV) run research/level/validation.toml --write $(ARGS)

# Downloads the crates of conform/foreign, which nothing else needs.
conform:
	conform/foreign/run

fmt:
	$(CARGO) fmt --all
	find cc -name '*.[ch]' -exec clang-format -i {} +

# The documentation is made with the examples, so that cargo selects the same features of dependencies as for clippy and builds
# them once (27 s without, 15 s with).
lint:
	$(CARGO) fmt --all --check
	$(STEP) clippy $(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(STEP) rustdoc $(CARGO) doc --workspace --no-deps --lib --bins --examples --locked --quiet
	$(STEP) "lints of the C" cc/lint.sh

# The inner loop: no root, no kernel, no long runs. `make test` has the rest: of the tests of fairpace-dev, the one that it leaves out
# simulates figures and takes most of the time.
check: lint
	$(CARGO) test --workspace --lib --bins --locked --quiet
	$(CARGO) test --package fairpace-scenario --package fairpace-cc --package fairpace --package fairpace-dev --test all \
		--locked --quiet -- --skip the_short_version_of_a_quick_figure

# Every violation of the rules that rustc, clippy and clang do not check, with file and line.
tidy:
	$(CARGO) run --quiet --package fairpace-tidy

# The C once more with UBSan, where undefined behaviour traps; documentation's examples; then all tests.
test: test-code test-packages

test-code:
	@scripts/setup.sh --all
	$(MAKE) lint
	$(STEP) "tests of the C with UBSan" $(CARGO) test --package fairpace-cc --features ubsan --locked --no-fail-fast
	$(STEP) "examples of the documentation" $(LIMIT) $(CARGO) test --workspace --doc --locked
	$(STEP) "test programs are built" $(CARGO) test $(TESTS) --no-run
	$(STEP) "test programs" $(CARGO) test $(TESTS)

# What is built once more, in the form in which others get it. Python's tests use one core, and mostly wait: the rest runs beside
# them.
test-packages:
	@scripts/setup.sh --all
	$(MAKE) --jobs 2 test-python test-crates

test-python:
	$(STEP) "Python package" $(LIMIT) scripts/python.sh --quick

test-crates:
	$(STEP) "packages of the crates" $(LIMIT) scripts/package-crates.sh
	$(STEP) "public API" $(LIMIT) scripts/public-api.sh --check
	$(STEP) "instructions per packet" $(LIMIT) scripts/count-instructions.sh

python:
	@scripts/setup.sh --all
	LIMIT_MIN=180 $(LIMIT) scripts/python.sh

notebooks:
	@scripts/setup.sh --all
	scripts/python.sh --notebooks

docs:
	$(CARGO) run --quiet --package fairpace-dev -- docs

bench:
	$(CARGO) bench --package fairpace-dev --bench two_flows -- $(ARGS)
	scripts/bench-loads.sh
	$(CARGO) bench --package fairpace-gym

count:
	UPDATE=$(UPDATE) scripts/count-instructions.sh

bench-kernel:
	@scripts/setup.sh --all
	$(CARGO) bench --package fairpace-kernel --bench cpu -- $(ARGS)

# What the package of fairpace-kernel contains, so that building it needs no clang. Built as a part of the workspace: a package alone
# has other features of its dependencies, which would be compiled once more.
objects:
	$(CARGO) build --quiet --locked --workspace --example objects
	$${CARGO_TARGET_DIR:-target}/debug/examples/objects crates/kernel/objects

# Written again after a change of the interface; `make test` compares where cargo-public-api is installed.
api:
	scripts/public-api.sh

packages-check:
	scripts/package-crates.sh

uml:
	@scripts/uml.sh $(ARGS)

kernels: setup
	INSTALL=1 scripts/kernels.sh $(ARGS)

packages: setup
	INSTALL=1 scripts/packages.sh $(ARGS)

packages-test: setup
	INSTALL=1 scripts/packages-test.sh $(ARGS)

deny:
	@scripts/deny.sh

accuracy:
	$(DEV) accuracy --out FIDELITY.md $(ARGS)

tables:
	$(DEV) run experiments/tables --write $(ARGS)

level-theory:
	$(DEV) run research/level/theory.toml --write $(ARGS)

level-evidence:
	$(DEV) run research/level/evidence.toml research/level/evidence --write $(ARGS)

swarm:
	$(CARGO) run --profile swarm --quiet --package fairpace-dev -- swarm --count $(N) --seed $(SEED) $(ARGS)

# In the dev profile, with overflow checks and debug assertions. .ci/run does the same with what `make test` has built.
abuse:
	$(CARGO) build --quiet --locked --package fairpace --package fairpace-dev
	$(CARGO) run --quiet --locked --package fairpace-dev -- abuse $(ARGS)

soak:
	$(CARGO) build --quiet --locked --package fairpace
	$(CARGO) run --quiet --locked --package fairpace-dev -- soak $(ARGS)

nightly:
	@scripts/nightly.sh $(ARGS)

# make test runs the inputs that it has found, without the fuzzer.
fuzz:
	@scripts/setup.sh --all
	scripts/fuzz.sh
