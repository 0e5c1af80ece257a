#!/usr/bin/env bash
# Holds running servers to their OpenAPI documents: Schemathesis draws requests, right and wrong ones, alone and one after
# the other, with the token of every role and without one. No 5xx, no status and no answer that is not declared, no
# valid request refused as invalid, no invalid one accepted.
# Usage: tests/schemathesis/run.sh [LATCHKEY]              a short form, always the same
#        CASES=200 SEED=7 tests/schemathesis/run.sh        longer; CASES are those of an operation, for each caller
#        tests/schemathesis/run.sh LATCHKEY DOC…           of other documents
set -euo pipefail
latchkey="$(realpath "${1:-target/debug/latchkey}")"
shift || true
root="$(realpath "$(dirname "$0")/../..")"
documents=()
for document in "$@"; do documents+=("$(realpath "$document")"); done
[ "$#" -gt 0 ] || documents=("$root"/systems/*.md)
cases="${CASES:-3}" seed="${SEED:-1}"

python="$root/target/tmp/schemathesis"
if ! [ -x "$python/bin/schemathesis" ]; then
  mkdir -p "$(dirname "$python")"
  python3 -m venv "$python"
  "$python/bin/pip" install --quiet --disable-pip-version-check "schemathesis==4.32.5"
fi

# Schemathesis looks for `checks.py` here.
cd "$root/tests/schemathesis"
unset LATCHKEY_SECRET
work="$(mktemp -d)" server=""
end() { [ -z "$server" ] || { kill "$server" 2> /dev/null && wait "$server" 2> /dev/null; server=""; } || true; }
trap 'end; rm -rf "$work"' EXIT

# Tests a document as one caller; the flags are those of `latchkey token`.
as_caller() {
  local document="$1" name="$2" headers=()
  shift 2
  [ "$#" -eq 0 ] || headers=(-H "Authorization: Bearer $("$latchkey" token --data "$work/data" "$@" 2> /dev/null)")
  # `checks.py` asks more exactly what is accepted. What is deleted may be there still, as an inactive location is.
  local left_out="positive_data_acceptance,use_after_free"
  # Who has no token is refused whatever else is wrong.
  [ "$#" -gt 0 ] || left_out+=",negative_data_rejection,missing_required_header,unsupported_method,ignored_auth"
  if ! "$python/bin/schemathesis" run "$url/openapi.json" \
    "${headers[@]}" --checks all --exclude-checks "$left_out" --max-examples "$cases" --seed "$seed" \
    --continue-on-failure --warnings off --no-color > "$work/said" 2>&1 < /dev/null
  then
    cat "$work/said"
    echo "schemathesis: $(basename "$document") as $name" >&2
    exit 1
  fi
  echo "schemathesis: $(basename "$document") as $name: $(grep -o '[0-9]* generated' "$work/said" | tail -n 1)"
}

for document in "${documents[@]}"; do
  # The greeting of the server before would be taken for that of this one.
  rm -rf "$work/data" "$work/greeting"
  "$latchkey" serve "$document" --listen 127.0.0.1:0 --data "$work/data" > "$work/greeting" 2> "$work/log" &
  server=$!
  # The greeting ends with the token.
  until grep -qs "  token " "$work/greeting"; do
    kill -0 "$server" 2> /dev/null || { cat "$work/greeting" "$work/log"; exit 1; }
    sleep 0.1
  done
  url="$(sed -n 's/^ *listening *//p' "$work/greeting")"
  roles="$("$latchkey" model --json "$document" | "$python/bin/python" -c \
    'import json, sys; print(*[role["name"] for role in json.load(sys.stdin)["roles"]])')"
  as_caller "$document" nobody
  as_caller "$document" alice --sub alice
  all=()
  for role in $roles; do
    all+=(--role "$role")
    as_caller "$document" "$role" --sub "the-$role" --role "$role"
  done
  as_caller "$document" "everyone" --sub alice "${all[@]}"
  end
done
