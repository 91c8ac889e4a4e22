#!/bin/sh
# Three users of one queue with equal shares each request all GPUs, for weeks.
# Two half-lives after the last user came, each has a third of the GPUs, however
# long their jobs have waited.

. "${top_srcdir:=.}/tests/e2e/sim.sh"

gpus=24 half=$((2 * 86400)) end=$((11 * 86400))
# The second in which the last user submits the first job.
last=$((3 * 86400))

cat >"$dir/conf" <<-END
	pool sim { }
	node "n[0-2]" { pool = sim  cpus = 32  gpus = 8 }
	queue q { }
	scheduling { fairshare_half_life = "${half}s"  hold_after = "1h" }
END

# Jobs run for one to two hours. Each user requests more than there is, but each
# a different amount, so that the ages of their oldest jobs differ, in the end
# by more than a week.
awk -v gpus=$gpus -v end=$end -v last=$last '
	function rnd() {
		seed = seed * 16807 % 2147483647
		return seed / 2147483647
	}
	function user(name, from, times,    at, lasts, n) {
		for (at = from; at < end; at += lasts / gpus / times) {
			lasts = 3600 * (1 + rnd())
			printf "{\"id\":\"%s/%d\",\"user\":\"%s\",\"gpus\":1,", name, ++n, name
			printf "\"submit\":%d,\"duration\":%d}\n", at, lasts
		}
	}
	BEGIN {
		seed = 42
		user("a", 0, 2.5)
		user("b", 86400, 1.5)
		user("c", last, 1.1)
	}' >"$dir/jobs"
"$aisim" -c "$dir/conf" -j "$dir/jobs" --until $end --events "$dir/events"
result $? "$(wc -l <"$dir/jobs") jobs"

# FROM: prints how many GPUs each user had on average in the half-life from FROM
# on
had()
{
	awk -F'"' -v from="$1" -v to=$(($1 + half)) '
		{
			t = substr($3, 2) + 0
			job = $10
			split(job, word, "/")
		}
		$6 == "start" { began[job] = t }
		$6 == "end" && job in began {
			b = began[job] > from ? began[job] : from
			e = t < to ? t : to
			sum[word[1]] += e > b ? e - b : 0
			delete began[job]
		}
		END {
			printf "a %.0f b %.0f c %.0f\n", sum["a"] / (to - from),
				sum["b"] / (to - from), sum["c"] / (to - from)
		}' "$dir/events"
}

echo "# when the last comes: $(had $last)"
for after in 2 3; do
	got=$(had $((last + after * half)))
	[ "$got" = "a 8 b 8 c 8" ]
	result $? "after $after half-lives: $got"
done
echo "1..$tests_run"
