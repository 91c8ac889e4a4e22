/* test_spec_opt.c - merge options of command line, variables and script */
#include "libcommon/spec/spec_opt.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { MAX_WORDS = 8 };

struct places {
	struct arena *arena;
	struct buf warnings;
	struct submit submit;
};

static void places_init(struct places *p)
{
	*p = (struct places){ .arena = arena_new() };
	submit_init(&p->submit, p->arena, &p->warnings, 1000);
	buf_puts(&p->warnings, "");
}

static void places_fini(struct places *p)
{
	buf_free(&p->warnings);
	arena_free(p->arena);
}

/* Split a text at spaces, in place; returns the number of words. */
static size_t words(char *text, char *ret[MAX_WORDS + 1])
{
	size_t n = 0;

	for (char *word; (word = strsep(&text, " "));)
		if (*word && n < MAX_WORDS)
			ret[n++] = word;
	ret[n] = NULL;
	return n;
}

/* Set options like "time=10 hold", as if given on the command line. */
static int take_options(struct places *p, const char *options, struct err *err)
{
	char *copy = arena_strdup(p->arena, options), *word[MAX_WORDS + 1];
	size_t n = words(copy, word);

	for (size_t i = 0; i < n; i++) {
		char *value = strchr(word[i], '=');

		if (value)
			*value++ = '\0';
		if (opt_apply(spec_opts, &p->submit, word[i], value, err) < 0)
			return -1;
	}
	return 0;
}

static int take(struct places *p, const char *options, const char *env,
                const char *script, struct err *err)
{
	char *vars[MAX_WORDS + 1];

	words(arena_strdup(p->arena, env), vars);
	if (take_options(p, options, err) < 0 ||
	    submit_from_env(&p->submit, vars, err) < 0)
		return -1;
	return submit_from_script(&p->submit, "s", script, strlen(script), err);
}

/* clang-format off */
static const struct {
	const char *name, *options, *env, *script, *want;
} cases[] = {
	{ "the command line wins", "time=1", "AISUB_TIME=2",
	  "#AISUB -t3\n#SBATCH -t4\n", "time_limit:60" },
	{ "then the environment", "", "AISUB_TIME=2",
	  "#AISUB -t3\n#SBATCH -t4\n", "time_limit:120" },
	{ "then our lines, wherever they stand", "", "",
	  "#SBATCH -t4\n#AISUB -t3\n#SBATCH -t5\n", "time_limit:180" },
	{ "then Slurm's", "", "", "#SBATCH -t4\n", "time_limit:240" },
	{ "in one place the last wins", "", "", "#AISUB -t4\n#AISUB -t5\n",
	  "time_limit:300" },
	{ "each option on its own", "tasks=2", "AISUB_MEM=3",
	  "#AISUB -t3\n#SBATCH -t4 -n 7 -c2\n",
	  "tasks:2,cpus:2000,mem_node:3,time_limit:180" },
	{ "disk on each node", "tmp=2T", "AISUB_TMP=1G", "#SBATCH --tmp=0\n",
	  "tmp:2097152" },
	{ "devices add up", "device=rdma:2 device=fpga", "AISUB_DEVICE=a", "",
	  "device:rdma:2,fpga" },
	{ "no disk", "", "", "#SBATCH --tmp=0\n", "tmp:0" },
	{ "kinds of memory are one option", "mem-per-cpu=5", "",
	  "#SBATCH --mem=4G\n", "mem_cpu:5" },
	{ "kinds of GPUs are one option", "", "AISUB_GPUS=1",
	  "#SBATCH --gres=gpu:4\n", "gpus_job:1" },
	{ "a signal is one option", "signal=B:USR1", "",
	  "#SBATCH --signal=INT@5\n",
	  "signal:10,signal_before:60,signal_batch:1" },
	{ "in one place kinds are both kept, to be refused", "mem=1 mem-per-cpu=1",
	  "", "", "mem_node:1,mem_cpu:1" },
	{ "an alias is the same option", "ntasks=2", "AISUB_PARTITION=a",
	  "#SBATCH -n 3 -p b\n", "queue:a,tasks:2" },
	{ "flags of variables", "", "AISUB_HOLD=yes AISUB_EXCLUSIVE=no", "",
	  "hold:1" },
	{ "empty variables are none", "", "AISUB_TIME= AISUB_HOLD=", "", "" },
	{ "other variables", "", "AISUBTIME=1 XAISUB_TIME=1", "", "" },

	{ "sizes", "mem=2G mem-per-cpu=1K", "", "", "mem_node:2048,mem_cpu:1" },
	{ "no limit", "time=0", "", "", "time_limit:-1" },
	{ "half a GPU", "gpus-per-task=h100:0.5", "", "",
	  "gpus:500,gpu_type:h100" },
	{ "a part of a GPU by memory", "gpu-memory=20G", "", "",
	  "gpu_memory:20480" },
	{ "GPUs by gres", "gres=gpu:a100:2", "", "", "gpus_node:2,gpu_type:a100" },
	{ "one GPU by gres", "gres=gpu", "", "", "gpus_node:1" },
	{ "one GPU of a type by gres", "gres=gpu:a100", "", "",
	  "gpus_node:1,gpu_type:a100" },
	{ "one partition by gres", "gres=gpu:3g.40gb", "", "",
	  "gpus_node:1,gpu_type:3g.40gb" },
	{ "no gres", "gres=none", "", "", "" },
	{ "a flag of gres is an alignment", "", "",
	  "#SBATCH --gres-flags=allow-task-sharing,enforce-binding\n",
	  "numa:strict" },
	{ "other flags are ignored", "gres-flags=disable-binding", "", "", "" },
	{ "a canonical array", "array=3,1-2,9%2", "", "", "array:1-3,9%2" },
	{ "times from now", "begin=now+1m deadline=@99", "", "",
	  "begin:1060,deadline:99" },
	{ "as many nodes exactly", "nodes=2-2", "", "", "nodes:2" },
	{ "plain nice", "nice", "", "", "nice:100" },
	{ "no requeue, by templates", "", "",
	  "#SBATCH --no-requeue \n", "requeue:0" },
	{ "no requeue, with nothing", "no-requeue=", "", "", "requeue:0" },
	{ "to end if its dependency cannot be met", "kill-on-invalid-dep=yes",
	  "", "", "kill_on_invalid_dep:1" },
	{ "not to end then", "kill-on-invalid-dep=no", "", "",
	  "kill_on_invalid_dep:0" },
	{ "to let its GPUs be idle", "no-idle-check", "", "",
	  "no_idle_check:1" },
	{ "open mode", "open-mode=append", "", "", "append:1" },
	{ "without effect, silently", "", "",
	  "#SBATCH --wckey=k --get-user-env=L\n", "" },
	{ "mail", "", "", "#SBATCH --mail-type=End,FAIL --mail-user u@x.example\n",
	  "mail_types:6,mail_user:u@x.example" },
	{ "labels add up", "label=b=2,a=1 label=b=3", "",
	  "#AISUB --label c=4\n", "labels:a=1,b=3" },
	{ "a label of another way", "label=team", "", "",
	  "!--label: label 'team' has no value*" },
	{ "ports add up", "port=web=80 port=board=6006,x=1", "",
	  "#AISUB --port other=1\n", "ports:web=80,board=6006,x=1" },
	{ "ports of a script", "", "",
	  "#AISUB --port web=80\n#AISUB --port board=6006\n",
	  "ports:web=80,board=6006" },
	{ "a port twice", "port=web=80 port=web=81", "", "",
	  "!--port: two ports have the name 'web'" },
	{ "no mail", "mail-type=none", "", "#SBATCH --mail-type=ALL\n",
	  "mail_types:0" },
	{ "a bad type of mail", "mail-type=END,,ALL", "", "",
	  "!--mail-type: bad mail type '': use NONE*" },

	{ "a bad option", "time=x", "", "", "!--time: bad time 'x'*" },
	{ "a bad variable", "", "AISUB_TIME=x", "",
	  "!AISUB_TIME: --time: bad time 'x'*" },
	{ "a bad flag of a variable", "", "AISUB_HOLD=x", "",
	  "!AISUB_HOLD: bad value 'x'*" },
	{ "a bad directive, though another wins", "time=1", "",
	  "\n#SBATCH -t x\n", "!s:2: --time: bad time 'x'*" },
	{ "an unknown directive of ours", "", "", "#AISUB --foo\n",
	  "!s:1: unknown option '--foo'" },
	{ "Slurm's -F is not ours", "", "", "#AISUB -q a\n#SBATCH -q b -F c\n",
	  "queue:a" },
	{ "long names take two dashes", "", "", "#AISUB --t 5\n",
	  "!s:1: unknown option '--t'" },
	{ "not for scripts", "", "", "#AISUB --wrap=x\n",
	  "!s:1: --wrap is for the command line only" },
	{ "not for variables", "", "AISUB_SOCKET=x", "",
	  "!AISUB_SOCKET: --socket is for the command line only" },
	{ "nothing of a CPU", "cpus-per-task=0", "", "",
	  "!--cpus-per-task: a task needs some CPU" },
	{ "nothing of memory", "mem-per-task=0", "", "",
	  "!--mem-per-task: '0': say how much memory is needed" },
	{ "a range of nodes", "nodes=1-4", "", "", "nodes:1" },
	{ "the most is less", "nodes=4-1", "", "", "!--nodes: bad range of nodes '4-1': *" },
	{ "a range without an end", "nodes=4-", "", "", "!--nodes: bad range of nodes '4-': *" },
	{ "all the memory", "mem=0", "", "", "mem_node:0" },
	{ "all the memory for each CPU", "mem-per-cpu=0", "", "", "mem_node:0" },
	{ "GPUs in odd words", "gres=gpu:a:b:c", "", "",
	  "!--gres: 'gpu:a:b:c': use gpu*" },
	{ "bad gres", "gres=gpu:1,nic:x", "", "", "!--gres: 'nic:x': use gpu*" },
	{ "gpus of several types", "gpus=a:1,b:2", "", "", "!--gpus: bad GPUs*" },
	{ "an empty text", "job-name=", "", "", "!--job-name: it is empty" },
	{ "a bad list of variables", "export=1=2", "", "",
	  "!--export: '1=2' is not the name of a variable" },
	{ "a bad host list", "nodelist=n[", "", "", "!--nodelist: *" },
	{ "a bad dependency", "", "", "#AISUB -d after:x\n",
	  "!s:1: --dependency: bad dependency*" },
	{ "a grace without end", "grace=UNLIMITED", "", "", "!--grace: *" },
	{ "a bad schedule", "cron=x", "", "",
	  "!--cron: 'x' has 1 field, not 5*" },
	{ "a bad schedule, in a script", "", "", "#AISUB --cron '60 * * * *'\n",
	  "!s:1: --cron: minute '60'*" },
	{ "a bad policy", "cron-policy=maybe", "", "",
	  "!--cron-policy: bad policy 'maybe': use allow, forbid or replace" },
	{ "a jitter without end", "cron-jitter=2h", "", "",
	  "!--cron-jitter: '2h' is more than an hour" },
};
/* clang-format on */

/* Returns "name:value,..." of the given fields. */
static char *describe(struct spec *spec)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < spec_nfields; i++) {
		const struct spec_field *field = &spec_fields[i];
		const char *comma = out.len ? "," : "";

		if (field->is_text && *spec_text(spec, field))
			buf_printf(&out, "%s%s:%s", comma, field->name,
			           *spec_text(spec, field));
		else if (!field->is_text &&
		         *spec_int(spec, field) != SPEC_UNSET)
			buf_printf(&out, "%s%s:%lld", comma, field->name,
			           (long long)*spec_int(spec, field));
	}
	return buf_take(&out);
}

START_TEST(option_case)
{
	struct places p;
	struct err err;
	char *got;

	places_init(&p);
	if (take(&p, cases[_i].options, cases[_i].env, cases[_i].script, &err) <
	    0)
		got = xasprintf("!%s", err.text);
	else
		got = describe(&p.submit.spec);
	ck_assert_msg(glob_match(cases[_i].want, got), "%s: got %s",
	              cases[_i].name, got);
	free(got);
	places_fini(&p);
}
END_TEST

static const struct {
	const char *name, *env, *script, *want;
} warned[] = {
	{ "nothing to warn of", "AISUB_TIME=1", "#SBATCH -n 2\n", "" },
	{ "an unknown variable", "AISUB_TIMES=1", "",
	  "aisub: warning: AISUB_TIMES names no option, ignored\n" },
	{ "an unknown option of Slurm's", "", "\n#SBATCH --foo bar -n2\n",
	  "aisub: s:2: warning: unknown option '--foo', ignored\n" },
	{ "an option that means something else to Slurm", "",
	  "#SBATCH -q high\n",
	  "aisub: s:1: warning: unknown option '-q', ignored\n" },
	{ "options after the first command", "",
	  "true\n#SBATCH -n2\n#SBATCH -n2\n",
	  "aisub: s:2: warning: options after the first command are "
	  "ignored\n" },
	{ "a variable in a value", "", "#SBATCH -o $HOME/x\n",
	  "aisub: s:1: warning: variables are not replaced in '$HOME/x'\n" },
};

START_TEST(warning_case)
{
	struct places p;
	struct err err;

	places_init(&p);
	ck_assert_int_eq(take(&p, "", warned[_i].env, warned[_i].script, &err),
	                 0);
	ck_assert_msg(!strcmp(p.warnings.data, warned[_i].want), "%s: got %s",
	              warned[_i].name, p.warnings.data);
	places_fini(&p);
}
END_TEST

/* clang-format off */
static const struct {
	const char *name, *options, *script, *want;
} resolved[] = {
	{ "CPUs and memory for each GPU", "gpus-per-task=2 cpus-per-gpu=4 mem-per-gpu=10G",
	  "", "cpus:8000,mem:20480,gpus:2000" },
	{ "a part by memory has none of them", "gpu-memory=20G cpus-per-gpu=3",
	  "", "!--cpus-per-gpu and --gpu-memory: say how many GPUs; without a "
	      "number it is a part that depends on the node" },
	{ "parts of a GPU have parts of them", "gpus-per-task=0.5 cpus-per-gpu=3 mem-per-gpu=1001M",
	  "", "cpus:1500,mem:501,gpus:500" },
	{ "GPUs of the job are divided first", "gpus=8 tasks=4 cpus-per-gpu=2",
	  "", "tasks:4,cpus:4000,gpus_job:8" },
	{ "from a script of Slurm", "", "#SBATCH --gres=gpu:2 --cpus-per-gpu=4 --mem-per-gpu=1G\n",
	  "cpus:8000,mem:2048,gpus_node:2" },
	{ "the command line wins", "cpus-per-task=1 mem=3",
	  "#SBATCH --gpus=2 --cpus-per-gpu=4 --mem-per-gpu=1G\n",
	  "cpus:1000,mem_node:3,gpus_job:2" },
	{ "so does what it says of GPUs", "cpus-per-gpu=4 mem-per-gpu=1G",
	  "#SBATCH --gpus=1 -c2 --mem-per-cpu=3\n",
	  "cpus:4000,mem:1024,gpus_job:1" },
	{ "tasks for each GPU", "gpus=4 tasks-per-gpu=2", "",
	  "tasks:8,gpus_job:4" },
	{ "tasks for each GPU of a node", "gres=gpu:4 nodes=2 ntasks-per-gpu=1", "",
	  "tasks:8,nodes:2,gpus_node:4" },
	{ "devices of a node", "gres=gpu:2,rdma:4,fpga:2 nodes=2 tasks=4 device=nic",
	  "", "tasks:4,nodes:2,gpus_node:2,device:nic,rdma:2,fpga:1" },
	{ "devices that cannot be divided", "gres=rdma:1 tasks=2", "",
	  "!1 rdma on each node cannot be divided evenly among its 2 tasks" },
	{ "GPUs for so many tasks", "tasks=8 tasks-per-gpu=4", "",
	  "tasks:8,gpus_job:2" },

	{ "no GPUs", "cpus-per-gpu=4", "", "!--cpus-per-gpu, but no GPUs are asked for" },
	{ "no GPUs for memory", "mem-per-gpu=4", "", "!--mem-per-gpu, but no GPUs are asked for" },
	{ "two ways of CPUs", "gpus=1 cpus-per-gpu=4 cpus-per-task=1", "",
	  "!give only one of --cpus-per-task and --cpus-per-gpu" },
	{ "two ways of memory", "gpus=1 mem-per-gpu=4 mem=1", "",
	  "!give only one of --mem-per-task, --mem, --mem-per-cpu and --mem-per-gpu" },
	{ "two ways of GPUs", "gpus-per-task=1 tasks-per-gpu=1", "",
	  "!give only one of --gpus-per-task and --tasks-per-gpu" },
	{ "tasks that do not match", "gpus=2 tasks=5 tasks-per-gpu=2", "",
	  "!5 tasks are not 2 for each of 2 GPUs" },
	{ "tasks of nothing", "tasks-per-gpu=2", "",
	  "!--tasks-per-gpu: say how many --tasks or --gpus there are" },
	{ "no memory", "mem-per-gpu=0", "", "!--mem-per-gpu: '0': say how much*" },
};
/* clang-format on */

START_TEST(resolved_case)
{
	struct request req;
	struct places p;
	struct err err;
	char *got;

	places_init(&p);
	if (take(&p, resolved[_i].options, "", resolved[_i].script, &err) < 0 ||
	    submit_resolve(&p.submit, &req, &err) < 0)
		got = xasprintf("!%s", err.text);
	else
		got = describe(&p.submit.spec);
	ck_assert_msg(glob_match(resolved[_i].want, got), "%s: got %s",
	              resolved[_i].name, got);
	free(got);
	places_fini(&p);
}
END_TEST

START_TEST(whose_script_it_is)
{
	static const struct {
		const char *script;
		bool want;
	} script[] = {
		{ "#SBATCH -n2\n", true },
		{ "#SBATCH -n2\n#AISUB -n2\n", false },
		{ "#AISUB -n2\n", false },
		{ "true\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(script); i++) {
		struct places p;
		struct err err;

		places_init(&p);
		ck_assert_int_eq(take(&p, "", "", script[i].script, &err), 0);
		ck_assert_int_eq(p.submit.only_slurm, script[i].want);
		places_fini(&p);
	}
}
END_TEST

START_TEST(behaviour)
{
	struct places p;
	struct err err;

	places_init(&p);
	ck_assert_int_eq(take(&p, "parsable export=A", "AISUB_WAIT=1",
	                      "#AISUB --export=B --launch=script\n"
	                      "#SBATCH --quiet\n",
	                      &err),
	                 0);
	ck_assert(p.submit.parsable && p.submit.wait && p.submit.quiet);
	ck_assert(!p.submit.json && !p.submit.follow && !p.submit.test_only);
	ck_assert_str_eq(p.submit.export_env, "A");
	ck_assert_str_eq(p.submit.launch, "script");
	places_fini(&p);
}
END_TEST

/* Each option of recurring work comes from the first place that sets it. */
START_TEST(recurring_work)
{
	struct places p;
	struct err err;

	places_init(&p);
	ck_assert_int_eq(take(&p, "cron-jitter=5m", "",
	                      "#AISUB --cron @daily --cron-jitter=9m\n"
	                      "#AISUB --cron-tz=UTC\n"
	                      "#SBATCH --cron=@hourly\n",
	                      &err),
	                 0);
	ck_assert_str_eq(p.submit.cron.schedule, "@daily");
	ck_assert_str_eq(p.submit.cron.jitter, "5m");
	ck_assert_str_eq(p.submit.cron.tz, "UTC");
	ck_assert_ptr_null(p.submit.cron.policy);
	places_fini(&p);
}
END_TEST

SUITE(spec_opt)
{
	tcase_add_loop_test(tc, option_case, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, resolved_case, 0, (int)ARRAY_SIZE(resolved));
	tcase_add_loop_test(tc, warning_case, 0, ARRAY_SIZE(warned));
	tcase_add_test(tc, whose_script_it_is);
	tcase_add_test(tc, behaviour);
	tcase_add_test(tc, recurring_work);
}
