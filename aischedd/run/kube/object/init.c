/* init.c - the first process of a container, and its termination message */
#include "aischedd/run/kube/object/init.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/output.h"
#include "libcommon/clean.h"
#include "libcommon/mem.h"

/* The trap is first: the kernel drops a signal for which the first process of a
 * container has none. */
static const char begin_script[] =
    "aisched_ends=\n"
    "trap 'aisched_ends=1; kill -TERM -1 2>/dev/null' TERM\n"
    ". " KUBE_JOB_DIR "/env\n"
    "eval \"$" KUBE_OWN_VAR "\"\n"
    "unset " KUBE_OWN_VAR "\n";

/* A shell function that appends the CPU time and peak memory of the container,
 * from its cgroup (version 2 or 1), to the termination message. The root
 * cgroup of version 2, which has no cgroup.type, is not read: its CPU time is
 * that of the whole machine. */
static const char used_script[] =
    "aisched_used()\n"
    "{\n"
    "\tcg=/sys/fs/cgroup us= mem=\n"
    "\t{ [ -e $cg/cgroup.type ] && read -r _ us <$cg/cpu.stat; } ||\n"
    "\t\t{ read -r us <$cg/cpuacct/cpuacct.usage && us=$((us / 1000)); }\n"
    "\tread -r mem <$cg/memory.peak ||\n"
    "\t\tread -r mem <$cg/memory/memory.max_usage_in_bytes\n"
    "\techo \"" KUBE_LAST_USED "${us:-?} ${mem:-?}\" >>" KUBE_LAST_FILE "\n"
    "} 2>/dev/null\n";

/* A shell function that lets the container runtime read the output. containerd
 * before 1.7 closes its FIFO when the first process ends, and loses up to 160
 * KB that it has not read. It reads them in less than 0.3 s, unless the lines
 * are many and the node is busy: so wait longer if the container wrote much, be
 * it to files. */
static const char drain_script[] =
    "aisched_drain()\n"
    "{\n"
    "\taisched_wrote=\n"
    "\twhile read -r aisched_name aisched_bytes; do\n"
    "\t\t[ \"$aisched_name\" != wchar: ] || aisched_wrote=$aisched_bytes\n"
    "\tdone </proc/self/io\n"
    "\tif [ \"${aisched_wrote:-32768}\" -lt 32768 ]; then\n"
    "\t\tsleep 0.3 || sleep 1\n"
    "\telse\n"
    "\t\tsleep 1\n"
    "\tfi\n"
    "}\n";

static const char run_script[] =
    "{\n"
    "\t[ ! -e " KUBE_JOB_DIR "/meet ] || . " KUBE_JOB_DIR
    "/meet >/dev/null 2>&1\n"
    "\texec \"" KUBE_JOB_DIR "/script\" \"$@\" <\"$aisched_in\"\n"
    "} &\n"
    "child=$!\n"
    "# Told before there was a child: the trap has told nobody.\n"
    "[ -z \"$aisched_ends\" ] || kill -TERM -1 2>/dev/null\n"
    "exec 2>/dev/null # what this shell says of how it ended\n"
    "# Signals for all processes of the pod are not for this shell and its timer.\n"
    "trap : 1 2 3 10 12 14\n"
    "[ -z \"$aisched_signal\" ] || {\n"
    "\ttrap '' 1 2 3 10 12 14\n"
    "\tsleep \"$aisched_after\"\n"
    "\tkill -\"$aisched_signal\" \"${aisched_to:-$child}\"\n"
    "} &\n"
    "wait \"$child\"\n"
    "status=$?\n"
    "# A signal ends the wait, not the script.\n"
    "while kill -0 \"$child\"; do\n"
    "\twait \"$child\"\n"
    "\tstatus=$?\n"
    "done\n"
    "aisched_used\n"
    "# What outlives the script has the time of the job to end, too.\n"
    "[ -z \"$aisched_ends\" ] || {\n"
    "\twhile kill -0 -1; do\n"
    "\t\tsleep 0.1 || sleep 1\n"
    "\tdone\n"
    "\taisched_used\n"
    "}\n"
    "[ -n \"$aisched_out\" ] && [ -n \"$aisched_err$aisched_join\" ] ||\n"
    "\taisched_drain\n"
    "exit \"$status\"\n";

void kube_init_script(struct buf *out)
{
	buf_printf(out, "%s%s%s%s%s", begin_script, kube_output_script,
	           used_script, drain_script, run_script);
}

/* Returns what follows `begin` in the last line of text that begins with
 * `begin`; NULL: there is no such line. */
static const char *last_line(const char *text, const char *begin)
{
	const char *found = NULL;

	for (; text && *text;
	     text += strcspn(text, "\n"), text += *text == '\n')
		if (!strncmp(text, begin, strlen(begin)))
			found = text + strlen(begin);
	return found;
}

/* Append a step in JSON. The text comes from a file to which users can write:
 * so copy only the fields of a step, and remove from its texts what could
 * confuse terminals. */
static void add_step(struct buf *out, const char *text, size_t len)
{
	static const char *const numbers[] = {
		"step",  "tasks", "cpus",      "mem_mib", "gpus",
		"start", "end",   "exit_code", "signal"
	};
	static const char *const texts[] = { "name", "why" };
	json_t *in = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	json_t *to = json_object();
	char *line;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		json_t *n = json_object_get(in, numbers[i]);

		if (json_is_integer(n) && json_integer_value(n) >= 0)
			json_object_set(to, numbers[i], n);
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *value = json_object_get(in, texts[i]);
		char *clean = xstrdup(
		    json_is_string(value) ? json_string_value(value) : "");

		clean[text_clean(clean, strlen(clean))] = '\0';
		if (json_is_string(value))
			json_object_set_new(to, texts[i], json_string(clean));
		free(clean);
	}
	line = json_dumps(to, JSON_COMPACT);
	if (line && json_object_get(to, "step"))
		buf_printf(out, "%s\n", line);
	free(line);
	json_decref(to);
	json_decref(in);
}

static char *step_lines(const char *text)
{
	size_t mark = strlen(KUBE_LAST_STEP), len;
	struct buf out = { 0 };
	const char *line;

	while (text && (line = text_line(&text, &len)))
		if (len > mark && !strncmp(line, KUBE_LAST_STEP, mark))
			add_step(&out, line + mark, len - mark);
	return out.len ? buf_take(&out) : NULL;
}

void kube_last_read(const char *message, struct kube_last *ret)
{
	const char *unable = last_line(message, KUBE_LAST_UNABLE);
	const char *used = last_line(message, KUBE_LAST_USED);
	int64_t us, bytes;

	*ret = (struct kube_last){ .steps = step_lines(message) };
	if (unable)
		ret->unable = xstrndup(unable, strcspn(unable, "\n"));
	if (!used)
		return;
	if (sscanf(used, "%18" SCNd64, &us) == 1 && us > 0)
		ret->cpu_ms = us / 1000;
	used += strcspn(used, " \n");
	if (sscanf(used, " %18" SCNd64, &bytes) == 1 && bytes > 0)
		ret->peak_kib = bytes / 1024;
}
