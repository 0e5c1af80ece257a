#!/usr/bin/env bash
# Holds the OpenAPI documents to the recommended rules of Redocly and Spectral: no error, no warning. The golden files,
# the shipped documents together, and the designs, each in both versions; and that of a server with an identity provider.
# Usage: tests/openapi/lint.sh [LATCHKEY]   with the command that is built, or that of target/debug
set -euo pipefail
latchkey="$(realpath "${1:-target/debug/latchkey}")"
cd "$(dirname "$0")"

export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
npm ci --silent --ignore-scripts
rm -rf made && mkdir made
for version in 3.1 3.0; do
  "$latchkey" openapi --version "$version" > "made/all-$version.json"
  for document in ../../designs/*.md ../../docs/language.md ../http/answers.md ../http/documents/shop.md; do
    name="$(basename "$document" .md)"
    [ "$name" = README ] || "$latchkey" openapi "$document" --version "$version" > "made/$name-$version.json"
  done
done
# The provider is away, which stops no server.
data="$(mktemp -d)"
LATCHKEY_LOG=off "$latchkey" serve ../../systems/smartlocker.md --listen 127.0.0.1:0 --data "$data/store" \
  --oidc http://127.0.0.1:1 --audience lint > "$data/said" &
server=$!
trap 'kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; rm -rf "$data"' EXIT
until grep -q "  openapi " "$data/said"; do
  kill -0 "$server" 2> /dev/null || { cat "$data/said"; exit 1; }
  sleep 0.1
done
curl --silent --fail "$(sed -n 's/^ *openapi *//p' "$data/said")" > made/oidc-3.1.json
grep -q openIdConnectUrl made/oidc-3.1.json

node_modules/.bin/spectral lint --ruleset .spectral.yaml --fail-severity hint golden/*.json made/*.json
# A warning is no failure to Redocly, so its counts are read, one for each file.
node_modules/.bin/redocly lint --config redocly.yaml --format json golden/*.json made/*.json > made/redocly.txt 2> made/said.txt \
  || { cat made/said.txt made/redocly.txt; exit 1; }
if grep -qE '"(errors|warnings)": [1-9]' made/redocly.txt; then
  cat made/redocly.txt
  exit 1
fi
files="$(ls golden/*.json made/*.json | wc -l)"
[ "$(grep -c '"totals"' made/redocly.txt)" = "$files" ] || { cat made/said.txt; exit 1; }
echo "openapi: $files documents, nothing to tell"
