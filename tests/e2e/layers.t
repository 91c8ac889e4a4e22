#!/bin/sh
# The layers of HACKING.md hold: which folders a folder includes and links, and
# which functions the scheduler's core may call.

: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}"
top_builddir=$(cd "$top_builddir" && pwd)
cd "$top_srcdir" || exit 1

# shellcheck source=tests/e2e/tap.sh
. tests/e2e/tap.sh

# Each row has a folder and the folders that it may include and link. A folder
# without a row belongs to the one above it. A row may also allow a single
# header, with the functions of its .c file: the state and the runners share
# one, which says how a job ended and what a node is. The checker of plans may
# only use the snapshot and the plan, so it shares no code with the planner.
layers='
libcommon
libcommon/client          libcommon
aischedd/sched            libcommon
aischedd/sched/text       libcommon aischedd/sched
aischedd/sched/check      libcommon aischedd/sched/snap.h aischedd/sched/plan.h
aischedd/state            libcommon aischedd/sched aischedd/run/runner.h
aischedd/store            libcommon aischedd/sched aischedd/state
aischedd/run              libcommon aischedd/sched
aischedd/run/shepherd     libcommon aischedd/run
aischedd/run/local        libcommon aischedd/run aischedd/run/shepherd
aischedd/run/kube/client  libcommon
aischedd/run/kube/object  libcommon aischedd/run aischedd/run/shepherd aischedd/run/kube/client
aischedd/run/kube         libcommon aischedd/run aischedd/run/shepherd aischedd/run/kube/client aischedd/run/kube/object
aischedd/rpc              libcommon
aischedd/op               libcommon aischedd aischedd/rpc/ident.h aischedd/state aischedd/store aischedd/sched/text aischedd/read aischedd/run/kube/object
aischedd/read             libcommon aischedd aischedd/state aischedd/store aischedd/sched/text aischedd/op aischedd/run
aischedd                  libcommon aischedd/op/adopt.h aischedd/op/alloc.h aischedd/op/audit.h aischedd/op/cron_file.h aischedd/op/cron_run.h aischedd/op/mass.h aischedd/op/request.h aischedd/op/reserve.h aischedd/op/tryout.h aischedd/op/wait.h aischedd/op/web.h aischedd/read/read.h aischedd/sched/check aischedd/run aischedd/run/local/inventory.h aischedd/rpc aischedd/state aischedd/store
aisim                     libcommon aischedd/sched aischedd/sched/check aischedd/sched/text aischedd/state aischedd/run/runner.h
aisub                     libcommon libcommon/client
aiq                       libcommon libcommon/client
aicancel                  libcommon libcommon/client
aictl                     libcommon libcommon/client
slurm                     libcommon libcommon/client
pod                       libcommon slurm
web                       libcommon
gpu                       libcommon'

# The core may call its own functions, those of libcommon for values and text,
# and functions of libc that only read or fill memory: no I/O, no clock, and no
# allocator but the arena. It uses buf_ and map_ only for the text of snapshots.
pure_common='arena_|buf_|conf_|constraint_|err_|format_|hash_|hostlist_|idset_|map_|parse_'
pure_common="$pure_common|reason_|mig_"
pure_libc='mem(chr|cmp|cpy|move|set)|str(chr|cmp|cspn|len|ncmp|nlen|pbrk|rchr)'
pure_libc="$pure_libc|strspn|strstr|strtou?ll?|qsort|bsearch|v?snprintf|abort"
# The compiler adds calls to these, with underscores before and perhaps _chk
# behind the name.
pure_compiler='assert_fail|stack_chk_fail|popcount[ds]i2|(u?div(mod)?|u?mod|mul)ti[34]'
pure_compiler="$pure_compiler|asan_.*|ubsan_.*|sanitizer_.*"

banned='strcpy strcat strncpy sprintf vsprintf atoi strtok gmtime localtime ctime
	rand mktemp system popen'

# NAME WRONG: tests that WRONG, a list of violations, is empty
none()
{
	[ -z "$2" ]
	result $? "$1" || diag "$2"
}

# FOLDER: prints the path of its library in the build
library()
{
	echo "$top_builddir/$1/lib${1##*/}.a" | sed 's,/liblib,/lib,'
}

# Prints each include as "FILE:LINE HEADER", with the rows to which the file and
# the header belong.
includes()
{
	find ./* -path ./build -prune -o -name '*.[ch]' \
		-exec grep -noE '^#include "[^"]+"' {} + |
		sed 's,^\./,,; s/#include "//; s/"$//' |
		awk -v layers="$layers" '
			function row(path) {
				while (sub("/[^/]*$", "", path) && !(path in rows))
					;
				return path
			}
			BEGIN {
				n = split(layers, line, "\n")
				for (i = 1; i <= n; i++)
					if (split(line[i], word, " "))
						rows[word[1]] = 1
			}
			{
				at = $0; sub(":[^:]*$", "", at)
				header = $0; sub(".*:", "", header)
				file = at; sub(":.*", "", file)
				print at, header, row(file), row(header)
			}'
}

# FOLDER ALLOWED...: prints the includes in FOLDER of headers from folders other
# than these
bad_includes()
{
	awk -v allowed="$*" '
		BEGIN {
			n = split(allowed, word, " ")
			folder = word[1]
			for (i = 1; i <= n; i++)
				ok[word[i]] = 1
		}
		$3 == folder && !($4 in ok) && !($2 in ok) && $2 != "config.h" {
			print $1, $2
		}' "$tmp/includes"
}

# FOLDER ALLOWED...: prints our functions that FOLDER's library uses, but that
# no library of these folders defines
bad_links()
{
	lib=$(library "$1")
	for folder; do
		case $folder in
		*.h) object=$top_builddir/${folder%.h}.o ;;
		*) object=$(library "$folder") ;;
		esac
		[ ! -f "$object" ] || set -- "$@" "$object"
		shift
	done
	nm -u "$lib" | awk '$1 == "U" { print $2 }' | sort -u >"$tmp/uses"
	nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u \
		>"$tmp/has"
	comm -23 "$tmp/uses" "$tmp/has" | comm -12 - "$tmp/ours"
}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

includes >"$tmp/includes"
find "$top_builddir" -name 'lib*.a' -exec nm --defined-only {} + |
	awk '$2 == "T" { print $3 }' | sort -u >"$tmp/ours"

while read -r folder allowed; do
	[ -n "$folder" ] || continue
	# shellcheck disable=SC2086 # words are wanted
	none "$folder includes only what is below it" \
		"$(bad_includes "$folder" $allowed)"
	[ -f "$(library "$folder")" ] || continue
	# shellcheck disable=SC2086 # words are wanted
	none "$folder links only what is below it" \
		"$(bad_links "$folder" $allowed)"
done <<END
$layers
END

sched=$(library aischedd/sched)
nm --defined-only "$sched" | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/has"
none "the core calls no I/O, no clock and no allocator" "$(
	nm -u "$sched" | awk '$1 == "U" { print $2 }' | sort -u |
		comm -23 - "$tmp/has" | grep -vE "^($pure_common)" |
		sed -E 's/^_+//; s/_chk$//' |
		grep -vxE "$pure_libc|$pure_compiler"
)"
none "the checker of plans calls nothing of the core" "$(
	nm -u "$(library aischedd/sched/check)" | awk '$1 == "U" { print $2 }' |
		sort -u | comm -12 - "$tmp/has"
)"
none "the core has no variables" "$(
	nm --defined-only -f sysv "$sched" |
		grep -E '\|\.(bss|data)(\.[^r][^|]*)?$' | grep -vE '^_*(odr_)?asan'
)"

find "$top_builddir" -name '*.o' -exec nm -u {} + |
	awk '$1 == "U" { print $2 }' | sort -u >"$tmp/uses"
none "a function that only its own file calls is static" "$(
	find "$top_builddir" -path "$top_builddir/tests" -prune -o -name '*.o' \
		-print | while read -r object; do
		source=${object#"$top_builddir"/}
		source=${source%/*}/${source##*[-/]}
		# An object without source is of an earlier build.
		[ ! -f "${source%.o}.c" ] || nm --defined-only "$object"
	done |
		awk '$2 == "T" && $3 != "main" { print $3 }' | sort -u |
		comm -23 - "$tmp/uses"
)"

# A name service that hangs must not stop the daemon's loop. rpc/ident.c asks it
# on other threads, and the web program is prepared before the loop begins.
none "no request asks the name service on the loop" "$(
	for folder in op read state store; do
		nm -A -u "$top_builddir"/aischedd/$folder/*.o
	done | grep -E ' (getpw(nam|uid)|getgr(nam|gid)|getgrouplist|initgroups)(_r)?$'
)"

find ./* -path ./build -prune -o -name '*.h' ! -name config.h -print |
	sed 's,^\./,,' | sort >"$tmp/headers"
# A header that a .c file includes before all else stands alone, or that file
# would not compile.
find ./* -path ./build -prune -o -name '*.c' -exec awk '
	FNR == 1 { seen = 0 }
	/^#include/ && !seen++ && sub("^#include \"", "") && sub("\".*", "")
	' {} + | sort -u >"$tmp/first"
while read -r header; do
	guard=$(echo "$header" | tr 'a-z/.' 'A-Z__')
	none "$header stands alone" "$(
		grep -qxF "$header" "$tmp/first" ||
			echo "#include \"$header\"" |
			$CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -iquote . \
				-fsyntax-only -x c - 2>&1
		grep -q "^#ifndef $guard\$" "$header" ||
			echo "its guard is not $guard"
	)"
done <"$tmp/headers"

find ./* -path ./build -prune -o -name '*.[ch]' -exec \
	grep -oHE '\b(struct|enum|union) [a-z_0-9]+( \{)?' {} + |
	sed -E 's,^\./([^:]*):[a-z]* ([a-z_0-9]*),\2 \1,' | sort -u >"$tmp/tags"
none "a tag that a header names has one meaning in the tree" "$(
	awk '$2 ~ /\.h$/ { header[$1] = 1 }
		NF == 3 { n[$1]++; where[$1] = where[$1] " " $2 }
		END { for (t in n) if (n[t] > 1 && header[t])
			print t ":" where[t] }' "$tmp/tags" | sort
)"

# A reader can remember about 50 files of a folder, or 80 if prefixes group
# them.
none "no folder has too many files" "$(
	find ./* -path ./build -prune -o -path ./tests -prune -o -name '*.[ch]' -print |
		sed 's,^\./,,; s,/[^/]*$,,' | sort | uniq -c |
		awk '$1 > (($2 == "aischedd/sched" || $2 == "libcommon") ? 80 : 50)'
)"

# shellcheck disable=SC2086 # words are wanted
pattern=$(printf '%s|' $banned | sed 's/|$//')
none "no banned function is called" "$(
	find ./* -path ./build -prune -o -name '*.[ch]' \
		-exec grep -nE "(^|[^a-zA-Z0-9_>.])($pattern)\(" {} + |
		grep -vE ':[[:space:]]*(/?\*|//)'
)"

echo "1..$tests_run"
