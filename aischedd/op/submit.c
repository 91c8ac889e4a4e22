/* submit.c - submit all jobs of a request, or none */
#include <string.h>
#include <unistd.h>

#include "aischedd/op/access.h"
#include "aischedd/op/alloc.h"
#include "aischedd/op/cron.h"
#include "aischedd/op/submit.h"
#include "aischedd/op/tryout.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/life/submit_check.h"
#include "aischedd/store/blob.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum {
	/* steps charged for checking one job without dependencies */
	STEPS_SPEC = 25,
	/* steps that the commit of one job takes */
	STEPS_STORED = 55
};

/* The jobs of one submit request. All are checked before the first one
 * is submitted. */
struct batch {
	struct arena *arena;
	size_t n;
	struct spec *spec;
	uint32_t *queue;
	const char *script, *env;
	size_t script_len, env_len;
	const char *token;
	bool test_only;
	/* the rule if this is recurring work; NULL: the jobs are submitted
	 * once, now */
	json_t *cron;
	struct cron_rule rule;
};

static int check_sizes(const struct daemon *d, const struct batch *b,
                       size_t raw_len, struct err *err)
{
	if (b->script_len + b->env_len != raw_len)
		return err_set(err, EPROTO,
		               "%zu bytes came with the request, but script "
		               "and environment should have %zu",
		               raw_len, b->script_len + b->env_len);
	if (b->script_len > (size_t)d->conf->max_script_size)
		return err_set(err, EFBIG,
		               "the script has %zu bytes, at most %lld are "
		               "taken (max_script_size)",
		               b->script_len,
		               (long long)d->conf->max_script_size);
	if (b->env_len > LIMIT_ENV)
		return err_set(err, EFBIG,
		               "the environment has %zu bytes, at most %d are "
		               "taken: use --export",
		               b->env_len, LIMIT_ENV);
	if (b->env_len && b->env[b->env_len - 1] != '\0')
		return err_set(err, EPROTO,
		               "the environment does not end with a zero byte");
	return 0;
}

static int check_spec(const struct batch *b, const struct spec *spec,
                      struct err *err)
{
	if (spec->kube_uid || spec->kube_marks ||
	    spec->kube_pod != SPEC_UNSET || spec->kube_pods != SPEC_UNSET)
		return err_set(err, EPERM,
		               "kube_uid, kube_marks, kube_pod, kube_pods: "
		               "only the runner of a cluster sets them");
	if (spec->cron_id != SPEC_UNSET)
		return err_set(err, EPERM,
		               "cron_id: only recurring work has such runs");
	if (spec->has_cpus != SPEC_UNSET || spec->has_mem != SPEC_UNSET)
		return err_set(err, EPERM,
		               "has_cpus, has_mem: they are known when a job "
		               "starts");
	if (spec->gpu_part != SPEC_UNSET)
		return err_set(err, EPERM,
		               "gpu_part: it follows from gpu_memory and the "
		               "nodes");
	if (spec->allocation == SPEC_UNSET)
		return b->script_len
		           ? 0
		           : err_set(err, EINVAL, "the script is empty");
	if (b->n > 1 || b->cron || spec->array || b->script_len ||
	    spec->launch_script != 1 || spec->requeue != 0)
		return err_set(err, EINVAL,
		               "an allocation is one job, without script, "
		               "that runs once and is not requeued");
	return 0;
}

static int batch_read(struct daemon *d, const struct request_in *in,
                      struct batch *b, struct err *err)
{
	json_int_t script_len, env_len;
	json_t *specs;
	json_error_t e;
	int test_only = 0;

	if (json_unpack_ex(in->body, &e, JSON_STRICT,
	                   "{s:s, s:s, s:o, s:I, s:I, s?b, s?o}", "op",
	                   &(const char *){ NULL }, "token", &b->token, "specs",
	                   &specs, "script_len", &script_len, "env_len",
	                   &env_len, "test_only", &test_only, "cron",
	                   &b->cron) < 0)
		return err_set(err, EPROTO, "submit: %s", e.text);
	if (script_len < 0 || env_len < 0 || strlen(b->token) != 32)
		return err_set(err, EPROTO, "submit: bad token or length");
	b->script_len = (size_t)script_len;
	b->env_len = (size_t)env_len;
	b->script = in->raw;
	b->env = b->script + b->script_len;
	b->test_only = test_only != 0;
	b->n = json_array_size(specs);
	if (!b->n || b->n > LIMIT_BULK)
		return err_set(err, EPROTO, "submit: 1 to %d jobs at once",
		               LIMIT_BULK);
	if (check_sizes(d, b, in->raw_len, err) < 0)
		return -1;
	b->spec = arena_array(b->arena, struct spec, b->n);
	b->queue = arena_array(b->arena, uint32_t, b->n);
	for (size_t i = 0; i < b->n; i++)
		if (spec_from_json(&b->spec[i], json_array_get(specs, i),
		                   b->arena, err) < 0)
			return -1;
	for (size_t i = 0; i < b->n; i++)
		if (check_spec(b, &b->spec[i], err) < 0)
			return -1;
	return 0;
}

int submit_check_one(struct daemon *d, const struct peer *peer,
                     const struct spec *spec, uint64_t *ahead,
                     uint32_t *ret_queue, struct err *err)
{
	struct submitter who = access_submitter(peer);
	int q = spec->queue ? conf_queue_find(d->conf, spec->queue)
	                    : conf_default_queue(d->conf);

	if (geteuid() != 0 && peer->uid != geteuid())
		return err_set(err, EACCES,
		               "this aischedd runs as uid %u and starts only "
		               "that user's jobs",
		               (unsigned)geteuid());
	who.operator_ = q >= 0 && access_operates(d, peer, (uint32_t)q);
	return state_check_submit(d->state, spec, &who, clock_wall_s(), ahead,
	                          ret_queue, err);
}

/* Check all jobs. Fails, too, if the request would take too many steps. The
 * dependencies and the array of a job take as many steps when it is submitted
 * as when it is checked. */
static int batch_check(struct daemon *d, const struct request_in *in,
                       struct batch *b, struct err *err)
{
	uint64_t ahead = 0, before;
	uint64_t steps = steps_spent() - in->began + b->n * STEPS_STORED;

	for (size_t i = 0; i < b->n; i++) {
		before = steps_so_far;
		if (submit_check_one(d, in->peer, &b->spec[i], &ahead,
		                     &b->queue[i], err) < 0)
			return b->n > 1 ? err_wrap(err, "job %zu of %zu", i + 1,
			                           b->n)
			                : -1;
		steps += 2 * (steps_so_far - before) + STEPS_SPEC;
		steps_add(STEPS_SPEC);
		if (steps > STEPS_REQUEST_MOST && b->n == 1)
			return err_set(err, EMSGSIZE,
			               "the job takes too long to check: name "
			               "fewer dependencies, or array tasks in "
			               "fewer ranges");
		if (steps > STEPS_REQUEST_MOST)
			return err_set(err, EMSGSIZE,
			               "%zu jobs at once take too long, "
			               "because of their texts, dependencies "
			               "or arrays: submit fewer at once",
			               b->n);
	}
	return 0;
}

static json_t *ids_answer(uint64_t first, uint32_t count)
{
	json_t *ids = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(ids,
		                      json_integer((json_int_t)(first + i)));
	return json_pack("{s:o}", "job_ids", ids);
}

static int batch_submit(struct daemon *d, const struct peer *peer,
                        const struct batch *b, uint64_t *ret_first,
                        struct err *err)
{
	struct submitter who = access_submitter(peer);
	int64_t now = clock_wall_s();
	int64_t script = store_blob(d->store, b->script, b->script_len, err);
	int64_t env = store_blob(d->store, b->env, b->env_len, err);

	if (script < 0 || env < 0)
		return -1;
	*ret_first = state_take_ids(d->state, (uint32_t)b->n);
	for (size_t i = 0; i < b->n; i++)
		state_submit(d->state, &b->spec[i], &who, b->queue[i], script,
		             env, *ret_first + i, now);
	steps_owe(b->n * STEPS_STORED);
	if (b->spec[0].allocation == ALLOCATION_HELD)
		daemon_add_alloc(d, *ret_first);
	store_token(d->store, b->token, peer->uid, *ret_first, (uint32_t)b->n,
	            now);
	log_info("job submit job=%llu count=%zu user=%s",
	         (unsigned long long)*ret_first, b->n, peer->user);
	return 0;
}

/* --- recurring work ----------------------------------------------------- */

static int cron_check(struct daemon *d, const struct peer *peer,
                      struct batch *b, struct err *err)
{
	if (!b->cron)
		return 0;
	if (b->n > 1)
		return err_set(err, EPROTO, "submit: cron takes one job");
	cron_rule_init(&b->rule);
	if (cron_read_rule(&b->rule, b->cron, err) < 0 ||
	    cron_check_spec(&b->spec[0], err) < 0)
		return -1;
	return state_cron_check(d->state, &b->rule, peer->uid, 1,
	                        clock_wall_s(), err);
}

/* Returns the answer to a submission of recurring work: the entry as JSON, or
 * only its id if the entry was deleted before the submission was repeated. */
static json_t *cron_answer(struct daemon *d, uint64_t id)
{
	const struct cron_entry *e = state_cron(d->state, id);

	return json_pack("{s:o}", "cron",
	                 e ? cron_json(d, e, true)
	                   : json_pack("{s:I}", "cron_id", (json_int_t)id));
}

static int cron_make(struct daemon *d, const struct peer *peer,
                     const struct batch *b, uint64_t *ret, struct err *err)
{
	struct spec spec = b->spec[0];
	struct cron_ask ask = { .uid = peer->uid,
		                .gid = peer->gid,
		                .user = peer->user,
		                .spec = &spec,
		                .rule = &b->rule,
		                .paused = spec.hold == 1 };
	int64_t now = clock_wall_s();

	ask.script = store_blob(d->store, b->script, b->script_len, err);
	ask.env = store_blob(d->store, b->env, b->env_len, err);
	if (ask.script < 0 || ask.env < 0)
		return -1;
	/* --hold pauses the entry; it does not hold the jobs of its runs */
	spec.hold = SPEC_UNSET;
	*ret = state_take_ids(d->state, 1);
	state_cron_add(d->state, &ask, *ret, now);
	store_token(d->store, b->token, peer->uid, *ret, 1, now);
	log_info("cron submit cron=%llu user=%s", (unsigned long long)*ret,
	         peer->user);
	return 0;
}

/* Tell what would happen to the jobs of the batch, without submitting them.
 * Takes over the batch's arena. */
static int batch_test(struct daemon *d, struct ask *ask,
                      const struct request_in *in, struct batch *b,
                      struct err *err)
{
	const struct tryout_ask what = {
		.arena = b->arena,
		.spec = b->spec,
		.queue = b->queue,
		.n = b->n,
		.next = b->cron ? cron_next_json(d, &b->rule) : NULL
	};

	b->arena = NULL;
	return daemon_try(d, ask, in, &what, err);
}

int op_submit(struct daemon *d, struct ask *ask, const struct request_in *in,
              struct err *err)
{
	struct batch b = { .arena = arena_new() };
	int result = -1;
	uint64_t first;
	uint32_t count;

	if (batch_read(d, in, &b, err) < 0)
		goto out;
	if (!b.test_only && store_token_find(d->store, b.token, in->peer->uid,
	                                     &first, &count)) {
		daemon_answer(d, ask,
		              b.cron ? cron_answer(d, first)
		                     : ids_answer(first, count));
		result = 0;
		goto out;
	}
	if (d->full) {
		*err = d->full_err;
		goto out;
	}
	if (cron_check(d, in->peer, &b, err) < 0 ||
	    batch_check(d, in, &b, err) < 0)
		goto out;
	if (b.test_only) {
		result = batch_test(d, ask, in, &b, err);
		goto out;
	}
	if (b.cron && cron_make(d, in->peer, &b, &first, err) < 0)
		goto out;
	else if (b.cron)
		daemon_answer(d, ask, cron_answer(d, first));
	else if (batch_submit(d, in->peer, &b, &first, err) < 0)
		goto out;
	else
		daemon_answer(d, ask, ids_answer(first, (uint32_t)b.n));
	result = 0;
out:
	arena_free(b.arena);
	return result;
}
