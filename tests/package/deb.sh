#!/bin/bash
# SPDX-License-Identifier: MIT
# The Debian package: built, installed in a Debian of its own with nothing but what it
# depends on, used there, removed again.  TAP; what needs that Debian is skipped where it
# cannot be made (not root, no mirror).
# usage: deb.sh SOURCE_DIR
# shellcheck disable=SC2016,SC2317 # formats and scripts of others; cases are called by name
set -u
sources=$(realpath "${1:?usage: deb.sh SOURCE_DIR}") || exit 2
# shellcheck source=tests/package/tap.sh
. "$sources/tests/package/tap.sh"
unset "${!GEONOSIS_@}"

files='/usr/bin/geonosis
/usr/share/bash-completion/completions/geonosis
/usr/share/doc/geonosis/copyright
/usr/share/fish/vendor_completions.d/geonosis.fish
/usr/share/geonosis/geonosis.schema.json
/usr/share/man/man1/geonosis-gate.1
/usr/share/man/man1/geonosis-verify.1
/usr/share/man/man1/geonosis.1
/usr/share/man/man5/geonosis-report.5
/usr/share/man/man5/geonosis.json.5
/usr/share/zsh/vendor-completions/_geonosis'

# --- a bare Debian, made while the package is built ---

bare=$work/bare
# The archive that this machine's apt has its own release from.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
    'Created-By: Packages' 2>/dev/null |
    awk -v release="$release" '$1 == release && $2 == "main" && $3 ~ /\/debian\/?$/ { print $3; exit }')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/geonosis-tests/debs-$release

no_bare=
if [ "$(id -u)" != 0 ]; then
	no_bare='needs root'
elif ! command -v debootstrap >/dev/null; then
	no_bare='no debootstrap'
elif [ -z "$mirror" ]; then
	no_bare='apt names no Debian archive'
elif ! unshare -m true 2>/dev/null; then
	no_bare='no mount namespace'
else
	mkdir -p "$cache"
	timeout 150 unshare -m debootstrap --variant=minbase --cache-dir="$cache" \
	    "$release" "$bare" "$mirror" >"$work/debootstrap.log" 2>&1 &
	bootstrap=$!
fi

# --- the package ---

build=$work/build
package() {
	built "$sources" "$build" -DCMAKE_INSTALL_PREFIX=/usr && (cd "$build" && cpack -G DEB) &&
	    deb=$(echo "$build"/*.deb) && [ -f "$deb" ]
}
control() { dpkg-deb -f "$deb" "$1"; }
depends() {
	local name
	for name in libc6 libjson-c5 libpcre2-8-0 libbsd0 libyaml-0-2; do
		[[ ", $(control Depends)" = *", $name"* ]] ||
		    { echo "no $name: $(control Depends)"; return 1; }
	done
	[[ ", $(control Recommends)," = *", git,"* ]] || { control Recommends; return 1; }
}
contents() {
	equal "$(dpkg-deb -c "$deb" | sed -n '/^-/s#.* \./#/#p' | LC_ALL=C sort)" "$files"
}
destdir() {
	DESTDIR=$work/dest cmake --install "$build" || return
	equal "$(cd "$work/dest" && find . -type f -printf '/%P\n' | LC_ALL=C sort)" "$files"
}

check 'the package is built' package || { done_testing; }
check 'it depends on its libraries and recommends git' depends
check 'it holds the program, its pages and its completions' contents
check 'cmake --install puts the same under DESTDIR' destdir

# --- there ---

inside() {
	# Its own /proc and /dev/shm; gone with the namespace.
	timeout 120 unshare -m -p -f --kill-child sh -c '
		mount -t proc proc "$0/proc" && mkdir -p "$0/dev/shm" &&
		mount -t tmpfs tmpfs "$0/dev/shm" && cd "$0" && exec chroot "$0" "$@"' \
	    "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
	    DEBIAN_FRONTEND=noninteractive "$@"
}
# Every path of the package, of files and directories, that is there.
leftovers() {
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's#^\./#/#' | while read -r path; do
		[ ! -e "$bare$path" ] || echo "$path"
	done
}
fetched() {
	cp /etc/resolv.conf /etc/hosts "$bare/etc/" 2>/dev/null
	# This machine's way to its archive: proxies, and how it judges dates.
	apt-config dump | grep '^Acquire::' >"$bare/etc/apt/apt.conf.d/99machine"
	cp "$deb" "$bare/tmp/geonosis.deb"
	inside apt-get update -q &&
	    inside apt-get install -q -y --no-install-recommends --download-only /tmp/geonosis.deb
}
installed() {
	inside apt-get install -q -y --no-install-recommends /tmp/geonosis.deb &&
	    equal "$(inside dpkg-query -W -f '${Status}' geonosis)" 'install ok installed'
}
version() {
	equal "$(inside geonosis --version)" "geonosis $(control Version)"
}
proven() {
	equal "$(inside geonosis verify --prove)" \
	    'PROVEN — a planted "exit 3" step reached the report and exited 1'
}
tiers() {
	mkdir -p "$bare/tmp/project"
	echo '{ "verify": { "good": ["true"], "bad": ["exit 3"] } }' >"$bare/tmp/project/geonosis.json"
	exits 0 inside sh -c 'cd /tmp/project && exec geonosis verify good' &&
	    exits 1 inside sh -c 'cd /tmp/project && exec geonosis verify bad' &&
	    exits 2 inside sh -c 'cd /tmp/project && exec geonosis verify ugly' &&
	    grep '"exitCode": 3' "$bare/tmp/project/.geonosis/gate-report.json"
}
pages() {
	local page
	for page in geonosis.1 geonosis-verify.1 geonosis-gate.1; do
		[ -s "$bare/usr/share/man/man1/$page" ] || { echo "no $page"; return 1; }
	done
	for page in geonosis.json.5 geonosis-report.5; do
		[ -s "$bare/usr/share/man/man5/$page" ] || { echo "no $page"; return 1; }
	done
}
completions() {
	equal "$(inside bash -c 'cd /tmp/project && . /usr/share/bash-completion/completions/geonosis &&
		COMP_WORDS=(geonosis verify "") COMP_CWORD=2 && _geonosis geonosis && echo "${COMPREPLY[*]}"')" \
	    'good bad'
	# Those of the other shells are what the program prints.
	equal "$(cat "$bare/usr/share/zsh/vendor-completions/_geonosis")" \
	    "$(inside geonosis completion zsh)" &&
	    equal "$(cat "$bare/usr/share/fish/vendor_completions.d/geonosis.fish")" \
		"$(inside geonosis completion fish)"
}
removed() {
	inside dpkg -r geonosis && equal "$(leftovers)" "$before" &&
	    equal "$(find "$bare/usr" "$bare/etc" "$bare/var/lib" -iname '*geonosis*')" ''
}

there=('it installs with what it depends on, and nothing else' 'the program says its version'
    'it proves that it can fail' 'a tier is run and recorded' 'its pages are there'
    'its completions work' 'removed, it leaves nothing')
if [ -z "$no_bare" ]; then
	wait "$bootstrap" || no_bare='debootstrap could not fetch'
fi
if [ -n "$no_bare" ]; then
	[ ! -s "$work/debootstrap.log" ] || tail -n 3 "$work/debootstrap.log" | quiet | sed 's/^/# /'
	skip "$no_bare" "${there[@]}"
	done_testing
fi
before=$(leftovers)
if ! fetched >"$log" 2>&1; then
	quiet <"$log" | tail -n 3 | sed 's/^/# /'
	skip 'what it depends on could not be fetched' "${there[@]}"
	done_testing
fi
check "${there[0]}" installed || done_testing
check "${there[1]}" version
check "${there[2]}" proven
check "${there[3]}" tiers
check "${there[4]}" pages
check "${there[5]}" completions
check "${there[6]}" removed
done_testing
