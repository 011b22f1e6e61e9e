#!/bin/bash
# SPDX-License-Identifier: MIT
# From a checkout to a working geonosis on Debian 12, as root or as a user with sudo:
# packages, a release build, installation under /usr/local (or PREFIX), and then the
# program's own work: it proves that it can fail, and verifies this project's fast tier.
set -eu
cd "$(dirname "$0")/.."
tools/install-packages.sh
cmake --preset release "-DCMAKE_INSTALL_PREFIX=${PREFIX:-/usr/local}"
cmake --build build/release
as_root=()
[ "$(id -u)" = 0 ] || [ -w "${PREFIX:-/usr/local}/bin" ] || as_root=(sudo)
"${as_root[@]}" cmake --install build/release
geonosis=${PREFIX:-/usr/local}/bin/geonosis
"$geonosis" verify --prove
"$geonosis" verify fast
