# agree.awk - compare what jobs see with what is planned for them (agree.t)
#
# Reads the file plans (aictl dump), the file says ("ID DEVICES" from aiq), then
# the outputs slurm-ID.out of jobs. Prints each job that has said all; appends
# what differs to DIR/differ.

# Returns "0,2-3" as "0 2 3 ".
function numbers(list,    n, part, i, k, end, ret) {
	n = split(list, part, /[,+]/)
	for (i = 1; i <= n; i++) {
		end = part[i]
		sub(/.*-/, "", end)
		for (k = part[i] + 0; k <= end + 0; k++)
			ret = ret k " "
	}
	return ret
}

# Returns the numbers in `set` as the kernel and aiq write them: "0,2-3".
function ranges(set,    i, first, ret) {
	for (i = 0; i < 4096; i++) {
		if (!(i in set))
			continue
		for (first = i; i + 1 in set; i++)
			;
		ret = ret (ret ? "," : "") first (i > first ? "-" i : "")
	}
	return ret
}

# Adds what a task has to the sets cpus, gpus, numas, and of the job to all_cpus.
function read_task(text,    n, part, i, k, m, of, use, milli) {
	delete cpus; delete gpus; delete numas
	unit = ""
	n = split(text, part, ":")
	for (i = 2; i <= n; i++) {
		kind = substr(part[i], 1, 1)
		m = split(substr(part[i], 2), of, "+")
		for (k = 1; k <= m; k++) {
			split(of[k], use, "/")
			milli = use[2] == "" ? 1000 : use[2]
			if (kind == "u")
				unit = of[k] + 0
			if (use[1] == "-" || (kind != "c" && kind != "g"))
				continue
			count = split(numbers(use[1]), number, " ")
			while (count > 0 && kind == "g")
				gpus[number[count--]]
			while (count > 0)
				take_cpu(os_cpu[number[count--] + 1], milli)
		}
	}
}

function take_cpu(cpu, milli) {
	cpus[cpu]
	all_cpus[cpu]
	numas[cpu < half ? 0 : 1]
	sum += milli
	whole = whole || milli == 1000
	part_of = part_of || milli < 1000
}

# Returns the policy that the kernel can carry out.
function policy_of(strict,    i, can) {
	for (i in numas)
		if (i in real)
			can[i]
	if (ranges(can) == "")
		return "default"
	return (strict ? "bind:" : "prefer(many):") ranges(can)
}

function list(set, before,    i, ret) {
	for (i = 0; i < 64; i++)
		if (i in set)
			ret = ret (ret == "" ? "" : ",") before i
	return ret
}

function plan(job,    n, task, i, value) {
	n = split($0, value, " ")
	delete field
	for (i = 1; i <= n; i++)
		if (value[i] ~ /=/)
			field[substr(value[i], 1, index(value[i], "=") - 1)] = \
				substr(value[i], index(value[i], "=") + 1)
	ntasks[job] = split(field["on"], task, ",")
	delete all_cpus
	sum = whole = part_of = 0
	for (i = 1; i <= ntasks[job]; i++) {
		read_task(task[i])
		uuids = list(gpus, "GPU-000")
		ids = list(gpus, "")
		if (unit != "")
			ids = uuids = "MIG-000" unit
		want[job, i - 1] = "cpus=" ranges(cpus) " numa=" list(numas, "") \
			" policy=" policy_of(field["numa"] == "strict") \
			" gpus=" ids " uuids=" uuids
	}
	common[job] = " mem=" (limits ~ /memory/ \
			? ntasks[job] * field["mem"] * 1048576 : "-") \
		" quota=" (part_of && limits ~ /cpu( |$)/ ? sum * 100 : "-") \
		" set=" (whole && limits ~ /cpuset/ ? ranges(all_cpus) : "-")
}

# Adds what a task sees to what its job has in all.
function see(job,    i, n, of) {
	for (i = 2; i <= NF; i++)
		field[substr($i, 1, index($i, "=") - 1)] = \
			substr($i, index($i, "=") + 1)
	seen[job, $1] = substr($0, length($1) + 2)
	nseen[job]++
	ncpus[job] += split(numbers(field["cpus"]), of, " ")
	cpu_numas[job] = cpu_numas[job] " " field["numa"]
	if (field["gpus"] ~ /MIG/)
		field["gpus"] = 4
	gpus_of[job] = gpus_of[job] " " field["gpus"]
}

# Returns the devices of a job as aiq should show them.
function devices(job,    n, i, of, gpus, numas, links, cpus, ret) {
	n = split(gpus_of[job], of, /[ ,]/)
	for (i = 1; i <= n; i++)
		if (of[i] != "") {
			gpus[of[i]]
			numas[of[i] < 2 ? 0 : 1]
			links[of[i] < 2 ? 0 : of[i] < 4 ? 1 : 2]
		}
	n = split(cpu_numas[job], of, /[ ,]/)
	for (i = 1; i <= n; i++)
		if (of[i] != "")
			cpus[of[i]]
	if (ranges(gpus) != "")
		ret = "GPU " ranges(gpus) " (NUMA " ranges(numas) ", links " \
			ranges(links) "), "
	return ret ncpus[job] " CPU" (ncpus[job] == 1 ? "" : "s") " (NUMA " \
		ranges(cpus) ")"
}

function differ(job, sees, planned) {
	print "job " job ": " sees ", planned " planned >>(dir "/differ")
}

BEGIN {
	split(numbers(allowed), os_cpu, " ")
	n = split(numbers(mems), number, " ")
	while (n > 0)
		real[number[n--]]
}
FNR == 1 { file++ }
FILENAME == "plans" {
	if ($1 == "run")
		plan($2)
	next
}
FILENAME == "says" {
	text = $0
	sub(/^[^:]*: ([^ ]+ of )?/, "", text)
	said[$1] = text
	next
}
{
	split(FILENAME, part, /[-.]/)
	see(part[2])
}
END {
	for (job in nseen) {
		if (nseen[job] != ntasks[job])
			continue
		for (i = 0; i < ntasks[job]; i++)
			if (seen[job, i] != want[job, i] common[job])
				differ(job, seen[job, i], want[job, i] common[job])
		if (said[job] != devices(job))
			differ(job, devices(job), said[job])
		print job
	}
}
