# shellcheck shell=sh
# tap.sh - results of tests, in TAP; $dir is a folder of the test

# shellcheck disable=SC2154 # whoever reads this file has it
tests_run=0
tests_failed=0

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# STATUS NAME: counts the result and prints it; diag() explains a failure
result()
{
	tests_run=$((tests_run + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests_run - $2"
	else
		echo "not ok $tests_run - $2"
		tests_failed=$((tests_failed + 1))
	fi
	return "$1"
}

# NAME COMMAND [WORD]...: it exits with 0
ok()
{
	ok_name=$1
	shift
	if "$@" >"$dir/ok.out" 2>&1; then
		result 0 "$ok_name"
		return
	fi
	result 1 "$ok_name"
	diag "failed: $*"
	sed 's/^/# /' "$dir/ok.out"
	return 1
}

# NAME GOT WANT: they are equal
is()
{
	if [ "$2" = "$3" ]; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "got:  $2"
	diag "want: $3"
	return 1
}

# NAME GOT PATTERN: a line of GOT matches the extended regular expression
like()
{
	if printf '%s\n' "$2" | grep -qE -- "$3"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "got:  $2"
	diag "want: /$3/"
	return 1
}

# NAME GOT PATTERN: no line of GOT matches it
unlike()
{
	if ! printf '%s\n' "$2" | grep -qE -- "$3"; then
		result 0 "$1"
		return
	fi
	result 1 "$1"
	diag "got:      $2"
	diag "unwanted: /$3/"
	return 1
}

# COMMAND [WORD]...: leaves what it printed in $out and $err, its exit status
# in $rc.
run()
{
	"$@" >"$dir/run.out" 2>"$dir/run.err"
	rc=$?
	# shellcheck disable=SC2034 # for the test
	out=$(cat "$dir/run.out")
	err=$(cat "$dir/run.err")
	return "$rc"
}

# NAME STATUS TEXT COMMAND [WORD]...: it exits with STATUS and prints one line
# with TEXT to stderr; warnings, for instance about a configuration, may precede
# it
fails()
{
	fails_name=$1
	fails_status=$2
	fails_text=$3
	shift 3
	run "$@"
	if [ "$rc" -eq "$fails_status" ] &&
		[ "$(grep -vc ': warning: ' "$dir/run.err")" -eq 1 ] &&
		grep -qF -- "$fails_text" "$dir/run.err"; then
		result 0 "$fails_name"
		return
	fi
	result 1 "$fails_name"
	diag "$*"
	diag "exit status $rc, want $fails_status; want one line with" \
		"'$fails_text', got:"
	diag "$err"
	return 1
}

# NAME REASON: skips a test that cannot run here
skip()
{
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# REASON: skips the whole script
skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}
