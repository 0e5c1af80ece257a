#!/usr/bin/env bash
# Holds the OpenAPI documents to the recommended rules of Redocly and Spectral: no error, no warning. The golden files,
# the shipped documents together, and the designs, each in both versions.
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
