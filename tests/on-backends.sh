#!/usr/bin/env bash
# Runs the suites that must come out the same on every backend on those that are not this machine's own store:
# AWS's DynamoDB Local and dynoxide-rs.
#
#   tests/on-backends.sh [BACKEND…] [-- ARGUMENTS OF cargo nextest run]
#
# A backend is `dynamodb-local` or `dynoxide`; without any, both. Each is started once and shared by all tests.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${LATCHKEY_DYNAMODB_LOCAL:-}" ]; then
  exec tests/services/with.sh tests/on-backends.sh "$@"
fi

backends=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case "$1" in
    dynamodb-local | dynoxide) backends+=("$1") ;;
    *)
      echo "there is no backend \`$1\`: dynamodb-local, dynoxide" >&2
      exit 2
      ;;
  esac
  shift
done
if [ "${1:-}" = -- ]; then shift; fi
if [ ${#backends[@]} = 0 ]; then backends=(dynamodb-local dynoxide); fi

# What is not run, and why. All else of the suites is.
left_out=(
  "disk::|the disk is the service's own"
  "refusals::a_second_server_on_one_directory_is_refused_until_the_first_is_gone|any number may serve one table"
  "refusals::what_is_no_data_directory_is_refused|no store is opened there"
  "private::all_that_is_made_is_its_owners_alone|no store is made there"
  "everything::|the invariants are looked for in the store on this machine"
  "invariants::|so are these"
  "overload::|what is shed is measured on the store on this machine"
  "demo::|a demo is always in memory"
  "endpoint::|these start a service to kill it, and run with the rest of the tests"
)
filter='binary(http) + binary(faults)'
echo "Left out on services:"
for line in "${left_out[@]}"; do
  echo "  ${line%%|*}: ${line#*|}"
  filter="($filter) - test(/^${line%%|*}/)"
done

failed=0
for backend in "${backends[@]}"; do
  echo "On $backend:"
  LATCHKEY_TEST_BACKEND="$backend" cargo nextest run --locked --workspace --no-fail-fast -E "$filter" "$@" \
    || failed=1
done
exit "$failed"
