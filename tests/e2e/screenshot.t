#!/bin/sh
# tools/screenshot makes the screenshot of README.md.

: "${top_srcdir:=.}" "${top_builddir:=.}"
# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"

for tool in chromium chromedriver curl jq sqlite3; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# FILE: whether it is a PNG of at most 100 kB
is_picture()
{
	[ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] &&
		[ "$(wc -c <"$1")" -le 100000 ]
}

ok "a picture is taken" env BUILD_DIR="$top_builddir" \
	"$top_srcdir/tools/screenshot" "$dir/page.png"
ok "which is small" is_picture "$dir/page.png"
ok "as is the one that is kept" is_picture "$top_srcdir/web/overview.png"
ok "and shown" grep -qF '(web/overview.png)' "$top_srcdir/README.md"

echo "1..$tests_run"
