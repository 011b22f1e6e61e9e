# SPDX-License-Identifier: MIT
# cpack -G DEB (or TGZ) in a release build makes the package.
set(CPACK_PACKAGE_VENDOR "geonosis")
set(CPACK_PACKAGE_CONTACT "geonosis maintainers <root@localhost>")
set(CPACK_GENERATOR "TGZ")
set(CPACK_DEBIAN_PACKAGE_SECTION "devel")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "git, libgit2-1.5")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
include(CPack)
