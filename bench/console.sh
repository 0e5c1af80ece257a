#!/usr/bin/env bash
# Measures the console with a million items stored: the server's time for each page, and what a browser transfers for all
# of them. The time is that from the request to the first byte of the answer, on this machine; the slowest of five.
# Usage: bench/console.sh [LATCHKEY]   with a release build; ITEMS=1000000 unless given.
set -euo pipefail
latchkey="$(realpath "${1:-target/release/latchkey}")"
cd "$(dirname "$0")/.."
items="${ITEMS:-1000000}"
work="$(mktemp -d)" server=""
end() { [ -z "$server" ] || { kill "$server" 2> /dev/null && wait "$server" 2> /dev/null; server=""; } || true; }
trap 'end; rm -rf "$work"' EXIT
unset LATCHKEY_SECRET

# A hundred things to an owner, each in an index too.
cat > "$work/things.md" << 'DOC'
# Things

```contract
system things

table Things { type kind }

entity Thing "THING" {
  PK = "OWNER#{ownerId}"
  SK = "THING#{madeAt}#{thingId}"

  ownerId id, thingId id, madeAt time, state NEW | USED = NEW, size int 0..999

  index ByState {
    PK = "STATE#{state}#{ownerId}"
    SK = "{madeAt}"
  }
}

contract TH-1 "The things of an owner" {
  GET /owners/{ownerId}/things

  allow caller owns ownerId
  things = query Thing
    where PK = "OWNER#{ownerId}"
    page 25 max 100
  return things

  consistency eventual
  expect 0..100 items
  rate 1/s
}

contract TH-2 "Make a thing" {
  POST /owners/{ownerId}/things
  input thingId id, size Thing.size

  allow caller owns ownerId
  thing = put Thing { ownerId, thingId, size, madeAt = now } if absent else 409 there
  return 201 thing

  consistency strong
  expect 1 item
  rate 1/s
}
```

```example
as alice
POST /owners/alice/things {"thingId": "T1", "size": 3}
201 {"state": "NEW"}
GET /owners/alice/things
200
```
DOC

echo "storing $items items" >&2
awk -v items="$items" 'BEGIN {
  for (n = 0; n < items; n++) {
    owner = "o" int(n / 100); thing = sprintf("t%07d", n)
    at = sprintf("2026-01-%02dT%02d:%02d:00.000Z", 1 + n % 28, n % 24, n % 60)
    printf "{\"Item\":{\"PK\":{\"S\":\"OWNER#%s\"},\"SK\":{\"S\":\"THING#%s#%s\"},\"kind\":{\"S\":\"THING\"},", owner, at, thing
    printf "\"ownerId\":{\"S\":\"%s\"},\"thingId\":{\"S\":\"%s\"},\"madeAt\":{\"S\":\"%s\"},", owner, thing, at
    printf "\"state\":{\"S\":\"NEW\"},\"size\":{\"N\":\"%d\"},", n % 1000
    printf "\"ByStatePK\":{\"S\":\"STATE#NEW#%s\"},\"ByStateSK\":{\"S\":\"%s\"}}}\n", owner, at
  }
}' > "$work/items.json"
"$latchkey" import "$work/things.md" --data "$work/data" --from "$work/items.json" > "$work/imported" 2>&1 \
  || { cat "$work/imported"; exit 1; }
rm "$work/items.json"

"$latchkey" serve "$work/things.md" systems/*.md --listen 127.0.0.1:0 --data "$work/data" > "$work/said" 2> "$work/log" &
server=$!
until grep -qs "  token " "$work/said"; do
  kill -0 "$server" 2> /dev/null || { cat "$work/said" "$work/log" >&2; exit 1; }
  sleep 0.1
done
url="$(sed -n 's/^ *listening *//p' "$work/said")"
token="$(sed -n 's/^ *token *//p' "$work/said")"
get() { curl --silent --show-error --fail --compressed --cookie "latchkey-console-${url##*:}=$token" "$@"; }

# The time in milliseconds and the bytes of a page as a browser is sent them, once the page is known to be there.
measure() {
  for _ in 1 2 3 4 5; do
    get --output /dev/null --write-out '%{time_pretransfer} %{time_starttransfer} %{size_download} %{size_header}\n' "$url$1"
  done | awk -v page="$1" '{ ms = ($2 - $1) * 1000; if (ms > most) most = ms; bytes = $3 + $4 }
    END { printf "| %-48s | %6.1f | %7d |\n", page, most, bytes }'
}

partition="/console/systems/things/table?partition=OWNER%23o4711"
echo "| page                                             |     ms |   bytes |"
echo "|--------------------------------------------------|-------:|--------:|"
{
  for page in / /console/operations /console/figures.json /console/traffic.json /console/find.json \
    /console/systems/things /console/systems/things/contracts/TH-1 /console/systems/things/table "$partition" \
    /console/systems/things/play /console/systems/things/play.json /console/systems/smartlocker \
    /console/systems/smartlocker/play.json; do
    measure "$page"
  done
  for page in / /console/operations /console/systems/things /console/systems/things/contracts/TH-1 "$partition" \
    /console/systems/things/play; do
    get "$url$page" | grep -o '/console/assets/[^"]*'
  done | sort -u > "$work/linked"
  # A script may import others that stand beside it.
  while read -r asset; do
    echo "$asset"
    case "$asset" in *.js) get "$url$asset" | grep -o 'from "\./[^"]*' | sed "s|from \"\./|${asset%/*}/|" || true ;; esac
  done < "$work/linked" | sort -u > "$work/assets"
  while read -r asset; do measure "$asset"; done < "$work/assets"
} | tee "$work/table"
awk -F'|' '{ bytes += $4; if ($3 > most) most = $3 } END {
  printf "\nThe slowest page takes %.1f ms; 100 ms are allowed. All pages and files are %d KB; 300 are allowed.\n", most, bytes / 1000
  exit !(most < 100 && bytes < 300000) }' "$work/table"
