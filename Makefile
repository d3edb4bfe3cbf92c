# The front door: `make help` lists what there is. Recipes stay short; what needs more is a command of e2e's binary.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := bash

CARGO ?= cargo
# The test bed keeps the helm that it built here.
CACHE := $(or $(NODE_ROTATION_E2E_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/node-rotation-controller)
HELM ?= $(or $(shell command -v helm),$(lastword $(sort $(wildcard $(CACHE)/helm-*/bin/helm))),helm)
SIM = $(CARGO) run --locked --quiet --profile model -p noderotation-sim --
CHART := charts/node-rotation-controller
CRD := rotationpolicies.noderotation.io.yaml
# Installed for the repository alone, beside whatever version somebody has.
CARGO_FUZZ_VERSION := 0.13.2
CARGO_FUZZ := target/tools/cargo-fuzz-$(CARGO_FUZZ_VERSION)
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := target/tools/cargo-deny-$(CARGO_DENY_VERSION)
CARGO_LLVM_COV_VERSION := 0.9.1
CARGO_LLVM_COV := target/tools/cargo-llvm-cov-$(CARGO_LLVM_COV_VERSION)
# The oldest compiler that is promised.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Says which stage begins.
stage = @printf '\n==> %s\n' '$(1)'
# Says in one line which tool is missing and what to do.
need = @command -v $(1) >/dev/null || { echo 'make: $(1) is missing: $(2)' >&2; exit 1; }

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: check-tools build ## Rotate a real node on a real cluster and show it. KEEP=1 leaves the cluster up.
	$(call stage,demo)
	@$(CARGO) run --locked --quiet -p e2e -- demo $(if $(filter-out 0,$(KEEP)),--keep)

.PHONY: test
test: check-tools lint unit tidy page model sim e2e ## Run everything: lints, tests, page, models, a real cluster.
	$(call stage,all passed)

.PHONY: lint
lint: ## Check format, lints and the links of the documentation; a warning is an error.
	$(call stage,format)
	@$(CARGO) fmt --all --check
	$(call stage,clippy)
	@$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(call stage,documentation of the code)
	@$(MAKE) --no-print-directory docs

.PHONY: unit
unit: ## Run the tests that need no cluster.
	$(call stage,unit tests)
	@$(CARGO) test --locked --workspace --lib --bins --examples
	@$(CARGO) test --locked --workspace --doc --quiet
	@$(CARGO) test --locked -p noderotation-forecast --test parity
	@$(CARGO) test --locked -p noderotation-simulate --test published
	@$(CARGO) test --locked -p node-rotation-controller --test scripts
	@$(CARGO) test --locked -p node-rotation-controller --test shell -- --show-output

.PHONY: tidy
tidy: ## Check what keeps the repository consistent.
	$(call stage,tidiness)
	@# A test asks Cargo about all packages of the lock file, those of other systems too, and must not wait for a network.
	@$(CARGO) fetch --locked --quiet
	@$(CARGO) test --locked -p node-rotation-controller --test tidy --test chart --test supply
	@$(CARGO) test --locked -p node-rotation-controller --test cases --quiet -- --show-output

.PHONY: page
page: build ## Look at the page in Chromium, where that and Node.js are installed.
	$(call stage,page)
	@tests/page/run.sh

.PHONY: e2e
e2e: build ## Run the tests on a real cluster. ARGS='NAME' picks some.
	$(call stage,tests on a real cluster)
	@$(CARGO) test --locked -p e2e --test e2e -- $(ARGS)

.PHONY: record
record: build ## Record on a real cluster what the alerts are judged by, into e2e/recorded/. ARGS='watch_record::stuck' picks one.
	$(call stage,recordings)
	@RECORD=1 $(CARGO) test --locked -p e2e --test e2e -- $(or $(ARGS),watch_record)

.PHONY: chaos
chaos: build ## Rotate 300 nodes in bad weather, strike 16 leaders, and take the API server away. ROTATIONS=1000 and LEADERS=32 go on, SEED=7 repeats.
	$(call stage,rotations in bad weather)
	@ROTATIONS=$(or $(ROTATIONS),300) SEED=$(SEED) $(CARGO) test --locked -p e2e --test e2e -- fault_storm
	$(call stage,leaders killed and stopped and cut off)
	@LEADERS=$(or $(LEADERS),16) SEED=$(SEED) $(CARGO) test --locked -p e2e --test e2e -- leader_chaos
	$(call stage,outages)
	@AWAY=$(or $(AWAY),60) $(CARGO) test --locked -p e2e --test e2e -- --include-ignored fault_outage

.PHONY: bench
bench: ## Measure what the rules, the forecast, `check`, `plan`, `simulate` and the admission endpoint cost.
	$(call stage,benchmarks)
	@$(CARGO) bench --locked -p noderotation-core --bench policy -- --noplot
	@$(CARGO) bench --locked -p noderotation-forecast --bench year -- --noplot
	@$(CARGO) bench --locked -p node-rotation-controller --bench check --bench plan -- --noplot
	@$(CARGO) bench --locked -p noderotation-webhook --bench endpoint
	@$(CARGO) bench --locked -p noderotation-simulate --bench simulated_year

.PHONY: bench-check
bench-check: ## Count the instructions of the rules and compare them with those written down. Needs valgrind; BLESS=1 writes.
	$(call stage,instructions)
	@$(CARGO) bench --locked -p noderotation-core --bench instructions

.PHONY: image
image: ## Carry out the Dockerfile without Docker, look at the image and start it. Takes root. ARCH=arm64 only builds.
	$(call stage,image)
	@$(CARGO) run --locked --quiet -p e2e -- image $(if $(ARCH),--architecture $(ARCH))

.PHONY: model
model: ## Let the model checker try to break a rotation, and see that it can. DEPTH=3 WORLD='two pools' goes further.
	$(call stage,model checker)
	@WORLD='$(WORLD)' $(SIM) model $(DEPTH)
	$(call stage,faults put in on purpose)
	@$(SIM) faults

.PHONY: sim
sim: ## Live through months of made-up clusters. SEED=7 replays one.
	$(call stage,simulation)
	@$(SIM) simulate $(SEED)

.PHONY: fuzz
fuzz: $(patsubst fuzz/targets/%.rs,fuzz-%,$(wildcard fuzz/targets/*.rs)) ## Look for inputs that break a promise. SECONDS=60 for each target.

# What is found on the way stays out of the committed seeds. Without a sanitizer it runs on stable.
fuzz-%: $(CARGO_FUZZ)/bin/cargo-fuzz
	$(call need,c++,install a C++ compiler)
	$(call stage,fuzzing: $*)
	@mkdir -p target/fuzz/corpus/$*
	@$< run --sanitizer none --target-dir target/fuzz $* target/fuzz/corpus/$* fuzz/corpus/$* $(if $(filter policy,$*),examples) -- \
		-dict=fuzz/dictionaries/$* -max_total_time=$(or $(SECONDS),60) -timeout=10 -max_len=4096 -print_final_stats=1

$(CARGO_FUZZ)/bin/cargo-fuzz:
	$(call stage,install cargo-fuzz)
	@$(CARGO) install --locked --quiet --version $(CARGO_FUZZ_VERSION) --root $(CARGO_FUZZ) cargo-fuzz

.PHONY: deny
deny: $(CARGO_DENY)/bin/cargo-deny ## Check licences, sources and banned packages. CHECKS='advisories' asks for known faults, from the network.
	$(call stage,dependencies)
	@$< --workspace --locked check $(or $(CHECKS),licenses bans sources)

.PHONY: sbom
sbom: ## Write the bill of materials of the program, CycloneDX, to target/sbom/.
	@$(CARGO) fetch --locked --quiet
	@SBOM='$(CURDIR)/target/sbom/node-rotation-controller.cdx.json' \
		$(CARGO) test --locked --quiet -p node-rotation-controller --test supply the_bill_of_materials
	@ls target/sbom

.PHONY: msrv
msrv: ## Check that the oldest compiler promised compiles everything. Needs rustup.
	$(call need,rustup,install rustup)
	$(call stage,Rust $(MSRV))
	@rustup toolchain install $(MSRV) --profile minimal
	@CARGO_TARGET_DIR=target/msrv rustup run $(MSRV) cargo check --locked --workspace --all-targets

.PHONY: coverage
coverage: $(CARGO_LLVM_COV)/bin/cargo-llvm-cov ## Measure how much of core its own unit tests run. Needs the component llvm-tools.
	$(call stage,coverage of core)
	@PATH="$(CURDIR)/$(CARGO_LLVM_COV)/bin:$$PATH" $(CARGO) llvm-cov --locked -p noderotation-core --lib --summary-only

target/tools/cargo-%/bin/cargo-deny:
	$(call stage,install cargo-deny)
	@$(CARGO) install --locked --quiet --version $(CARGO_DENY_VERSION) --root $(CARGO_DENY) cargo-deny

target/tools/cargo-%/bin/cargo-llvm-cov:
	$(call stage,install cargo-llvm-cov)
	@$(CARGO) install --locked --quiet --version $(CARGO_LLVM_COV_VERSION) --root $(CARGO_LLVM_COV) cargo-llvm-cov

.PHONY: up
up: check-tools build ## Boot a cluster to play with; Ctrl-C ends it.
	@$(CARGO) run --locked --quiet -p e2e -- up

.PHONY: build
build: ## Build the operator.
	$(call stage,build)
	@$(CARGO) build --locked --bin node-rotation-controller

.PHONY: crds
crds: build ## Write the CRD, here and into the chart, from the Rust types.
	@mkdir -p crds $(CHART)/crds
	@$(CARGO) run --locked --quiet --bin node-rotation-controller -- crd > crds/$(CRD).new
	@mv crds/$(CRD).new crds/$(CRD)
	@cp crds/$(CRD) $(CHART)/crds/$(CRD)

.PHONY: chart
chart: ## Lint the chart and render it with its defaults.
	$(call need,$(HELM),install Helm 4 or let `cargo run -p e2e -- build` build it)
	@$(HELM) lint --strict $(CHART)
	@$(HELM) template node-rotation-controller $(CHART) --namespace node-rotation-system

.PHONY: chart-docs
chart-docs: ## Carry the comments of the chart's values.yaml into its schema and README.
	@BLESS=1 $(CARGO) test --locked --quiet -p node-rotation-controller --test chart schema_and_readme

.PHONY: metrics-docs
metrics-docs: ## Write the table of docs/metrics.md from what a scrape shows.
	@BLESS=1 $(CARGO) test --locked --quiet -p node-rotation-controller --bin node-rotation-controller the_table_of_the_page

.PHONY: flags-docs
flags-docs: ## Write the tables of docs/command-line.md from the command line.
	@BLESS=1 $(CARGO) test --locked --quiet -p node-rotation-controller --bin node-rotation-controller the_tables_of_the_page

.PHONY: man
man: ## Write the manual pages to target/man/.
	@MANUAL='$(CURDIR)/target/man' $(CARGO) test --locked --quiet -p node-rotation-controller --bin node-rotation-controller the_manual
	@ls target/man

.PHONY: docs
docs: ## Build the documentation of the code; a broken link is an error.
	@RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --quiet --workspace --no-deps --document-private-items

.PHONY: bless
bless: ## Accept new snapshots after looking at what changed. Never in CI.
	$(call need,cargo-insta,install it with: cargo install cargo-insta)
	@$(CARGO) insta test --accept --workspace --exclude e2e
	@BLESS=1 $(CARGO) test --locked -p node-rotation-controller --test scripts

.PHONY: check-tools
check-tools:
	$(call need,$(CARGO),install Rust 1.89 or newer)
	$(call need,cc,install a C compiler)
	$(call need,go,install Go 1.21 or newer)
