# kube_agree.awk - compare what pods see with what is planned (kube_agree.t)
#
# Reads the files compared ("JOB ATTEMPT ACT", jobs done so far), before and
# after (running() in the test), between them plans (aictl dump) and says ("JOB
# DEVICES" from aiq), then a line of each pod, in files HOSTNAME.START. Prints
# what to do with jobs: "ACT JOB ATTEMPT FILE...". Appends what differs to
# DIR/differ.

# Returns the numbers in the set as aiq writes them, "0,2-3".
function ranges(set,    i, first, ret) {
	for (i = 0; i < 64; i++) {
		if (!(i in set))
			continue
		for (first = i; i + 1 in set; i++)
			;
		ret = ret (ret == "" ? "" : ",") first (i > first ? "-" i : "")
	}
	return ret
}

function ceil(x) {
	return int(x) + (x > int(x))
}

function fields(    i, eq) {
	delete field
	for (i = 1; i <= NF; i++)
		if ((eq = index($i, "=")))
			field[substr($i, 1, eq - 1)] = substr($i, eq + 1)
}

# Returns what the driver tells a pod of the GPUs of "metal:g0-1+3/500:c0".
function gpus_of(job, task,    n, part, i, k, m, of, use, end, ret) {
	n = split(task, part, ":")
	for (i = 2; i <= n; i++) {
		if (part[i] !~ /^g[0-9]/)
			continue
		m = split(substr(part[i], 2), of, "+")
		for (k = 1; k <= m; k++) {
			split(of[k], use, "/")
			if (use[2] == "")
				use[2] = 1000
			end = use[1]
			sub(/.*-/, "", end)
			for (use[1] += 0; use[1] <= end + 0; use[1]++)
				ret = ret (ret == "" ? "" : ",") "gpu-" use[1] \
					":" ceil(80 * use[2] / 1000) "Gi/" \
					int(use[2] / 10)
			share[job] = use[2]
		}
	}
	return ret
}

function plan(job,    i, task) {
	fields()
	ntasks[job] = split(field["on"], task, ",")
	numa[job] = field["numa"]
	links[job] = field["links"]
	elastic[job] = field["min_tasks"] != ""
	for (i = 1; i <= ntasks[job]; i++)
		gpus[job, i - 1] = gpus_of(job, task[i])
}

# Adds a pod to those of its job; of pods of the same task the last counts.
function see(    name, at, part, n, job, attempt, rank) {
	name = FILENAME
	sub(/.*\//, "", name)
	n = split(name, part, /[-.]/)
	job = part[n - 3]
	attempt = part[n - 2]
	rank = part[n - 1]
	fields()
	if (!((job, attempt, rank) in pod) ||
	    start[job, attempt, rank] < field["start"] + 0) {
		pod[job, attempt, rank] = name
		start[job, attempt, rank] = field["start"] + 0
		line[job, attempt, rank] = $0
	}
	attempts[job, attempt]
}

function differ(job, attempt, sees, planned) {
	print "job " job ", attempt " attempt ": " sees ", planned " planned \
		>>(dir "/differ")
}

# Returns how many nodes the job has to its pods, and the CPUs and GPUs of one.
function counts(job, milli, has,    of, nodes, part) {
	nodes = ntasks[job]
	if (elastic[job]) {
		split(field["counts"], part, ",")
		nodes = part[1]
	}
	return nodes "," ceil(milli / 1000) "," \
		(has == "" ? "" : split(has, of, ","))
}

# Returns what the pod of a task should say.
function wanted(job, rank, has,    of, milli, tasks) {
	split(now[job], of, "\t")
	milli = of[5]
	# The number of tasks of an elastic job is that at its start.
	tasks = elastic[job] ? field["tasks"] : ntasks[job]
	if (ntasks[job] == 1 && !elastic[job])
		tasks = ""
	return "job=" job " array=" of[7] " index=" of[8] " rank=" rank \
		" tasks=" tasks " restarts=" (of[4] > 0 ? of[4] : "") \
		" gpus=" has " numa= uuids= cuda= node=metal,metal" \
		" counts=" counts(job, milli, has) " mem=" \
		of[6] * 1048576 " quota=" milli * 100 " shares=" \
		(field["shares"] == "-" ? "-" : \
			int(int(milli / 4) * 1024 / 1000))
}

# Adds the GPUs of a pod to those of its job, and looks at where they are.
function place(job, attempt, text,    n, i, of, its) {
	n = split(text, of, ",")
	delete its
	for (i = 1; i <= n; i++) {
		sub(/:.*/, "", of[i])
		sub(/gpu-/, "", of[i])
		has[of[i] + 0]
		in_numa[int(of[i] / 6)]
		in_link[int(of[i] / 4)]
		its[int(of[i] / 6)]
	}
	if (n && length_of(its) > (numa[job] == "tight" ? ceil(n / 6) : 1) &&
	    (numa[job] == "strict" || numa[job] == "tight"))
		differ(job, attempt, text, "numa=" numa[job])
}

function length_of(set,    i, n) {
	for (i in set)
		n++
	return n + 0
}

# Gives the pod of a rank the GPUs of a task that has the same, if there is one.
# Ranks of elastic jobs are not the order of tasks in the plan.
function match_task(job, rank, text,    i, was) {
	for (i = rank; i < ntasks[job] && gpus[job, i] != text; i++)
		;
	if (i == ntasks[job])
		return
	was = gpus[job, rank]
	gpus[job, rank] = gpus[job, i]
	gpus[job, i] = was
}

# Compares the pods of a job that has all of them.
function compare(job, attempt,    i, rank, text, whole) {
	delete has; delete in_numa; delete in_link
	for (rank = i = 0; i < ntasks[job]; rank++) {
		if (!((job, attempt, rank) in pod))
			continue
		$0 = line[job, attempt, rank]
		fields()
		if (elastic[job])
			match_task(job, i, field["gpus"])
		text = $0
		sub(/^start=[0-9]+ /, "", text)
		if (text != wanted(job, rank, gpus[job, i]))
			differ(job, attempt, text, wanted(job, rank, gpus[job, i]))
		place(job, attempt, field["gpus"])
		i++
	}
	whole = share[job] == 1000
	if (links[job] == "strict" && whole && !elastic[job] &&
	    length_of(in_link) > ceil(length_of(has) / 4))
		differ(job, attempt, ranges(has), "links=strict")
	text = ranges(has) == "" ? "-" : "metal: " \
		(whole ? "" : share[job] / 1000 " of ") "GPU " ranges(has) \
		" (NUMA " ranges(in_numa) ", links " ranges(in_link) ")"
	if (said[job] != text)
		differ(job, attempt, text, said[job])
}

# Returns what is to be done with a job that has been compared.
function act_of(job) {
	# Tasks of an elastic job that end by themselves are replaced.
	if (job in requeued)
		return elastic[job] ? "cancel" : "end"
	if (elastic[job])
		return (seed + job) % 4 ? "cancel" : "requeue"
	return act[(seed + job * 7) % 10 + 1]
}

# Decides about an attempt. Does nothing while a pod has not said all yet, or
# if the job changed while all this was read.
function settle(job, attempt,    rank, n, of, names) {
	for (rank = 0; rank < 64; rank++)
		if ((job, attempt, rank) in pod) {
			names = names " " pod[job, attempt, rank]
			n++
		}
	if ((job, attempt) in done) {
		if (done[job, attempt] == "end")
			print "go", job, attempt names
		return
	}
	split(now[job], of, "\t")
	if (before[job] != now[job] || of[2] != attempt || of[3] != n || \
	    ntasks[job] != n)
		return
	compare(job, attempt)
	print act_of(job), job, attempt names
}

BEGIN { split("end end end end end end end end cancel requeue", act, " ") }
FILENAME ~ /\/compared$/ {
	done[$1, $2] = $3
	if ($3 == "requeue")
		requeued[$1]
	next
}
FILENAME ~ /\/before$/ { before[$1] = $0; next }
FILENAME ~ /\/after$/ { now[$1] = $0; next }
FILENAME ~ /\/plans$/ {
	if ($1 == "run")
		plan($2)
	next
}
FILENAME ~ /\/says$/ {
	text = $0
	sub(/^[^ ]+ +/, "", text)
	sub(/ +$/, "", text)
	said[$1] = text
	next
}
{ see() }
END {
	for (both in attempts) {
		split(both, part, SUBSEP)
		settle(part[1], part[2])
	}
}
