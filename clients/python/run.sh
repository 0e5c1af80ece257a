#!/usr/bin/env bash
# Generates the client from an OpenAPI document, and runs it: run.sh OPENAPI.json
set -euo pipefail
openapi="$(realpath "$1")"
cd "$(dirname "$0")"
rm -rf made/client && mkdir -p made
# The packages are installed once, until others are asked for.
if ! cmp --silent requirements.txt made/installed.txt; then
  python3 -m venv made/venv
  made/venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
  cp requirements.txt made/installed.txt
fi
made/venv/bin/openapi-python-client generate --path "$openapi" --meta none --output-path made/client --config config.yaml \
  > made/said.txt 2>&1 || { cat made/said.txt; exit 1; }
made/venv/bin/python life.py
