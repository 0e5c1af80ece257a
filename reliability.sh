#!/usr/bin/env bash
# Tries to break every promise of docs/reliability.md, for long, and prints the figures. CI runs the same tests, short.
#
#   ./reliability.sh                   all of them; takes hours
#   ./reliability.sh kill messages     some of them
#   ./reliability.sh --list            which there are, and for how long
#   ROUNDS=50 ./reliability.sh kill    another length
#   PROFILE=dev ./reliability.sh kill  a debug build, where a release build takes too long
set -euo pipefail
cd "$(dirname "$0")"

# A promise, how many rounds its long form has, the suite, and the tests.
promises=(
  "histories|10000|promises|histories::"
  "transfers|1000000|promises|transfers::transfers_of_many"
  "transfers-http|50000|promises|transfers::transfers_over_http"
  "clock|2000|promises|clock::"
  "winners|1000|workers|rounds::"
  "messages|3|workers|steps::a_message_survives_a_kill_between_any_two_steps_of_a_sweep_on_sqs"
  "messages-embedded|3|store|messages::"
  "kill|1000|faults|everything::"
  "power|1000|store|torn::"
  "failing-disk|200|store|failing::"
  "failing-calls|200|store|calls::"
  "files|20000|store|damage::no_change"
  "overload|60|faults|overload::"
  "requests|1000000|faults|mangled::"
  "fuzz|10000000|fuzz|mutate::"
  # Property tests beside the code, each with so many inputs: what the store, the queues and the server read and write.
  "codecs|10000000||"
  # Not of nextest: so many seconds for each reader, with inputs that are led by what they reach.
  "guided|600||"
)

wanted=("$@")
if [ "${1:-}" = --list ]; then
  for promise in "${promises[@]}"; do
    IFS='|' read -r name rounds _ tests <<< "$promise"
    [ "$name" != codecs ] || tests="each crate: read_or_refused"
    printf '%-18s %9s rounds of %s\n' "$name" "$rounds" "${tests:-tests/fuzz/guided/run.sh, a second each}"
  done
  exit
fi
for name in "${wanted[@]}"; do
  if ! printf '%s\n' "${promises[@]}" | grep -q "^$name|"; then
    echo "there is no promise \`$name\`: ./reliability.sh --list" >&2
    exit 2
  fi
done

figures="$(mktemp)"
trap 'rm -f "$figures"' EXIT
failed=0
for promise in "${promises[@]}"; do
  IFS='|' read -r name rounds suite tests <<< "$promise"
  if [ ${#wanted[@]} != 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then continue; fi
  if [ "$name" = guided ]; then
    SECONDS_EACH="${ROUNDS:-$rounds}" tests/fuzz/guided/run.sh | sed "s/^/$name: /" | tee -a "$figures" || failed=1
    continue
  fi
  if [ "$name" = codecs ]; then
    rounds="${ROUNDS:-$rounds}"
    # nextest shows how far it is on standard error, too, if that is a terminal.
    PROPTEST_CASES="$rounds" cargo nextest run --locked --workspace --exclude latchkey-tests --no-fail-fast \
      --cargo-profile "${PROFILE:-release}" -E 'test(/read_or_refused$/)' 2>&1 | tee /dev/stderr |
      sed -n "s/^ *\(PASS\|FAIL\) /codecs, $rounds inputs: \1 /p" | tee -a "$figures" || failed=1
    continue
  fi
  # The figures go to standard output, and how far it is to standard error.
  LATCHKEY_PROMISE_ROUNDS="${ROUNDS:-$rounds}" cargo nextest run --locked -p latchkey-tests --test "$suite" \
    --cargo-profile "${PROFILE:-release}" --no-capture --run-ignored all --no-fail-fast \
    -E "test(/^$tests/)" | sed -n '/^$/d; /^running /d; /^test /d; s/^/'"$name"': /p' | tee -a "$figures" || failed=1
done
echo
echo "Figures:"
cat "$figures"
exit "$failed"
