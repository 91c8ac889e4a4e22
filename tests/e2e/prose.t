#!/bin/sh
# Prose keeps the rules of HACKING.md, "Prose", as far as patterns can check:
# comments, strings, manual pages, READMEs, help and samples, and comments of
# scripts.

: "${top_srcdir:=.}"

# shellcheck source=tests/e2e/tap.sh
. "$top_srcdir/tests/e2e/tap.sh"

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# FILE...: prints each comment (c) and each string (s) of C in one line:
# FILE:LINE KIND TEXT, separated by tabs
read_c()
{
	awk '
	function say(kind, text) {
		gsub(/[ \t\n]+\*?[ \t]+/, " ", text)
		sub(/^[ *]+/, "", text)
		print FILENAME ":" (kind == "c" ? begin : FNR) "\t" kind "\t~ " \
			text " "
	}
	FNR == 1 { inside = 0 }
	{
		rest = $0
		while (1) {
			if (inside) {
				at = index(rest, "*/")
				if (!at) {
					comment = comment "\n" rest " "
					next
				}
				say("c", comment "\n" substr(rest, 1, at - 1))
				rest = substr(rest, at + 2)
				inside = 0
			}
			if (!match(rest, /\/\*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/))
				next
			found = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			if (found == "/*") {
				inside = 1
				comment = ""
				begin = FNR
			} else if (found ~ /^".* /) {
				say("s", substr(found, 2, length(found) - 2))
			}
		}
	}' "$@"
}

# FILE...: prints each comment (c) of shell scripts that has lines of its own
read_sh()
{
	awk '
	function flush() {
		if (text != "")
			print file ":" begin "\tc\t~ " text " "
		text = ""
	}
	FNR == 1 { flush() }
	/^[ \t]*#[ \t]*(shellcheck|---|$)/ || !/^[ \t]*#[ \t]/ {
		flush()
		next
	}
	{
		if (text == "") {
			file = FILENAME
			begin = FNR
		}
		sub(/^[ \t]*#[ \t]+/, "")
		text = text $0 " "
	}
	END { flush() }' "$@"
}

# FILE...: prints each paragraph (t) of a text in one line
read_text()
{
	awk '
	function flush() {
		if (text != "")
			print file ":" begin "\tt\t~ " text " "
		text = ""
	}
	FNR == 1 { flush() }
	/^[#]*[ \t]*$/ || /^\.(S[HSsh]|[PLTI]P|[PL]p|It|Bl|El|$)/ { flush() }
	{
		if (text == "") {
			file = FILENAME
			begin = FNR
		}
		sub(/^[# \t]+/, "")
		text = text $0 " "
	}
	END { flush() }' "$@"
}

# FILE: prints "FILE:LINE: RULE: TEXT" for each text that breaks a rule. A rule
# has three fields: the kinds of texts that it is for, the advice to print, and
# a pattern, in which (<) and (>) are word boundaries.
broken()
{
	while IFS='|' read -r kinds better pattern; do
		pattern=$(printf '%s' "$pattern" |
			sed 's/(<)/[^A-Za-z0-9_`'"'"'-]/g; s/(>)/[^A-Za-z0-9_`'"'"'-]/g')
		grep -E "	[$kinds]	.*($pattern)" "$1" |
			sed "s|	.	~|: $better:|"
	done <<-'EOF'
	c|begin with a verb or the noun meant|[~.;:] +(Who|Whom|Whose|What|Of|That (a|an|the|it|he|they|is|was|has)) [^?]*$
	cst|no longer, not: no more|[a-z] no more *([.,;:)]|$)|(<)(is|are|has|have) no more(>)
	cst|still has, not: has still|(<)(have|has|had) still(>)
	cst|earlier, not: of before|(<)of before(>)
	cst|jobs are it, users they|(<)(he|his|him|himself)(>)
	c|Fails with ENOENT if, not: Fails: ENOENT|(<)Fails:
	c|Returns NULL if, not: when|(<)NULL when(>)
	c|this many, not: so many|(<)so (many|much) ([b-su-z]|a[^s]|t[^h])
	cst|invented words|(<)(anyhow|for naught|in vain)(>)
	EOF
}

cd "$top_srcdir" || exit 1

# The rules find these mistakes and nothing else.
cat >"$tmp/bad.c" <<'EOF'
/* What a job has. */
int a; /* of the list.  Who waits is last */
/*
 * A level that is
 * no more there
 */
f("jobs that have still nodes");
/* nodes of before */
/* the user and his jobs */
/* Fails: ENOENT */
/* NULL when it is gone */
g("sought in vain");
/* so many tasks */
EOF
cat >"$tmp/good.c" <<'EOF'
/* Whatever a job has.  What then?  No more than 3, history "of before" */
int he = '"'; /* no longer there; has a distilled name; so many that it stops */
f("no more than 5 jobs", "this is his_name", "Who");
EOF
read_c "$tmp/bad.c" >"$tmp/bad"
read_c "$tmp/good.c" | sed 's/"of before"//' >"$tmp/good"
broken "$tmp/bad" >"$tmp/found"
[ "$(sort -u "$tmp/found" | wc -l)" -eq 10 ]
result $? "each rule finds what breaks it" || diag "$(cat "$tmp/found")"
broken "$tmp/good" >"$tmp/found"
[ ! -s "$tmp/found" ]
result $? "nothing else is found" || diag "$(cat "$tmp/found")"
printf '.Sh NAME\nfor a user and\nhis jobs\n' >"$tmp/bad.1"
read_text "$tmp/bad.1" >"$tmp/bad"
broken "$tmp/bad" | grep -q 'bad.1:1: jobs are it'
result $? "text is found by paragraph"
printf '#!/bin/sh\n# JOB: its state.\n# Who waits is\n#   last\nx=1 # What\n' >"$tmp/bad.sh"
read_sh "$tmp/bad.sh" >"$tmp/bad"
[ "$(broken "$tmp/bad")" = "$tmp/bad.sh:2: begin with a verb or the noun meant: \
JOB: its state. Who waits is last  " ]
result $? "comments of scripts are found" || diag "$(cat "$tmp/bad")"

for folder in aicancel aictl aiq aischedd aisim aisub bench gpu libcommon pod \
	slurm tests web; do
	find "$folder" -name '*.[ch]' | sort >"$tmp/files"
	# shellcheck disable=SC2046 # names have no blanks
	read_c $(cat "$tmp/files") >"$tmp/texts"
	broken "$tmp/texts" | sed 's/^/  /' >"$tmp/found"
	[ -s "$tmp/texts" ] && [ ! -s "$tmp/found" ]
	result $? "comments and strings of $folder" || diag "$(cat "$tmp/found")"
done
! grep -rn '^ \*[A-Za-z]' --include='*.[ch]' ai* bench gpu libcommon pod slurm \
	tests web >"$tmp/found"
result $? "no formatter has torn a comment" || diag "$(cat "$tmp/found")"
find autogen.sh .ci bench contrib tests tools -type f ! -path '*/corpus/*' \
	! -name '*.[ch]' -exec grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell' {} + |
	sort >"$tmp/files"
# shellcheck disable=SC2046 # names have no blanks
read_sh $(cat "$tmp/files") >"$tmp/texts"
broken "$tmp/texts" >"$tmp/found"
[ "$(wc -l <"$tmp/files")" -gt 60 ] && [ ! -s "$tmp/found" ]
result $? "comments of scripts" || diag "$(cat "$tmp/found")"
# shellcheck disable=SC2046 # names have no blanks
read_text man/*.[1-8] etc/*.conf ./*.md $(find ai* bench gpu libcommon pod slurm tests \
	web -name '*.md') >"$tmp/texts"
broken "$tmp/texts" >"$tmp/found"
[ -s "$tmp/texts" ] && [ ! -s "$tmp/found" ]
result $? "manual pages, READMEs and samples" || diag "$(cat "$tmp/found")"

echo "1..$tests_run"
[ "$tests_failed" -eq 0 ]
