# shellcheck shell=sh
# tap.sh - print results of tests in TAP; needs a folder $dir

# shellcheck disable=SC2154 # whoever reads this file has it
tests_run=0
tests_failed=0

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# STATUS NAME: counts and prints the result of a test; the caller explains a
# failure with diag()
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

# NAME COMMAND [WORD]...: tests that the command exits with 0
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

# NAME GOT WANT: tests that GOT and WANT are equal
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

# NAME GOT PATTERN: tests that a line of GOT matches the extended regular
# expression
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

# NAME GOT PATTERN: tests that no line of GOT matches the pattern
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

# COMMAND [WORD]...: runs a command and sets $out, $err and $rc to its output,
# its errors and its exit status.
run()
{
	"$@" >"$dir/run.out" 2>"$dir/run.err"
	rc=$?
	# shellcheck disable=SC2034 # for the test
	out=$(cat "$dir/run.out")
	err=$(cat "$dir/run.err")
	return "$rc"
}

# NAME STATUS TEXT COMMAND [WORD]...: tests that the command exits with STATUS
# and prints one line with TEXT to stderr, perhaps after warnings
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
