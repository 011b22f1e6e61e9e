#!/bin/bash
# SPDX-License-Identifier: MIT
# Make the npm packages of a built program, as tarballs: `geonosis`, and the program for
# this platform, which it depends on; both of the project's version.
# usage: pack.sh GEONOSIS OUT_DIR      (GEONOSIS: of the preset `release`)
set -eu
[ $# = 2 ] || { echo 'usage: pack.sh GEONOSIS OUT_DIR' >&2; exit 2; }
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")"

version=$(sed -n 's/^project(geonosis VERSION \([0-9.]*\).*/\1/p' ../../CMakeLists.txt)
[ "$("$program" --version)" = "geonosis $version" ] ||
    { echo "pack.sh: $program: not of version $version" >&2; exit 2; }
# It is to run where nobody installed libraries for it.
foreign=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc\.so\.6|ld-linux-.*)$' || true)
[ -z "$foreign" ] ||
    { echo "pack.sh: $program needs ${foreign//$'\n'/ }: build it with -DGN_STATIC_LIBS=ON" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R geonosis linux-x64 "$work"
sed -i "s/\"0\.0\.0\"/\"$version\"/" "$work"/*/package.json
mkdir "$work/linux-x64/bin" "$work/geonosis/man"
install -m 755 "$program" "$work/linux-x64/bin/geonosis"
strip "$work/linux-x64/bin/geonosis"
cp ../man/*.[1-9] "$work/geonosis/man"
"$program" schema >"$work/geonosis/geonosis.schema.json"
for package in geonosis linux-x64; do
	cp ../../LICENSE "$work/$package"
	(cd "$work/$package" && npm pack --silent --pack-destination "$out")
done
