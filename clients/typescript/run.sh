#!/usr/bin/env bash
# Generates the types from an OpenAPI document, compiles the client strictly, and runs it: run.sh OPENAPI.json
set -euo pipefail
openapi="$(realpath "$1")"
cd "$(dirname "$0")"
npm ci --silent --ignore-scripts
rm -rf made && mkdir made
node_modules/.bin/openapi-typescript "$openapi" --output made/schema.ts > made/said.txt 2>&1 || { cat made/said.txt; exit 1; }
node_modules/.bin/tsc --project .
node made/life.js
