#!/usr/bin/env bash
# A real browser: pages of an origin that `--cors` lists, and of one that it does not, call a server; the console, how it
# shows answers and traffic, documents of other shapes, and what goes wrong.
# Usage: tests/browser/test.sh [LATCHKEY]   with the command that is built, or that of target/debug
#        SCREENSHOTS=docs/console tests/browser/test.sh   keeps a picture of each page there
set -euo pipefail
latchkey="$(realpath "${1:-target/debug/latchkey}")"
[ -z "${SCREENSHOTS:-}" ] || SCREENSHOTS="$(realpath "$SCREENSHOTS")"
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
node console.mjs "$latchkey" "$browser" "$made" ${SCREENSHOTS:+"$SCREENSHOTS"}
node views.mjs "$latchkey" "$browser" "$made" ${SCREENSHOTS:+"$SCREENSHOTS"}
node shapes.mjs "$latchkey" "$browser" "$made" ${SCREENSHOTS:+"$SCREENSHOTS"}
