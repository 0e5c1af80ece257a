#!/usr/bin/env bash
# Hands every reader of `tests/fuzz/readers.rs` inputs that libFuzzer changes until they lead to other code.
#
#   tests/fuzz/guided/run.sh                     each reader for a minute
#   SECONDS_EACH=600 tests/fuzz/guided/run.sh    each for longer
#   tests/fuzz/guided/run.sh json cursor         some of them
#
# An input that makes a reader panic or hang is left in target/guided. Keep it as a line of tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")"
root="$(cd ../../.. && pwd)"
place="$root/target/guided"

command -v cargo-fuzz > /dev/null || cargo install --locked cargo-fuzz
# The same versions as in all other tests.
cp "$root/Cargo.lock" Cargo.lock
# Without a sanitizer the stable compiler will do, and safe code needs none.
build=(--fuzz-dir . --sanitizer none --target-dir "$place/build")
cargo fuzz build "${build[@]}" readers
readers=("$@")
[ ${#readers[@]} != 0 ] || readers=(json line number time token claims cursor document check)
for reader in "${readers[@]}"; do
  mkdir -p "$place/$reader" "$place/found"
  LATCHKEY_READER="$reader" LATCHKEY_CORPUS="$place/$reader" \
    cargo fuzz run "${build[@]}" readers "$place/$reader" -- -max_total_time="${SECONDS_EACH:-60}" -max_len=4000 \
    -timeout=20 -rss_limit_mb=4096 -artifact_prefix="$place/found/$reader-" -print_final_stats=1 \
    > "$place/$reader.log" 2>&1 || { tail -40 "$place/$reader.log"; exit 1; }
  runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$place/$reader.log")"
  cover="$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$place/$reader.log" | tail -1)"
  echo "$reader: $runs inputs, $cover places of the code reached, $(find "$place/$reader" -type f | wc -l) kept, 0 panics"
done
