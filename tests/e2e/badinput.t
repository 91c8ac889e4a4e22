#!/bin/sh
# Bad input gets one clear line and the documented exit status; nothing is
# changed or lost.
# shellcheck disable=SC2016,SC2119 # jobs expand their own variables

. "$top_srcdir/tests/e2e/jobs.sh"

# A pending job, which must still be pending at the end.
id=$(submit -H --wrap true)
before=$(aiq --json)

# --- options, values -------------------------------------------------------

misuse "an unknown option" "'--nosuch'" aisub --nosuch --wrap true
misuse "an option without its value" "time" aisub --wrap true --time
misuse "a bad number" "'many'" aisub -n many --wrap true
misuse "no task" "'0'" aisub -n 0 --wrap true
misuse "a bad time" "'soon'" aisub -t soon --wrap true
misuse "a bad size" "'lots'" aisub --mem lots --wrap true
misuse "a bad array" "'5-1'" aisub -a 5-1 --wrap true
misuse "a bad dependency" "'afterok:'" aisub -d afterok: --wrap true
misuse "a bad list of nodes" "'n[1-'" aisub -w 'n[1-' --wrap true
misuse "a bad constraint" "'a&&b'" aisub -C 'a&&b' --wrap true
misuse "a bad signal" "'NOPE'" aisub --signal NOPE@10 --wrap true
misuse "a bad moment" "'sometime'" aisub --begin sometime --wrap true
misuse "an empty name" "job-name" aisub -J '' --wrap true
misuse "a bad schedule" "'x' has 1 field," aisub --cron x --wrap true
fails "a contradiction" 2 "give only one of --mem-per-task, --mem and" \
	aisub --mem 1G --mem-per-cpu 1G --wrap true
fails "more nodes than tasks" 2 "--nodes 2 is more than --tasks 1" \
	aisub -N 2 -n 1 --wrap true
fails "arguments of --wrap" 2 "'more' is one word too many" aisub --wrap true more
fails "a variable" 2 "AISUB_TASKS: " env AISUB_TASKS=x aisub --wrap true

# --- scripts ---------------------------------------------------------------

fails "a missing script" 1 "cannot open script 'nosuch.sh'" aisub nosuch.sh
echo true >noshebang
fails "no first line" 1 "does not look like a batch script" aisub noshebang
: >empty
fails "an empty script" 1 "script 'empty' is empty" aisub empty
printf '#!/bin/sh\r\ntrue\r\n' >dos
fails "a script of DOS" 1 "DOS line breaks" aisub dos
printf '#!/bin/sh\n\000' >zero
fails "a program" 1 "zero bytes" aisub zero
fails "a folder" 1 "cannot read script '.'" aisub .
printf '#!/bin/sh\n#AISUB -n\n' >bad
fails "a directive without its value" 2 "bad:2: " aisub bad
printf '#!/bin/sh\n\n#AISUB --time=soon\n' >bad
fails "a bad value in a directive" 2 "bad:3: " aisub bad
printf '#!/bin/sh\n#SBATCH hello\n' >bad
fails "no option in a directive" 2 "bad:2: " aisub bad
printf '#!/bin/sh\n#AISUB --wrap true\n' >bad
fails "not there" 2 "bad:2: " aisub bad
if ! is_root; then
	printf '#!/bin/sh\n' >secret
	chmod 0 secret
	fails "an unreadable script" 1 "cannot open script 'secret'" aisub secret
else
	printf '#!/bin/sh\n' >secret
	chmod 600 secret
	run as_user nobody aisub "$PWD/secret"
	is "an unreadable script" "$rc$err" \
		"1aisub: cannot open script '$PWD/secret': Permission denied"
fi
{
	printf '#!/bin/sh\n'
	head -c 5000000 /dev/zero | tr '\0' '#'
} >large
fails "a script that is too large" 1 \
	"the script has 5000010 bytes, at most 4194304 are taken (max_script_size)" \
	aisub large
cat >much <<'END'
#!/bin/sh
# The kernel accepts an argument list of this size only if the stack may be
# large.
ulimit -s 65536 || exit
x=$(head -c 100000 /dev/zero | tr '\0' x)
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
	export "V$i=$x"
done
exec aisub --wrap true
END
fails "an environment that is too large" 1 "2097152 are allowed: use --export=" \
	sh much
printf '#!/bin/sh\n' >good
fails "an argument that is no UTF-8" 1 "argument 1 of the script" \
	aisub good "$(printf '\377')"

# --- mistakes that only the daemon finds -----------------------------------

fails "an unknown queue" 1 "there is no queue 'x'; \`aiq --queues\` lists them" \
	aisub -q x --wrap true
fails "a request that no node can hold" 1 \
	"needs 5 CPUs on one node; the largest that it may use has 4 ($(uname -n))" \
	aisub -c 5 --wrap true
fails "an unknown dependency" 1 "there is no job 999 to depend on" \
	aisub -d afterany:999 --wrap true
fails "an unknown job" 1 "999" aiq 999
fails "no number" 1 "bad job id 'x'" aicancel x
fails "no log" 1 "there is no job 999" aiq --log 999
fails "no such state" 1 "only a running job can be suspended" aictl suspend "$id"
fails "no such command" 2 "unknown command 'dance'" aictl dance
bytes=$(printf '\377')
for words in undrain "queue open" "reserve delete" "cron show" "cron run"; do
	# shellcheck disable=SC2086 # words are wanted
	fails "no UTF-8 ($words)" 1 "a text that is not UTF-8" aictl $words "$bytes"
done
fails "nor for seff" 1 "a text that is not UTF-8" \
	"$top_builddir/slurm/bin/seff" "$bytes"

# --- what a terminal may execute ------------------------------------------

named=$(submit -H -J "$(printf 'a\342\200\256b')" --wrap true) # U+202E
aictl drain "$(uname -n)" -r "$(printf 'a\302\233b')"         # U+009B
like "JSON escapes it: a listing" "$(aiq --json "$named")" '"a\\u202eb"'
like "that of Slurm" "$("$top_builddir/slurm/bin/squeue" --json)" \
	'"a\\u202eb"'
like "nodes" "$(aiq --nodes --json)" '"a\\u009bb"'
like "what was done" "$(aictl --json audit)" '"a\\u009bb"'
aictl undrain "$(uname -n)"
aicancel "$named"

is "nothing has changed" "$(aiq --json)" "$before"
is "and no id was used" "$(submit -H --wrap true)" $((id + 2))

# --- tools without munged, and without the daemon --------------------------

before=$(aiq --json)
stop_munged
fails "munged is down" 1 "munged" aisub --wrap true
ok "the daemon still answers" aictl ping
start_munged
wait_for aiq
is "nothing was lost" "$(aiq --json)" "$before"
stop_daemon
fails "the daemon is down" 1 "cannot reach aischedd at '$AISCHED_SOCKET'" aiq
fails "for aicancel, too" 1 "cannot reach aischedd" aicancel "$id"
fails "for aictl, too" 1 "cannot reach aischedd" aictl ping
start_daemon
is "it comes back with all of it" "$(aiq --json)" "$before"

# --- the configuration -----------------------------------------------------

# NAME TEXT CONFIGURATION: tests that the daemon refuses CONFIGURATION with TEXT
bad_config()
{
	printf '%s\n' "$3" >bad.conf
	fails "$1" 1 "$2" "$top_builddir/aischedd/aischedd" -c bad.conf \
		--check-config
}

bad_config "an unknown key" "bad.conf:1: " 'colour = "red"'
bad_config "a value of the wrong kind" "bad.conf:1: " 'max_jobs = "many"'
bad_config "an impossible value" "bad.conf:3: " 'queue a {

	max_jobs = -4
}'
bad_config "a queue below none" "bad.conf:" 'queue a { parent = "b" }'
bad_config "the same twice" "bad.conf:" 'queue a { }
queue a { }'
bad_config "a section that does not end" "bad.conf:" 'queue a {'
fails "no such file" 1 "nosuch.conf" "$top_builddir/aischedd/aischedd" \
	-c nosuch.conf --check-config
configure "pool here { runner = local }
queue a { }
queue b { quota { cpus = 1 } }"
run "$top_builddir/aischedd/aischedd" -c "$conf" --check-config
like "jobs could fill the disk of the daemon" "$rc $err" \
	"^0 aischedd: warning: tmp_dir '$dir/tmp' is on the file system of state_dir"
if [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$dir")" ]; then
	sed -i 's|^\(.*tmp_dir =\).*|\1 "/dev/shm"|' "$conf"
	run "$top_builddir/aischedd/aischedd" -c "$conf" --check-config
	is "a good one" "$rc$err" 0
else
	skip "a good one" "there is one file system"
fi
printf 'queue a { limit { cpus = 1 }  quota { cpus = 2 } }\n' >bad.conf
run "$top_builddir/aischedd/aischedd" -c bad.conf --check-config
like "a doubtful one" "$rc $err" \
	"^0 aischedd: warning: bad.conf:1: queue 'a': limit.cpus is below quota.cpus$"
run "$top_builddir/aischedd/aischedd" -c "$conf" --print-config
like "and all of it" "$out" "^queue .?b.? \{"
configure
fails "a second daemon" 1 "another aischedd" \
	"$top_builddir/aischedd/aischedd" -c "$conf"

done_testing
