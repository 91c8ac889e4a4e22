#!/bin/sh
# Each command of "The first hour" in README.md works.
# shellcheck disable=SC2119

. "$top_srcdir/tests/e2e/lib.sh"

readme=$top_srcdir/README.md
home=$dir/home
mkdir -p "$home"
cd "$home" || exit 1
cp "$top_srcdir"/contrib/examples/*.sh .

# N: prints the commands of the Nth code block
part()
{
	awk -v n="$1" '/^```sh$/ { at++; on = at == n; next }
		/^```$/ { on = 0 } on' "$readme"
}

parts=$(grep -c '^```sh$' "$readme")
is "README.md has the parts that are walked here" "$parts" 4

# --- a private daemon ------------------------------------------------------

# The daemon is configured as in README.md, except for its own socket and that
# of munged.
part 1 >daemon.sh
like "it begins with a configuration" "$(sed -n 1p daemon.sh)" \
	'^echo "state_dir = .*" >aischedd.conf$'
like "then the daemon is started" "$(sed -n 2p daemon.sh)" \
	'^aischedd --config aischedd.conf &$'
HOME=$home sh -c "$(sed -n 1p daemon.sh)"
printf 'munge_socket = "%s"\nlisten = {"%s"}\n' \
	"$AISCHED_MUNGE_SOCKET" "$AISCHED_SOCKET" >>aischedd.conf
ok "the configuration is right" "$aischedd" --config aischedd.conf --check-config
"$aischedd" --config aischedd.conf </dev/null >>"$log" 2>&1 &
daemon_pid=$!
ok "the daemon answers" sh -c "$(sed -n '3,$p' daemon.sh)"
ok "it keeps its state where it was told" [ -e "$home/.aisched/aisched.db" ]
wait_for 'aiq --nodes --no-header | grep .'

# --- all other code blocks, command by command -----------------------------

# All commands run in one shell, as when somebody types them, so that each sees
# the variables of earlier ones.
cat >walk.sh <<'END'
command=
while IFS= read -r line; do
	command="$command$line
"
	case $command in
	*"<<'END'"*)
		[ "$line" = END ] || continue
		;;
	esac
	eval "$command" >walk.out 2>&1 </dev/null
	status=$?
	echo "$status ${command%%
*}"
	[ "$status" -eq 0 ] || sed 's/^/	/' walk.out
	command=
done
END
n=1
while [ "$n" -lt "$parts" ]; do
	n=$((n + 1))
	part "$n" >commands
	ok "part $n has commands" [ -s commands ]
	sh walk.sh <commands >walked
	while read -r status command; do
		[ "$status" -eq 0 ]
		result $? "$command" || sed -n '/^	/s/^/# /p' walked
	done <<-END
		$(grep -v '^	' walked)
	END
done

# --- results ---------------------------------------------------------------

ended()
{
	[ "$(aiq -h -o state "$1")" = COMPLETED ]
}
ok "the first job has ended well" wait_for ended 1
like "both of its ranks have spoken" "$(cat slurm-1.out)" '^rank 1 of 2, the master is '
ok "the array and what waits for it end" wait_for [ -s sum.out ]
is "with the right sum" "$(cat sum.out)" "the sum of 20 squares is 2470"
like "aiq is as in the picture" "$(aiq | head -n 1)" \
	"$(sed -n '/^    \$ aiq$/{n;s/^ *//;s/  */ +/g;s/[()]/\\&/g;p}' "$readme")"
aicancel --all --wait

done_testing
