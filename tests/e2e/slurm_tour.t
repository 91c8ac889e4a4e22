#!/bin/sh
# Each command of contrib/slurm/README.md, "From Slurm in ten minutes", works.
# shellcheck disable=SC2119 # slurm_daemon needs no options here

# shellcheck source=tests/e2e/slurm.sh
. "$top_srcdir/tests/e2e/slurm.sh"

slurm_daemon
page=$top_srcdir/contrib/slurm/README.md
home=$dir/home
mkdir -p "$home"
cd "$home" || exit 1

# The commands of a code block run in one shell; a block ends at the first that
# fails.
awk '/^```sh$/ { n++; on = 1; next } /^```$/ { on = 0 }
	on { print >("part" n ".sh") }' "$page"
is "the page has its parts" "$(echo part*.sh)" "part1.sh part2.sh part3.sh part4.sh"
for part in 1 2 3 4; do
	# shellcheck disable=SC2016 # the part expands them
	echo 'echo "train=$train sum=$sum"' >>"part$part.sh"
	bash -e "part$part.sh" >"said$part" 2>&1 </dev/null
	result $? "part $part runs" || diag "$(cat "said$part")"
done

like "the version" "$(cat said1)" "^slurm 24\.05\.0$"
like "the partitions" "$(cat said1)" "^main\*? +up"
like "where the job ran" "$(cat said2)" "^job [0-9]+ on $(uname -n)$"
is "its tasks" "$(grep '^[01]: task' said2 | sort | xargs)" "0: task 0 of 2 1: task 1 of 2"
like "its step" "$(cat said2)" '\.0 +bash +COMPLETED +0:0 +2 $'
like "what it used" "$(cat said2)" '^CPU Utilized: '
sum=$(sed -n 's/.* sum=//p' said3)
becomes "the sum comes after the array" "$sum" COMPLETED
is "and is right" "$(cat sum.out)" 140
train=$(sed -n 's/^train=\([0-9]*\).*/\1/p' said4)
wait_for "grep -q 'attempt 0' train.out"
ok "the signal of the page" scancel --batch --signal=USR1 "$train"
becomes "the training ends" "$train" COMPLETED
is "after a second attempt that knew the first" "$(grep attempt train.out)" \
	"attempt 0 begins with 
attempt 1 begins with step 100"

# The commands that the table of the page names exist.
grep '^| ' "$page" | cut -d'|' -f2 | grep -oE '`s[a-z]+' | tr -d '`' | sort -u >told
ok "the table names commands" [ "$(wc -l <told)" -gt 10 ]
is "that exist, but for scrontab" "$(while read -r name; do
	command -v "$name" >found || echo "$name"
done <told)" scrontab
done_testing
