/* listing_attempt.c - the fields of an attempt */
#include "aischedd/read/listing_row.h"

#include <string.h>

#include "aischedd/state/life/evict.h"

static const struct past_attempt *of(const struct row_view *v)
{
	return v->attempt;
}

static void a_display_id(struct row_view *v)
{
	put_quote(v);
	if (of(v)->array_task != NO_TASK)
		buf_printf(v->out, "%llu_%u", (unsigned long long)of(v)->array,
		           (unsigned)of(v)->array_task);
	else
		buf_printf(v->out, "%llu", (unsigned long long)of(v)->job);
	put_quote(v);
}

/* The state of an attempt is not final if its job was requeued afterwards. */
static void a_state(struct row_view *v)
{
	enum job_state state = (enum job_state)of(v)->state;

	put_text(v, job_state_is_final(state) ? job_state_name(state)
	                                      : "REQUEUED");
}

static void a_evicted(struct row_view *v)
{
	put_text(v, evict_name((unsigned)of(v)->evict));
}

static int64_t seconds(int64_t ms)
{
	return ms == SPEC_UNSET ? ms : ms / 1000;
}

static int64_t mib(int64_t kib)
{
	return kib == SPEC_UNSET ? kib : (kib + 1023) / 1024;
}

static int64_t busy_ms(const struct row_view *v)
{
	return of(v)->gpu.known_ms ? of(v)->gpu.busy_ms : SPEC_UNSET;
}

static int64_t gpu_mem_mib(const struct row_view *v)
{
	return of(v)->gpu.mem_total_mib ? of(v)->gpu.mem_mib : SPEC_UNSET;
}

static void put_ratio(struct row_view *v, double part, int64_t whole)
{
	put_milli(v, (int64_t)(part / (double)whole * 1000 + 0.5));
}

static void a_cpu_util(struct row_view *v)
{
	if (of(v)->cpu_ms == SPEC_UNSET || of(v)->held[RES_CPU] <= 0)
		put_null(v);
	else
		put_ratio(v, (double)of(v)->cpu_ms, of(v)->held[RES_CPU]);
}

/* A peak is that of the busiest node, and nothing tells how much memory the
 * attempt held on each of several nodes. */
static void a_mem_util(struct row_view *v)
{
	const struct past_attempt *past = of(v);
	int64_t ms = 0;

	if (past->began_ms != SPEC_UNSET && past->ended_ms != SPEC_UNSET)
		ms = past->ended_ms - past->began_ms;
	if (!past->nodes || strpbrk(past->nodes, ",[") || ms <= 0 ||
	    past->peak_kib == SPEC_UNSET || past->held[RES_MEM] <= 0)
		put_null(v);
	else
		put_ratio(v, (double)past->peak_kib / 1024 * (double)ms / 1000,
		          past->held[RES_MEM]);
}

/* clang-format off */
FIELD(a_job_id,         put_int,    (int64_t)of(v)->job)
FIELD(a_array_job_id,   put_int_or, (int64_t)of(v)->array, 0)
FIELD(a_array_task_id,  put_int_or, of(v)->array_task, NO_TASK)
FIELD(a_attempt,        put_int,    of(v)->attempt)
FIELD(a_user,           put_text,   of(v)->user)
FIELD(a_uid,            put_int,    of(v)->uid)
FIELD(a_queue,          put_text,   of(v)->queue)
FIELD(a_account,        put_text,   of(v)->account)
FIELD(a_class,          put_text,   of(v)->class)
FIELD(a_pool,           put_text,   of(v)->pool)
FIELD(a_gpu_type,       put_text,   of(v)->gpu_type)
FIELD(a_reason,         put_text,   reason_name((enum reason)of(v)->why))
FIELD(a_evicted_by,     put_int_or, of(v)->evict_by, SPEC_UNSET)
FIELD(a_exit_code,      put_int_or, of(v)->exit_code, SPEC_UNSET)
FIELD(a_signal,         put_int_or, of(v)->signal, SPEC_UNSET)
FIELD(a_tasks,          put_int_or, of(v)->tasks, SPEC_UNSET)
FIELD(a_nodelist,       put_text,   of(v)->nodes)
FIELD(a_start_time,     put_int_or, seconds(of(v)->began_ms), SPEC_UNSET)
FIELD(a_end_time,       put_int_or, seconds(of(v)->ended_ms), SPEC_UNSET)
FIELD(a_start_ms,       put_int_or, of(v)->began_ms, SPEC_UNSET)
FIELD(a_end_ms,         put_int_or, of(v)->ended_ms, SPEC_UNSET)
FIELD(a_elapsed,        put_int_or, seconds(of(v)->ran_ms), SPEC_UNSET)
FIELD(a_elapsed_ms,     put_int_or, of(v)->ran_ms, SPEC_UNSET)
FIELD(a_cpu_seconds,    put_milli_or, of(v)->cpu_ms, SPEC_UNSET)
FIELD(a_held_cpu_seconds, put_milli_or, of(v)->held[RES_CPU], SPEC_UNSET)
FIELD(a_held_mem_mib_seconds, put_int_or, of(v)->held[RES_MEM], SPEC_UNSET)
FIELD(a_held_gpu_seconds, put_milli_or, of(v)->held[RES_GPU], SPEC_UNSET)
FIELD(a_peak_mem_mib,   put_int_or, mib(of(v)->peak_kib), SPEC_UNSET)
FIELD(a_gpu_busy_seconds, put_milli_or, busy_ms(v), SPEC_UNSET)
FIELD(a_gpu_known_seconds, put_milli_or, of(v)->gpu.known_ms, 0)
FIELD(a_cost,          put_micro_or, of(v)->cost, SPEC_UNSET)
FIELD(a_gpu_util,       put_gpu_util, &of(v)->gpu, of(v)->held[RES_GPU])
FIELD(a_gpu_mem_mib,    put_int_or, gpu_mem_mib(v), SPEC_UNSET)
FIELD(a_gpu_mem_total_mib, put_int_or, of(v)->gpu.mem_total_mib, 0)
/* clang-format on */

const struct field listing_attempt_fields[] = {
#define X(name) { #name, a_##name, true },
	X(job_id) X(display_id) X(array_job_id) X(array_task_id) X(attempt)
	    X(user) X(uid) X(queue) X(account) X(class) X(pool) X(gpu_type)
		X(state) X(reason) X(evicted) X(evicted_by) X(exit_code)
		    X(signal) X(tasks) X(nodelist) X(start_time) X(end_time)
			X(start_ms) X(end_ms) X(elapsed) X(elapsed_ms)
			    X(cpu_seconds) X(held_cpu_seconds)
				X(held_mem_mib_seconds) X(held_gpu_seconds)
				    X(peak_mem_mib) X(gpu_busy_seconds)
					X(gpu_known_seconds) X(gpu_util)
					    X(gpu_mem_mib) X(gpu_mem_total_mib)
						X(cost) X(cpu_util) X(mem_util)
#undef X
						    { NULL, NULL, false }
};
