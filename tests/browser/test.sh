#!/usr/bin/env bash
# Pages in a real browser call a server: pages of an origin that `--cors` lists, and pages of one that it does not.
# Usage: tests/browser/test.sh [LATCHKEY]   with the command that is built, or that of target/debug
set -euo pipefail
latchkey="$(realpath "${1:-target/debug/latchkey}")"
cd "$(dirname "$0")"

browser="$(command -v chromium || command -v chromium-browser || true)"
if [ -z "$browser" ]; then
  # Debian's own; a browser that npm would bring needs another registry.
  (apt-get update -qq && apt-get install -y -qq chromium) > /dev/null
  browser="$(command -v chromium)"
fi
npm ci --silent --ignore-scripts
made="$(mktemp -d)"
trap 'rm -rf "$made"' EXIT
node pages.mjs "$latchkey" "$browser" "$made"
