# SPDX-License-Identifier: MIT
# gn_library(NAME lower libraries …): the library of one top-level folder.
# gn_sources(NAME files …): its files by name, .c compiled, .h checked to stand alone
# by the target all_verify_interface_header_sets.

function(gn_library name)
	add_library(${name} STATIC)
	set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
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
