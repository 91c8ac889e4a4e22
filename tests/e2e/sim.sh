# shellcheck shell=sh
# Tests of aisim, which need no daemon: its path, a folder and their results.

: "${top_srcdir:=.}" "${top_builddir:=.}"
# shellcheck disable=SC2034 # for who reads this file
aisim=$top_builddir/aisim/aisim
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"
