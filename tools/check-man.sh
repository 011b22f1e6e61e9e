#!/bin/bash
# SPDX-License-Identifier: MIT
# mandoc's lint over the man pages, warnings included.
set -eu
cd "$(dirname "$0")/man"
exec mandoc -T lint -W warning ./*.[1-9]
