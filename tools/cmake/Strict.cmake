# SPDX-License-Identifier: MIT
# The compiler's contract, one INTERFACE target that every target of ours links.
# -Werror is only in the presets: a newer compiler must not break a user's build.

set(GN_SANITIZE "" CACHE STRING "sanitizers to build with, as for -fsanitize= (empty: none)")
option(GN_FUZZ "build the fuzz targets (clang only)" OFF)

add_library(strict INTERFACE)
target_compile_definitions(strict INTERFACE
    _GNU_SOURCE
    GEONOSIS_VERSION="${PROJECT_VERSION}"
)
target_include_directories(strict INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(strict INTERFACE
    -Wall -Wextra -Wpedantic
    -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Wundef
    -Wcast-qual -Wwrite-strings -Wimplicit-fallthrough -Wconversion
)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# A gate that goes on past a broken invariant may answer green: asserts stay in a release.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g3")

if(GN_SANITIZE)
	target_compile_options(strict INTERFACE
	    -fsanitize=${GN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
	target_link_options(strict INTERFACE -fsanitize=${GN_SANITIZE})
	# For tests of memory and of single steps, which mean nothing under a sanitizer.
	target_compile_definitions(strict INTERFACE GN_SANITIZED=1)
endif()
if(GN_FUZZ)
	target_compile_options(strict INTERFACE -fsanitize=fuzzer-no-link)
endif()
# Binding at the start costs nothing measurable with libc alone to bind.
target_link_options(strict INTERFACE -Wl,--as-needed -Wl,-z,relro,-z,now)
