/* kube_secret.c - what the pods of a job run: environment, script, init */
#include "aischedd/run/kube_object.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "aischedd/run/record.h"
#include "aischedd/run/shepherd_env.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

/*
 * The first process of a container: it gets no signal that it does not trap,
 * and its children none at all.  So it passes TERM on to everything in there
 * and ends as the script has ended.
 */
static const char init_script[] = ". " KUBE_JOB_DIR "/env\n"
				  "trap 'kill -TERM -1 2>/dev/null' TERM\n"
				  "\"" KUBE_JOB_DIR "/script\" \"$@\" &\n"
				  "child=$!\n"
				  "[ -z \"$aisched_signal\" ] || {\n"
				  "\tsleep \"$aisched_after\"\n"
				  "\tkill -\"$aisched_signal\" "
				  "\"${aisched_to:-$child}\"\n"
				  "} 2>/dev/null &\n"
				  "wait \"$child\"\n"
				  "status=$?\n"
				  "# A signal ends the wait, not the script.\n"
				  "while kill -0 \"$child\" 2>/dev/null; do\n"
				  "\twait \"$child\"\n"
				  "\tstatus=$?\n"
				  "done\n"
				  "exit \"$status\"\n";

static bool is_one_of(const char *var, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && !strncmp(*list, var, len))
			return true;
	return false;
}

/* What is true of the submitter's machine, or of one local process. */
static bool is_local(const char *var, size_t len)
{
	static const char *const names[] = {
		/* The image knows better. */
		"HOME", "HOSTNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "OLDPWD",
		"PATH", "PWD", "SHELL", "SHLVL", "TMPDIR", "_",
		/* Of each pod, below. */
		RUN_ID_VAR, "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR",
		NULL
	};
	static const char *const ours[] = { "GTIDS",  "JOB_GPUS", "LOCALID",
		                            "NODEID", "PROCID",   "TASK_PID",
		                            NULL };

	if (is_one_of(var, len, names))
		return true;
	if (len > 8 && !strncmp(var, "AISCHED_", 8))
		return is_one_of(var + 8, len - 8, ours);
	return len > 6 && !strncmp(var, "SLURM_", 6) &&
	       is_one_of(var + 6, len - 6, ours);
}

/* Shells name functions that they export as they like. */
static bool is_name(const char *var, size_t len)
{
	if (!len || isdigit((unsigned char)*var))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)var[i]) && var[i] != '_')
			return false;
	return true;
}

static void add_export(struct buf *out, const char *var, size_t len)
{
	buf_puts(out, "export ");
	buf_add(out, var, len);
	buf_puts(out, "='");
	for (const char *s = var + len + 1; *s; s++)
		if (*s == '\'')
			buf_puts(out, "'\\''");
		else
			buf_addc(out, *s);
	buf_puts(out, "'\n");
}

static void add_ranks(struct buf *out, const struct kube_home *home,
                      const struct run_job *job)
{
	static const char *const ranks[] = { "AISCHED_PROCID", "SLURM_PROCID",
		                             "AISCHED_NODEID", "SLURM_NODEID" };
	char name[KUBE_NAME_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++)
		buf_printf(out, "export %s=\"$JOB_COMPLETION_INDEX\"\n",
		           ranks[i]);
	buf_puts(out, "export AISCHED_LOCALID=0 SLURM_LOCALID=0\n");
	if (job->ntasks == 1 && job->req->tasks == 1)
		return;
	kube_object_name(name, home->cluster, job->job, job->attempt);
	buf_printf(out,
	           "export RANK=\"$JOB_COMPLETION_INDEX\" LOCAL_RANK=0\n"
	           "export WORLD_SIZE=%" PRIu32 "\n"
	           "export MASTER_ADDR='%s-0.%s'\n",
	           job->ntasks, name, name);
}

/* Nobody outside can send one: it is set off when the job starts. */
static void add_signal(struct buf *out, const struct run_job *job)
{
	const struct spec *spec = job->spec;
	int64_t after = job->time_limit - spec->signal_before;

	if (spec->signal == SPEC_UNSET || job->time_limit == TIME_UNLIMITED)
		return;
	buf_printf(
	    out, "aisched_signal=%d aisched_after=%" PRId64 " aisched_to=%s\n",
	    (int)spec->signal, after > 0 ? after : 0,
	    spec->signal_batch == 1 ? "" : "-1");
}

static void env_file(struct buf *out, const struct kube_home *home,
                     const struct run_job *job, int64_t now)
{
	struct order order = { .job = *job };
	struct env_of of = { .order = &order, .start = now };
	struct arena *arena = arena_new();
	struct buf nodes = { 0 };

	for (uint32_t i = 0; i < job->ntasks; i++)
		buf_printf(&nodes, "%s%s", i ? "," : "", job->node_name[i]);
	order.host = nodes.data;
	for (char **var = env_build(&of, arena); *var; var++) {
		const char *eq = strchr(*var, '=');
		size_t len = eq ? (size_t)(eq - *var) : 0;

		if (is_name(*var, len) && !is_local(*var, len))
			add_export(out, *var, len);
	}
	add_ranks(out, home, job);
	add_signal(out, job);
	if (job->spec->umask != SPEC_UNSET)
		buf_printf(out, "umask 0%03o\n", (unsigned)job->spec->umask);
	arena_free(arena);
	buf_free(&nodes);
}

static json_t *base64(const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	struct buf out = { 0 };
	json_t *text;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16;

		if (i + 1 < len)
			bits |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			bits |= p[i + 2];
		buf_addc(&out, digits[bits >> 18]);
		buf_addc(&out, digits[bits >> 12 & 63]);
		buf_addc(&out, i + 1 < len ? digits[bits >> 6 & 63] : '=');
		buf_addc(&out, i + 2 < len ? digits[bits & 63] : '=');
	}
	text = json_stringn(out.data ? out.data : "", out.len);
	buf_free(&out);
	return text;
}

json_t *kube_object_secret(const struct kube_home *home,
                           const struct run_job *job, int64_t now)
{
	json_t *obj = kube_object_new(home, job, "v1", "Secret");
	json_t *data = json_object();
	struct buf env = { 0 };

	env_file(&env, home, job, now);
	json_object_set_new(data, "env", base64(env.data, env.len));
	json_object_set_new(data, "init",
	                    base64(init_script, sizeof(init_script) - 1));
	json_object_set_new(data, "script",
	                    base64(job->script, job->script_len));
	json_object_set_new(obj, "immutable", json_true());
	json_object_set_new(obj, "data", data);
	buf_free(&env);
	return obj;
}
