#!/usr/bin/env bash
# The command without the AWS SDK: it builds, checks, tests and serves, and says so where AWS is asked for. It has a
# build of its own, so that the other builds keep their features.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}/without-aws"
cargo build -p latchkey-cli --no-default-features --locked --target-dir "$target"
latchkey="$PWD/$target/debug/latchkey"
[ -x "$latchkey" ] || latchkey="$target/debug/latchkey"

here="$(mktemp -d)"
server=
stop() {
    if [ -n "$server" ]; then kill "$server" 2> /dev/null && wait "$server" || true; fi
    rm -rf "$here"
}
trap stop EXIT

"$latchkey" check systems/*.md
"$latchkey" test systems/*.md

# What needs AWS is refused, by name, with what to do.
refused() {
    local wanted="$1"
    shift
    if "$latchkey" "$@" > "$here/said" 2>&1; then
        echo "without AWS, this went well: latchkey $*"
        exit 1
    fi
    if ! grep -q "$wanted" "$here/said" || ! grep -q "cargo install --path crates/cli" "$here/said"; then
        echo "latchkey $* says:"
        cat "$here/said"
        exit 1
    fi
}
refused "has no DynamoDB" serve --dynamodb --data "$here/data"
refused "has no DynamoDB" test --dynamodb
refused "has no DynamoDB" table create systems/*.md
refused "has no DynamoDB" table diff systems/*.md
refused "has no SQS" serve --sqs --data "$here/data"
refused "has no SQS" queue create --sqs
"$latchkey" table cloudformation systems/*.md | grep -q "AWS::DynamoDB::Table"

"$latchkey" serve --listen 127.0.0.1:0 --data "$here/data" > "$here/served" 2> "$here/log" &
server=$!
while ! grep -q "  health" "$here/served"; do
    kill -0 "$server" || { cat "$here/log"; exit 1; }
    sleep 0.1
done
port="$(sed -n 's/^  listening  http:.*://p' "$here/served")"
exec 3<> "/dev/tcp/127.0.0.1/$port"
printf 'GET /health HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n' >&3
read -r status <&3
[[ "$status" == "HTTP/1.1 200 "* ]] || { echo "/health answers $status"; exit 1; }
echo "without AWS: check, test and serve work"
