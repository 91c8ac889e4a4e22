/*
 * test_row.c - which fields of a request are in a row's key
 *
 * Jobs with equal keys form one row, which is planned once. If the key lacked a
 * field that matters to the scheduler, jobs that differ would be merged. So
 * this file says for each field of a request what another value of it changes.
 */
#include "aischedd/state/pass/row.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/text/text.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/state/pass/snapshot.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

enum effect_on {
	ALIKE, /* changes nothing in the scheduler's snapshot */
	WAITS, /* changes whether the snapshot has the job, not the key */
	WHOSE, /* changes the key and the snapshot, but not the request */
	ROW    /* changes the key, the snapshot and the request */
};

/* clang-format off */

/* A new field needs a line here, with a value other than that in
 * base_spec(). */
#define OTHER_name            ALIKE, "other"
#define OTHER_queue           WHOSE, "other"
#define OTHER_account         ALIKE, "other"
#define OTHER_class           WHOSE, "inference"
#define OTHER_comment         ALIKE, "other"
#define OTHER_priority        WHOSE, "7"
#define OTHER_nice            WHOSE, "7"
#define OTHER_tasks           ROW,   "5"
#define OTHER_min_tasks       ROW,   "2"
#define OTHER_nodes           ROW,   "2"
#define OTHER_tasks_per_node  ROW,   "2"
#define OTHER_cpus            ROW,   "2000"
#define OTHER_mem             ROW,   "7"
#define OTHER_mem_node        ROW,   "8"
#define OTHER_mem_cpu         ROW,   "9"
#define OTHER_tmp             ROW,   "9"
#define OTHER_gpus            ROW,   "1000"
#define OTHER_gpus_job        ROW,   "4"
#define OTHER_gpus_node       ROW,   "4"
#define OTHER_gpu_type        ROW,   "h100"
#define OTHER_exclusive       ROW,   "1"
#define OTHER_licenses        ROW,   "a:2"
#define OTHER_time_limit      ROW,   "600"
#define OTHER_begin           WAITS, "5000"
#define OTHER_deadline        ALIKE, "90000"
#define OTHER_signal          ALIKE, "10"
#define OTHER_signal_before   ALIKE, "10"
#define OTHER_signal_batch    ALIKE, "1"
#define OTHER_grace           ALIKE, "77"
#define OTHER_array           WAITS, "0-3"
#define OTHER_dependency      WAITS, "singleton"
#define OTHER_hold            WAITS, "1"
#define OTHER_requeue         ALIKE, "0"
#define OTHER_max_restarts    ALIKE, "3"
#define OTHER_constraint      ROW,   "ib"
#define OTHER_prefer          ROW,   "ib,h100"
#define OTHER_nodelist        ROW,   "n1"
#define OTHER_exclude         ROW,   "n1"
#define OTHER_pool            ROW,   "here"
#define OTHER_topology        ROW,   "rack"
#define OTHER_spread          ROW,   "node"
#define OTHER_near            ROW,   "1"
#define OTHER_apart           ROW,   "1"
#define OTHER_segment         ROW,   "2"
#define OTHER_numa            ROW,   "strict"
#define OTHER_links           ROW,   "strict"
#define OTHER_reservation     ROW,   "maintenance"
#define OTHER_output          ALIKE, "other"
#define OTHER_error           ALIKE, "other"
#define OTHER_input           ALIKE, "other"
#define OTHER_append          ALIKE, "1"
#define OTHER_workdir         ALIKE, "/other"
#define OTHER_umask           ALIKE, "7"
#define OTHER_launch_script   ROW,   "1"
#define OTHER_image           ROW,   "other"
#define OTHER_mount           ROW,   "/other"
#define OTHER_args            ALIKE, "[]"
#define OTHER_submit_host     ALIKE, "other"
#define OTHER_on_task_failure ALIKE, "restart"
#define OTHER_kube_uid        ALIKE, "other"
#define OTHER_command         ALIKE, "other"
#define OTHER_rlimits         ALIKE, "NOFILE=1:2"
#define OTHER_cron_id         ALIKE, "12"
#define OTHER_cron_time       ALIKE, "5000"
#define OTHER_cron_last       ALIKE, "4000"
#define OTHER_cron_missed     ALIKE, "2"
#define OTHER_allocation      ROW,   "1"
#define OTHER_mail_types      ALIKE, "2"
#define OTHER_mail_user       ALIKE, "other"
#define OTHER_labels          ALIKE, "a=other"
#define OTHER_has_cpus        ALIKE, "4000"
#define OTHER_has_mem         ALIKE, "100"
#define OTHER_kill_on_invalid_dep ALIKE, "1"
#define OTHER_no_idle_check   ALIKE, "1"
#define OTHER_kube_marks      ALIKE, "other"
#define OTHER_ports           ALIKE, "other=1"
#define OTHER_kube_pod        ALIKE, "1"
#define OTHER_shared_tasks    ALIKE, "4"
#define OTHER_gpu_memory      ROW,   "20480"
#define OTHER_gpu_part        ALIKE, "250"
#define OTHER_device          ROW,   "rdma:2"
#define OTHER_kube_pods       ALIKE, "2"

static const struct {
	enum effect_on effect;
	const char *value;
} other[] = {
#define X(name) { OTHER_##name },
	SPEC_FIELDS(X, X)
#undef X
};

/* clang-format on */

static const char conf[] =
    "topology { levels = {zone, rack} }\n"
    "pool here { runner = local }\npool cluster { runner = kubernetes }\n"
    "licenses { a = 9 }\n"
    "device rdma { }\n"
    "node \"n[0-1]\" { pool = here topology = z1/r1 }\n"
    "queue batch { }\nqueue other { }\n";

/* The daemon's view of a request: the key of its row, the snapshot, and how
 * many different requests the snapshot has. */
struct seen {
	struct buf key, snap;
	uint32_t nreqs;
};

static void seen_free(struct seen seen)
{
	buf_free(&seen.key);
	buf_free(&seen.snap);
}

static struct spec base_spec(struct world *w)
{
	struct spec spec = world_spec(w, "tasks=4 cpus-per-task=1");

	spec.queue = "batch";
	return spec;
}

static struct seen look(struct world *w, const struct spec *spec)
{
	struct arena *arena = arena_new();
	struct seen seen = { 0 };
	const struct snap *snap;
	uint32_t queue;
	uint64_t id = state_take_ids(w->state, 1);

	ck_assert_int_eq(submit_queue(w->state, spec, &queue, &w->err), 0);
	state_submit(w->state, spec, &w->who, queue, 1, 2, id, w->now);
	row_key_build(w->state, state_job(w->state, id), &seen.key);
	snap = state_peek(w->state, w->now, arena);
	snap_write(snap, &seen.snap);
	seen.nreqs = snap->req.n;
	arena_free(arena);
	return seen;
}

/* Set up two nodes, a reservation, and a job on which others can depend. It is
 * held, or runs. */
static void begin(struct world *w, bool runs)
{
	static const char *const reserve[] = {
		"reserve maintenance 0 99999 n1 u", NULL
	};
	struct spec first;

	world_init(w, conf);
	world_node(w, "n0", 4, 4000, 2);
	world_node(w, "n1", 4, 4000, 2);
	world_play(w, "maintenance", reserve);
	first = base_spec(w);
	first.hold = !runs;
	seen_free(look(w, &first));
	if (runs)
		world_run(w);
}

static bool is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

START_TEST(field_changes)
{
	const struct spec_field *f = &spec_fields[_i];
	struct world plain, changed;
	bool is_gpu_type = !strcmp(f->name, "gpu_type");
	bool names_job = !strcmp(f->name, "near") || !strcmp(f->name, "apart");
	bool is_segment = !strcmp(f->name, "segment");
	struct seen was, is;
	struct spec spec;

	begin(&plain, names_job);
	spec = base_spec(&plain);
	spec.gpus = is_gpu_type ? 1000 : SPEC_UNSET;
	spec.topology = is_segment ? "rack" : NULL;
	was = look(&plain, &spec);
	begin(&changed, names_job);
	if (f->is_text)
		*spec_text(&spec, f) = other[_i].value;
	else
		*spec_int(&spec, f) = strtoll(other[_i].value, NULL, 10);
	is = look(&changed, &spec);
	ck_assert_msg(is_same(&was.key, &is.key) == (other[_i].effect < WHOSE),
	              "%s: the key of the row is %s", f->name,
	              other[_i].effect < WHOSE ? "another" : "the same");
	ck_assert_msg(
	    is_same(&was.snap, &is.snap) == (other[_i].effect == ALIKE),
	    "%s: the snapshot is %s:\n%s", f->name,
	    other[_i].effect == ALIKE ? "another" : "the same", is.snap.data);
	seen_free(is);
	is = look(&plain, &spec);
	ck_assert_msg((is.nreqs == was.nreqs) == (other[_i].effect != ROW),
	              "%s: beside the other job, its request is %s", f->name,
	              other[_i].effect == ROW ? "the same" : "another");
	seen_free(was);
	seen_free(is);
	world_fini(&plain);
	world_fini(&changed);
}
END_TEST

SUITE(row)
{
	tcase_add_loop_test(tc, field_changes, 0, ARRAY_SIZE(other));
}
