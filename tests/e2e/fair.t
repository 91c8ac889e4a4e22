#!/bin/sh
# Simulate a year of three queues, two of which have the same parent. They
# request more GPUs than there are, and most of the CPUs and memory; one queue
# is idle for a while. In each half-life every queue uses its fair share, within
# 2 %. A job uses at most 1 % of a share and runs for at most a hundredth of the
# half-life.

. "${top_srcdir:=.}/tests/e2e/sim.sh"

cat >"$dir/conf" <<-'END'
	pool sim { }
	node "n[00-24]" { pool = sim  cpus = 32  memory = "256G"  gpus = 8 }
	queue lab { quota { gpus = 80  cpus = 320  memory = "2560G" } }
	queue x { parent = "lab"  quota { gpus = 20  cpus = 80  memory = "640G" } }
	queue y { parent = "lab"  quota { gpus = 20  cpus = 80  memory = "640G" }  weight = 2 }
	queue guest { quota { gpus = 10  cpus = 40  memory = "320G" } }
	scheduling { fairshare_half_life = "330d" }
END
half=$((330 * 86400))
year=$((365 * 86400))
span=$half
# Simulate a shorter time with sanitizers, which are slow.
if grep -q __asan_init "$aisim"; then
	span=$((half / 8))
	year=$((span * 9 / 8))
fi
# The queue "guests" is idle between these two times.
leave=$((span / 2))
return=$((span * 4 / 5))

# QUEUE...: prints the fair share of each of these queues if only they request
# resources
shares()
{
	for queue; do
		printf '{"id":"%s","queue":"%s","tasks":200,"min_tasks":1,"gpus":1,"cpus":3,"memory":24576}\n' \
			"$queue" "$queue"
	done >"$dir/wants"
	"$aisim" -c "$dir/conf" -j "$dir/wants" --until 0 --shares |
		sed 's/^{"queue":"\([^"]*\)".*"fair_share":[^}]*"gpus":\([0-9]*\).*/\1 \2/'
}

shares x y guest >"$dir/with"
shares x y >"$dir/without"
[ "$(tr '\n' ' ' <"$dir/with")" = "lab 135 x 52 y 83 guest 65 " ]
result $? "shares with guests"
[ "$(tr '\n' ' ' <"$dir/without")" = "lab 200 x 73 y 127 guest 0 " ]
result $? "shares without"

# Jobs of a half or a quarter of a GPU and one CPU. Each queue requests 4 % more
# than its share. Jobs are submitted and end only at multiples of two hours, so
# there are fewer plans, and the simulation takes a tenth of the time.
awk -v year=$year -v half=$half -v leave=$leave -v back=$return \
	-v step=7200 '
	function rnd() {
		seed = seed * 16807 % 2147483647
		return seed / 2147483647
	}
	function job(queue, at) {
		gpus = rnd() < 0.5 ? 0.25 : 0.5
		id = queue "/" gpus "/" ++jobs
		lasts = half * (0.9 + rnd() / 10) / 100 + step / 2
		printf "{\"id\":\"%s\",\"queue\":\"%s\",\"user\":\"u%d\",\"gpus\":%s,", id, queue, rnd() * 3, gpus
		printf "\"cpus\":1,\"memory\":8192,"
		printf "\"submit\":%d,\"duration\":%d}\n", at - at % step, lasts - lasts % step
		if (queue == "guest" && at < leave && at > leave - half / 20)
			printf "{\"at\":%d,\"cancel\":\"%s\"}\n", leave, id
	}
	function demand(queue, share, from, to) {
		for (i = 0; i < share / 0.375 * 1.05; i++)
			job(queue, from)
		for (at = from; at < to; at += half * 0.95 / 100 / 1.04 / (share / 0.375))
			job(queue, int(at))
	}
	FILENAME ~ "without" { without[$1] = $2; next }
	{ with[$1] = $2 }
	END {
		seed = 42
		for (queue in with) {
			if (queue == "lab")
				continue
			demand(queue, with[queue], 0, leave)
			if (queue != "guest")
				demand(queue, without[queue], leave, back)
			demand(queue, with[queue], back, year)
		}
	}' "$dir/with" "$dir/without" >"$dir/jobs"

"$aisim" -c "$dir/conf" -j "$dir/jobs" --until $year --events "$dir/events"
result $? "$(grep -c duration "$dir/jobs") jobs"

# FROM: compares what each queue used in the half-life that begins at FROM with
# the mean of its share
check()
{
	awk -F'"' -v from="$1" -v to=$(($1 + span)) -v leave=$leave -v back=$return '
		function overlap(a, b) {
			a = a < from ? from : a
			b = b > to ? to : b
			return b > a ? b - a : 0
		}
		FILENAME !~ "events" {
			split($0, word, " ")
			away = FILENAME ~ "without"
			should[word[1]] += word[2] * (away ? overlap(leave, back) : overlap(0, leave) + overlap(back, to))
			next
		}
		{
			t = substr($3, 2) + 0
			event = $6
			job = $10
		}
		event == "start" { began[job] = t }
		(event == "end" || event == "evict") && job in began {
			split(job, word, "/")
			had[word[1]] += overlap(began[job], t) * word[2]
			delete began[job]
		}
		END {
			for (job in began) {
				split(job, word, "/")
				had[word[1]] += overlap(began[job], to) * word[2]
			}
			had["lab"] = had["x"] + had["y"]
			for (queue in should) {
				off = 100 * (had[queue] / should[queue] - 1)
				bad = bad || off > 2 || off < -2
				printf "# %s: %.1f GPUs, share %.1f: %+.2f %%\n", queue, had[queue] / (to - from), should[queue] / (to - from), off
			}
			exit bad
		}' "$dir/with" "$dir/without" "$dir/events"
}

check 0 >"$dir/out"
result $? "the first half-life"
cat "$dir/out"
check $((year - span)) >"$dir/out"
result $? "the last"
cat "$dir/out"
echo "1..$tests_run"
