#!/usr/bin/env bash
# Everything CI runs, in one command, on a machine that has Rust and nothing of ours.
set -euo pipefail
cd "$(dirname "$0")"

for tool in cargo-nextest cargo-deny cargo-machete; do
  command -v "$tool" > /dev/null || cargo install --locked "$tool"
done

cargo fmt --all --check
cargo clippy --workspace --all-targets --locked -- -D warnings
# Licences, sources and wildcards; advisories need a database that not every machine can fetch.
cargo deny --locked check --hide-inclusion-graph licenses bans sources
cargo machete
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
# Everything below is of this one build: with other packages chosen, dependencies have other features and are built anew.
cargo build --workspace --all-targets --locked
# The benchmarks are run for a moment, so that they stay able to; their figures are not judged, so they need not
# be built for speed.
target="$(cargo metadata --locked --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')"
for measure in store http dynamodb participation windows; do "$target/debug/latchkey-bench" "$measure" --quick; done
(cd editors/vscode && npm ci --silent && npm test --silent)
tests/openapi/lint.sh "$target/debug/latchkey"
tests/schemathesis/run.sh "$target/debug/latchkey"
clients/test.sh "$target/debug/latchkey"
tests/browser/test.sh "$target/debug/latchkey"
cargo test --workspace --locked --doc
# On this machine's own store, then on what speaks DynamoDB's protocol.
tests/services/with.sh cargo nextest run --workspace --locked --no-fail-fast
tests/on-backends.sh
# The command as those build it who need no AWS.
tests/without-aws.sh
