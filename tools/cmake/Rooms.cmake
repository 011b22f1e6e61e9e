# SPDX-License-Identifier: MIT
# gn_library(NAME lower libraries …): the library of one top-level folder.
# gn_sources(NAME files …): its files by name, .c compiled, .h checked to stand alone
# by the target all_verify_interface_header_sets.

function(gn_library name)
	# A folder may still be empty of .c files, which CMake refuses.
	file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/empty.c CONTENT "extern int gn_empty;\n")
	add_library(${name} STATIC ${CMAKE_BINARY_DIR}/empty.c)
	set_target_properties(${name} PROPERTIES
	    LINKER_LANGUAGE C VERIFY_INTERFACE_HEADER_SETS ON)
	target_link_libraries(${name} PUBLIC strict ${ARGN})
endfunction()

function(gn_sources name)
	set(sources ${ARGN})
	set(headers ${ARGN})
	list(FILTER sources INCLUDE REGEX "\\.c$")
	list(FILTER headers INCLUDE REGEX "\\.h$")
	target_sources(${name} PRIVATE ${sources})
	if(headers)
		target_sources(${name} PUBLIC FILE_SET HEADERS
		    BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
	endif()
endfunction()
