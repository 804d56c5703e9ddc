# One obvious command for each chore. The work is done by scripts/, so that it can be read and run without make.
#
#   ARGS         extra arguments, e.g.  make run ARGS="--warehouses 4 --duration 10s"
#   CARGO_FLAGS  flags for every cargo call that builds, e.g.  make test CARGO_FLAGS=--offline

SHELL := /bin/bash
ARGS ?=
CARGO_FLAGS ?=
export CARGO_FLAGS
# A shell that was open while rustup ran does not know cargo yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help run test quick lint book deny audit bench dist clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\): .*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r target what; do printf '%-12s %s\n' "$$target" "$$what"; done

run: ## build, benchmark the embedded default target, write out/report.html and out/result.json
	@scripts/run.sh $(ARGS)

test: ## run every test, or ARGS="-p gemel": those of a package (server programs are installed when missing)
	@scripts/test.sh $(ARGS)

quick: ## unit tests, rules of the structure, one run on the embedded database; no servers: under 2 minutes once built
	cargo test $(CARGO_FLAGS) -p lydite-architecture
	cargo test $(CARGO_FLAGS) --workspace --exclude lydite-testkit --lib --bins $(ARGS)
	cargo run $(CARGO_FLAGS) -p lydite -- run gemel: --warehouses 1 --duration 2s --warmup 0s

lint: ## formatting, clippy, docs, shell scripts, private names in the text
	@scripts/lint.sh $(ARGS)

book: ## this project's book as a site: target/book/index.html (the commands in it are tested by make test)
	@scripts/book.sh $(ARGS)

deny: ## licences, bans and sources of the dependencies (no network)
	@scripts/deny.sh licenses bans sources

audit: ## known vulnerabilities in the dependencies (fetches the advisory database)
	@scripts/deny.sh advisories

bench: ## run every executable benches/*.sh
	@scripts/bench.sh

dist: ## the products of a release in dist/, tried where they can be; ARGS=--twice compares two builds
	@scripts/dist.sh $(ARGS)

clean: ## remove what was built and written
	cargo clean
	rm -rf out dist
