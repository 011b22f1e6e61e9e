# SPDX-License-Identifier: MIT
# `cmake --workflow --preset deb` makes the Debian package.
set(CPACK_PACKAGE_VENDOR "geonosis")
set(CPACK_PACKAGE_CONTACT "geonosis maintainers <root@localhost>")
set(CPACK_GENERATOR "TGZ")
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION "devel")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Asked for what is not read without it; outside of repositories it is not missed.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "git")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion")
include(CPack)
