#!/usr/bin/env bash
# Runs a command with services that speak DynamoDB's protocol, which end with it:
#
#   tests/services/with.sh COMMAND ARGUMENT…
#
# LATCHKEY_DYNAMODB_LOCAL has the endpoint of AWS's DynamoDB Local, LATCHKEY_DYNOXIDE that of dynoxide-rs. Tests
# that need one use it, and otherwise start their own.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"

# A service ends when its standard input is closed, which this script holds open until it ends, however it ends.
begin() {
  local name="$1" program="$2" line said input
  said="$(mktemp -u)"
  mkfifo "$said"
  exec {input}> >("$program" > "$said")
  line=
  read -r line < "$said" || true
  rm "$said"
  if [ -z "$line" ]; then
    echo "$program does not start" >&2
    exit 1
  fi
  export "$name=${line#listening }"
}

manifest="$root/Cargo.toml"
cargo build --quiet --locked --manifest-path "$manifest" --workspace --all-targets
target="$(cargo metadata --locked --no-deps --format-version 1 --manifest-path "$manifest" \
  | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')"
begin LATCHKEY_DYNAMODB_LOCAL "$root/tests/services/dynamodb-local.sh"
begin LATCHKEY_DYNOXIDE "$target/debug/dynoxide-service"
"$@"
