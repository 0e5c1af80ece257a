#!/usr/bin/env bash
# Generates the client from an OpenAPI 3.0 document as it is compiled, and runs it: run.sh OPENAPI-3.0.json
set -euo pipefail
openapi="$(realpath "$1")"
cd "$(dirname "$0")"
mkdir -p made
# progenitor knows the type of a problem only as `application/json`. An unchanged file is not compiled again.
sed 's#application/problem+json#application/json#g' "$openapi" > made/new.json
cmp --silent made/new.json made/openapi.json || mv made/new.json made/openapi.json
CARGO_TARGET_DIR=made/target cargo build --quiet --locked
made/target/debug/latchkey-client-test
