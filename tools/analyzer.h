/* SPDX-License-Identifier: MIT */
/*
 * Told to the analyzer, which sees one file at a time: what fails by error_set() and its
 * like returns -1, so that it does not follow paths on which a failed call went on.
 */
#ifndef TOOLS_ANALYZER_H
#define TOOLS_ANALYZER_H

#include "ipc/error.h"

#define error_set(...) ((void)error_set(__VA_ARGS__), -1)
#define error_system(...) ((void)error_system(__VA_ARGS__), -1)
#define error_wrap(...) ((void)error_wrap(__VA_ARGS__), -1)

/* Given for supervisor/config alone: its names are its own. */
#ifdef ANALYZER_CONFIG
#include "supervisor/config/document.h"
#define document_refuse(...) ((void)document_refuse(__VA_ARGS__), -1)
#endif

#endif
