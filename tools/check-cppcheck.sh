#!/bin/bash
# SPDX-License-Identifier: MIT
# cppcheck over the product; what is suppressed, and why, stands in tools/cppcheck.supp.
set -eu
cd "$(dirname "$0")/.."
exec cppcheck --quiet --error-exitcode=1 --std=c11 --platform=unix64 -j "$(nproc)" \
    --enable=warning,performance,portability --inconclusive \
    --suppressions-list=tools/cppcheck.supp -D_GNU_SOURCE -D__linux__ \
    -DGEONOSIS_VERSION='""' --template='{file}:{line}: {severity}: {message} [{id}]' \
    -I. ipc worker git supervisor tools
