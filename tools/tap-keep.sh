#!/bin/bash
# SPDX-License-Identifier: MIT
# Run a command that prints TAP, keep the TAP in a file too, and exit as the command did.
# usage: tap-keep.sh FILE COMMAND …
set -u -o pipefail
file=$1
shift
"$@" | tee "$file"
