/* adopt.c - adopted jobs: Jobs that were made in a cluster, not with aisub */
#include "aischedd/state/life/adopt.h"

#include <string.h>

#include "aischedd/state/state_priv.h"

enum { FOREIGN_UIDS = 0x3fff0000 };
#define FOREIGN_UID_MIN 0xc0000000u

void adopt_tell(struct state *state, const struct job *job)
{
	struct spec spec;
	int pool;

	spec_unpack(&spec, job->packed);
	pool = conf_pool_find(state->conf, spec.pool ? spec.pool : "");
	if (pool < 0)
		return;
	state_effect(state,
	             (struct effect){ .kind = EFFECT_ADOPT,
	                              .job = job->id,
	                              .pool = (uint32_t)pool,
	                              .state = (enum job_state)job->state });
}

uint32_t state_foreign_uid(const struct state *state, const char *name)
{
	uint64_t hash = hash_bytes(0, name, strlen(name));
	uintptr_t known;
	uint32_t uid;

	/* If two names give the same uid, the later one gets the
	 * next number. */
	for (;; hash++) {
		uid = FOREIGN_UID_MIN + (uint32_t)(hash % FOREIGN_UIDS);
		known = (uintptr_t)map_find(&state->users.by_uid, uid);
		if (!known || !strcmp(state->users.user[known - 1].name, name))
			return uid;
	}
}
