# shellcheck shell=sh
# sim.sh - shared by tests of aisim: sets $aisim to its path, makes a folder and
# prints results in TAP; runs no daemon

: "${top_srcdir:=.}" "${top_builddir:=.}"
# shellcheck disable=SC2034 # for who reads this file
aisim=$top_builddir/aisim/aisim
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"
