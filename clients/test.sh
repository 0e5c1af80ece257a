#!/usr/bin/env bash
# Generates a client in each language from the OpenAPI document of a running server, and lets it live through a locker's
# life and a first-come event there.
# Usage: clients/test.sh [LATCHKEY]   with the command that is built, or that of target/debug
set -euo pipefail
latchkey="$(realpath "${1:-target/debug/latchkey}")"
cd "$(dirname "$0")"

unset LATCHKEY_SECRET LATCHKEY_SECRETS_OLD
data="$(mktemp -d)"
"$latchkey" serve --listen 127.0.0.1:0 --data "$data/store" > "$data/said" 2> "$data/log" &
server=$!
trap 'kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; rm -rf "$data"' EXIT
# The greeting ends with the token.
until grep -q "  token " "$data/said"; do
  kill -0 "$server" 2> /dev/null || { cat "$data/said" "$data/log"; exit 1; }
  sleep 0.1
done

token() { "$latchkey" token --data "$data/store" "$@" 2> /dev/null; }
LATCHKEY_URL="$(sed -n 's/^ *listening *//p' "$data/said")"
OPERATOR="$(token --sub olga --role operator)"
ADMIN="$(token --sub ada --role admin)"
ALICE="$(token --sub alice)"
BOB="$(token --sub bob)"
CAROL="$(token --sub carol)"
export LATCHKEY_URL OPERATOR ADMIN ALICE BOB CAROL

curl --silent --fail "$LATCHKEY_URL/openapi.json" > "$data/openapi.json"
typescript/run.sh "$data/openapi.json"
python/run.sh "$data/openapi.json"
"$latchkey" openapi --version 3.0 > "$data/openapi-3.0.json"
rust/run.sh "$data/openapi-3.0.json"
