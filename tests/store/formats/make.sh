#!/usr/bin/env bash
# Makes the store of a format, which later releases must open: a server of the release that writes the format serves the
# shipped systems, is called, and is killed. What it held is exported by the same release.
#
#   tests/store/formats/make.sh LATCHKEY FORMAT      FORMAT is the number of the format; its folder is made here
#
# Run it once for each format, with the last release that writes it, and commit the folder.
set -euo pipefail
cd "$(dirname "$0")"
latchkey="$(realpath "$1")" format="$2" systems="$(realpath ../../../systems)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export LATCHKEY_SECRET="the secret of tests that all of them know"

"$latchkey" serve "$systems"/*.md --data "$work/data" --no-workers --listen 127.0.0.1:0 > "$work/told" 2>&1 &
server=$!
until grep -q '^ *listening' "$work/told"; do sleep 0.1; done
address="$(sed -n 's/^ *listening *//p' "$work/told")"
token() { "$latchkey" token --sub "$1" --role admin --role device --data "$work/data"; }
call() {
  curl --silent --show-error --fail-with-body -H "authorization: Bearer $1" -H 'content-type: application/json' \
    -X "$2" "$address$3" ${4:+-d "$4"} > /dev/null
}
admin="$(token admin)"
for n in 1 2 3 4 5 6 7 8; do
  call "$admin" POST /lockers "{\"lockerId\": \"L$n\", \"ownerId\": \"owner\", \"lockerAlias\": \"ünï 🔑 $n\"}"
  call "$admin" POST "/lockers/L$n/reservations" \
    "{\"ownerId\": \"owner\", \"startAt\": \"2126-01-0${n}T10:00:00Z\", \"endAt\": \"2126-01-0${n}T11:00:00Z\"}"
  call "$admin" POST "/lockers/L$n/events" \
    '{"action": "OPEN", "actorId": "d", "result": "FAIL", "metadata": {"a": [1, null, {"b": 1.5}]}}'
  call "$admin" POST /locations "{\"locationCode\": \"code-$n\", \"name\": \"N\", \"placeId\": \"P\",
    \"formattedAddress\": \"F\", \"lat\": 1.25, \"lng\": -2}"
done
call "$admin" POST /admin/events '{"eventId": "e", "title": "E", "mode": "FIRST_COME", "capacity": 2}'
call "$admin" POST /admin/events '{"eventId": "l", "title": "L", "mode": "LOTTERY", "winRate": 0.5}'
for person in ann ben cleo; do
  call "$(token $person)" POST /events/e/participations
  call "$(token $person)" POST /events/l/participations
done
kill -9 "$server"
wait "$server" || true

rm -rf "$format"
mkdir "$format"
rm -f "$work/data/lock"
cp -r "$work/data" "$work/copy"
chmod -R go-rwx "$work/copy"
for document in "$systems"/*.md; do
  name="$(basename "$document" .md)"
  "$latchkey" export "$document" --data "$work/copy" --out "$work/$name.jsonl" > /dev/null
  LC_ALL=C sort "$work/$name.jsonl" > "$format/$name.jsonl"
done
for file in "$work"/data/*; do
  [ -s "$file" ] || continue
  case "$(basename "$file")" in store.redb | journal-*) ;; *) continue ;; esac
  python3 -c '
import sys, zlib
deflate = zlib.compressobj(9, wbits=-15)
sys.stdout.buffer.write(deflate.compress(sys.stdin.buffer.read()) + deflate.flush())
' < "$file" > "$format/$(basename "$file").deflate"
done
ls -l "$format"
