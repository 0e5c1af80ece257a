#!/usr/bin/env bash
# Runs AWS's DynamoDB Local, fetched once, on a free port.
#
#   dynamodb-local.sh [PORT [DIR]]
#
# PORT 0, or none, takes a free one. With DIR its tables are kept there, else in memory. Prints `listening URL`
# once it answers. It ends, by SIGKILL, when standard input is closed: so it never outlives whoever started it.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
wanted="${1:-0}"
data="${2:-}"

home="$("$here/fetch.sh")"
locks="$home/ports"
mkdir -p "$locks"
if [ -n "$data" ]; then
  mkdir -p "$data"
  kept=(-dbPath "$(cd "$data" && pwd)")
else
  kept=(-inMemory)
fi

# Whoever starts us holds our standard input open; the processes below must not read it.
exec 3<&0 < /dev/null

answers() { (exec 4<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# Starts it on a port and waits until it answers; fails if it ends first.
start() {
  cd "$home"
  java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx768m -Djava.library.path=./DynamoDBLocal_lib \
    -jar DynamoDBLocal.jar -sharedDb -port "$1" "${kept[@]}" > "$locks/$1.log" 2>&1 3<&- 9>&- &
  service=$!
  trap 'kill -KILL "$service" 2> /dev/null || true' EXIT
  until answers "$1"; do
    if ! kill -0 "$service" 2> /dev/null; then return 1; fi
    sleep 0.05
  done
}

started=
for _ in $(seq 20); do
  # Below the ports that outgoing connections take.
  port="$wanted"
  if [ "$port" = 0 ]; then port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000)); fi
  exec 9> "$locks/$port"
  if flock --nonblock 9 && ! answers "$port" && start "$port"; then
    started=yes
    break
  fi
  # A port that was just left is free in a moment.
  sleep 0.1
done
if [ -z "$started" ]; then
  echo "DynamoDB Local does not start: $(cat "$locks/$port.log" 2> /dev/null)" >&2
  exit 1
fi
echo "listening http://127.0.0.1:$port"

cat <&3 > /dev/null &
wait -n || true
