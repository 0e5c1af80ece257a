#!/usr/bin/env bash
# Counts the instructions that the server runs for one get: with tokens of HS256, with remembered ones of RS256, with a
# limit on callers, and without the console. Rates differ by a fifth from run to run on a machine with other work; these counts hardly do.
# The token is remembered when the count begins. The sides take turns.
# Usage: bench/instructions.sh [LATCHKEY]   with a release build; ROUNDS=3 GETS=3000 unless given. Needs valgrind.
set -euo pipefail
shopt -s inherit_errexit
latchkey="$(realpath "${1:-target/release/latchkey}")"
cd "$(dirname "$0")/.."
rounds="${ROUNDS:-3}" gets="${GETS:-3000}"
work="$(mktemp -d)" server=""
end() { [ -z "$server" ] || { kill "$server" 2> /dev/null && wait "$server" 2> /dev/null; server=""; } || true; }
trap 'end; rm -rf "$work"' EXIT

LATCHKEY_SECRET="$(openssl rand -hex 32)"
export LATCHKEY_SECRET
unset LATCHKEY_SECRETS_OLD LATCHKEY_LOG
encoded() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
hs256="$("$latchkey" token --data "$work" --sub alice --role operator 2> /dev/null)"
openssl genrsa -out "$work/key.pem" 2048 2> /dev/null
modulus="$(openssl rsa -in "$work/key.pem" -noout -modulus | cut -d= -f2 | xxd -r -p | encoded)"
printf '{"keys":[{"kty":"RSA","kid":"k","alg":"RS256","use":"sig","e":"AQAB","n":"%s"}]}' "$modulus" > "$work/keys.json"
# The same claims under another signature.
signed="$(printf '{"alg":"RS256","typ":"JWT","kid":"k"}' | encoded).$(cut -d. -f2 <<< "$hs256")"
rs256="$signed.$(printf '%s' "$signed" | openssl dgst -sha256 -sign "$work/key.pem" | encoded)"

# The instructions that a server runs for one get, by itself and with other flags.
of_a_get() {
  local token="$1" data="$work/data" url
  shift
  rm -rf "$data" "$work/said" "$work"/counts*
  # The threads take turns fairly, or those that work would starve under valgrind.
  valgrind --tool=callgrind --fair-sched=yes --callgrind-out-file="$work/counts" --log-file="$work/valgrind" \
    "$latchkey" serve systems/smartlocker.md --listen 127.0.0.1:0 --data "$data" "$@" > "$work/said" 2> "$work/log" &
  server=$!
  until grep -qs "  openapi " "$work/said"; do
    kill -0 "$server" 2> /dev/null || { cat "$work/said" "$work/log" >&2; exit 1; }
    sleep 0.1
  done
  url="$(sed -n 's/^ *listening *//p' "$work/said")"
  ask() { curl --silent --show-error --fail --output /dev/null --header "authorization: Bearer $token" "$@"; }
  # A slow machine may not make the locker in time.
  ask --retry 5 --json '{"ownerId":"alice","lockerId":"L1"}' "$url/lockers"
  # What stands behind `#` is not sent: one connection, the same request each time.
  ask "$url/lockers/L1#[1-100]"
  callgrind_control --zero "$server" > /dev/null 2>&1
  ask "$url/lockers/L1#[1-$gets]"
  callgrind_control --dump "$server" > /dev/null 2>&1
  end
  # The first dump is the one that was asked for; the second is that of the end.
  awk -v gets="$gets" '$1 == "summary:" || $1 == "totals:" { print int($2 / gets); exit }' "$work"/counts.1
}

echo "instructions of a get, $gets gets, $(uname -m)"
echo "round   HS256   RS256   limited   no console   RS256/HS256   limited/HS256   HS256/no console"
provider=(--jwks "$work/keys.json" --issuer latchkey --audience latchkey)
for round in $(seq "$rounds"); do
  plain="$(of_a_get "$hs256")"
  remembered="$(of_a_get "$rs256" "${provider[@]}")"
  limited="$(of_a_get "$hs256" --limit-per-caller 1000000/s)"
  alone="$(of_a_get "$hs256" --no-console)"
  awk -v r="$round" -v p="$plain" -v t="$remembered" -v l="$limited" -v a="$alone" \
    'BEGIN { printf "%5d %7d %7d %9d %12d %13.3f %15.3f %18.3f\n", r, p, t, l, a, t / p, l / p, p / a }'
done
