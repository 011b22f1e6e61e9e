#!/bin/bash
# SPDX-License-Identifier: MIT
# Install the Debian packages of tools/packages, as root or through sudo; those that are
# there already are left as they are, so that a second call needs no network.
set -eu
cd "$(dirname "$0")"
mapfile -t packages < <(grep -v '^#' packages)
missing=()
for package in "${packages[@]}"; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
	    missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "installing ${missing[*]}"
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
