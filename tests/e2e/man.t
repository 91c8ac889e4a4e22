#!/bin/sh
# The manual pages describe all options, commands and names that programs,
# headers and tables have.

: "${top_srcdir:=.}" "${top_builddir:=.}"
man=$top_srcdir/man

# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"

# PAGE: prints its text as one line, without formatting
page()
{
	mandoc -Tascii -Owidth=1000 "$man/$1" | sed 's/.\x08//g' | tr -s ' \n' ' '
}

# PAGE WORD...: tests that the page has each word
has_words()
{
	text=$(page "$1")
	missing=
	of=$1
	shift
	for word; do
		case " $text" in
		*[!A-Za-z_-]"$word"[!A-Za-z_-]*) ;;
		*) missing="$missing $word" ;;
		esac
	done
	[ $# -gt 0 ] && [ -z "$missing" ]
	result $? "$of names all of its $# words${missing:+, but for$missing}"
}

# PROGRAM PAGE: tests that --help works, that mistakes are reported, and that
# the page has all options
check_program()
{
	program=$top_builddir/$1
	help=$("$program" --help 2>/dev/null)
	result $? "$1 --help is no failure"
	"$program" --version | grep -q " [0-9]"
	result $? "$1 --version has a number"
	"$program" --no-such-option >/dev/null 2>&1
	[ $? -eq 2 ]
	result $? "$1 with a bad option exits 2"
	"$program" --no-such-option 2>&1 >/dev/null | grep -q no-such-option
	result $? "$1 names the bad option on stderr"
	# shellcheck disable=SC2046 # words are wanted
	has_words "$2" $(echo "$help" |
		sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\1 \2/p' | tr -d ,)
}

# FILE PATTERN: prints the names in an X-macro or table
names()
{
	sed -nE "s/$2/\\1/p" "$top_srcdir/$1"
}

# shellcheck disable=SC2046 # words are wanted
check_names()
{
	has_words aisched.7 $(names libcommon/names.h '^\tX\((\w+), .*')
	has_words aiq.1 $(names aiq/columns.c '^\t\{ "(\w+)", .*')
	has_words aisched-metrics.7 $(names aischedd/prometheus.c \
		'^M\("(\w+)",.*') $(names aischedd/prometheus.c \
		'^QUEUE_AMOUNT\(M, "(\w+)".*' |
		sed 's/.*/aisched_queue_&_cpus aisched_queue_&_gpus aisched_queue_&_memory_bytes/')
	has_words aisched.7 $(names aischedd/run/shepherd/vars.c \
		'^\tTWIN\("(\w+)".*' | sed s/^/AISCHED_/)
	has_words aisched.7 $(names aischedd/run/shepherd/vars.c \
		'^\t\{ "([A-Z_]+)", .*')
	has_words aictl.1 $(names aischedd/reload.c '.*same\w*\("([a-z_.]+)".*') \
		$(names aischedd/reload.c '^\t\t\{ "(\w+)", (\w+\()?old\W.*')
}

command -v mandoc >/dev/null || {
	echo "Bail out! mandoc is not installed"
	exit 1
}

for file in "$man"/*.[1-8]; do
	lint=$(mandoc -Tlint "$file" 2>/dev/null |
		grep -v 'referenced manual not found')
	[ -z "$lint" ]
	result $? "${file##*/} is clean"
	[ -z "$lint" ] || echo "$lint" | sed 's/^/# /'
done

check_program aisub/aisub aisub.1
check_program aiq/aiq aiq.1
check_program aicancel/aicancel aicancel.1
check_program aictl/aictl aictl.1
check_program aisim/aisim aisim.1
check_program aischedd/aischedd aischedd.8

# slurm(7) names all commands that have a link, and all fields that squeue
# knows.
# shellcheck disable=SC2046 # words are wanted
has_words slurm.7 $(sed -n 's/^SLURM_COMMANDS = //p' "$top_srcdir/Makefile.am") \
	$(sed -nE "s/^\t\{ (0|'.'), \"([A-Za-z-]+)\", .*/\2/p" \
		"$top_srcdir/slurm/fields.c")

check_names

# Each command of aictl, with its arguments
text=$(page aictl.1)
usages=$("$top_builddir/aictl/aictl" help </dev/null | sed 's/^  //; s/  .*//')
echo "$usages" | {
	rc=0
	while read -r usage; do
		case $text in
		*" $usage "*) ;;
		*) rc=1 && echo "# aictl.1 lacks: $usage" ;;
		esac
	done
	exit $rc
}
result $? "aictl.1 has all commands"

# The completion has its own list of states; it asks the programs for everything
# else.
states=" $(sed -n "/^_aisched_states='/,/'$/p" \
	"$top_srcdir/contrib/aisched.bash-completion" | tr -s "\n\t'" ' ')"
missing=
for state in $(names libcommon/names.h '^\tX\((\w+), "[A-Z]+", .*'); do
	case "$states" in
	*[\ =]"$state "*) ;;
	*) missing="$missing $state" ;;
	esac
done
[ -z "$missing" ]
result $? "the completion has all states${missing:+, but for$missing}"

if command -v bash >/dev/null; then
	verbs=$(PATH=$top_builddir/aictl:$PATH bash -c '
		. "$1"
		COMP_WORDS=(aictl cron p) COMP_CWORD=2
		_aisched aictl p cron
		echo "${COMPREPLY[@]}"' - "$top_srcdir/contrib/aisched.bash-completion")
	[ "$verbs" = "pause print" ]
	result $? "the completion has the verbs of a command: $verbs"
fi

# In a README, the section "The files" has a line for each file of its folder,
# and for nothing else. Files in folders below belong to it, too, unless that
# folder's README has such a section. A line begins with - `name`, which means
# name.c, name.h or both.
toured=$(cd "$top_srcdir" && find aischedd libcommon ai* slurm -name README.md \
	-exec grep -l '^## The files$' {} + | sed 's,/README.md$,,' | sort -u)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# FOLDER: prints its files, and those of folders below that have no such section
files_of()
{
	(cd "$top_srcdir" && find "$1" -name '*.[ch]') | while read -r file; do
		dir=${file%/*}
		until echo "$toured" | grep -qx "$dir"; do
			dir=${dir%/*}
		done
		[ "$dir" != "$1" ] || echo "${file#"$1"/}"
	done | sed 's/\.[ch]$//' | sort -u
}
for folder in $toured; do
	# shellcheck disable=SC2016 # it is Markdown
	sed -n '/^## The files$/,/^## /s/^- `\([a-z_/0-9]*\)`.*/\1/p' \
		"$top_srcdir/$folder/README.md" | sort >"$tmp/told"
	files_of "$folder" >"$tmp/there"
	differ=$(diff "$tmp/told" "$tmp/there" | sed -n 's/^</told:/p; s/^>/there:/p')
	[ -z "$differ" ]
	result $? "$folder/README.md has a line for each file" || diag "$differ"
done

untold=$(cd "$top_srcdir" && find aischedd libcommon ai* slurm -name '*.c' |
	cut -d/ -f1 | sort -u | grep -vxF "$toured")
[ -z "$untold" ]
result $? "each folder of sources has such a README" || diag "$untold"

# HACKING.md names only files that exist.
# shellcheck disable=SC2016 # it is Markdown
named=$(grep -oE '`[a-z_/*0-9]+\.[ch]`' "$top_srcdir/HACKING.md" | tr -d '`')
gone=
for word in $named; do
	find "$top_srcdir/aischedd" "$top_srcdir/libcommon" "$top_srcdir/aisim" \
		"$top_srcdir/aiq" "$top_srcdir/aisub" "$top_srcdir/aictl" \
		"$top_srcdir/aicancel" "$top_srcdir/slurm" "$top_srcdir/tests" \
		-name "${word##*/}" | grep -q . || gone="$gone $word"
done
[ -z "$gone" ]
result $? "HACKING.md names no file that is not there${gone:+:$gone}"

echo "1..$tests_run"
