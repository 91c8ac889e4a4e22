/*
 * stage.h - the runner of a cluster, with attempts and pods that a test makes
 *
 * No watch runs, so nothing changes but by the test.
 */
#ifndef TESTS_UNIT_RUN_KUBE_STAGE_H
#define TESTS_UNIT_RUN_KUBE_STAGE_H

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/conf/conf.h"
#include "tests/unit/run/kube/object/world.h"

struct kube_stage {
	struct kube_world w;
	struct kube *kube;
	struct kube_space space, other; /* namespaces "n" and "o" */
	struct kube_space *spaces[2];
	struct conf conf;
	struct conf_pool pool;
	/* texts of the runner's events, each followed by '|'; "-": no text */
	struct buf told;
	unsigned ntold;
	struct run_event last; /* the last event, without what it points to */
};

void stage_begin(struct kube_stage *st);
void stage_end(struct kube_stage *st);

/* Allow calls that change something: they are counted as open, but are not
 * sent, as the loop must not run afterwards. */
void stage_lease(struct kube_stage *st);

/* Hold the Lease. */
void stage_hold_lease(struct kube_stage *st);

/* Make an attempt 1 of the job, which runs n tasks on nodes n0, n1, ... */
struct kube_attempt *stage_job(struct kube_stage *st, uint64_t job, uint32_t n);

/* Make a running pod of the attempt: it is the latest one of its index. */
struct kube_task *stage_pod(struct kube_attempt *a, int32_t index,
                            const char *name, const char *node);

/* Let the pod end as lost, for this reason. */
void stage_lose(struct kube_task *task, const char *reason, bool disrupted);

/* Call kube_slot_set_all() for n tasks on these nodes. */
void stage_resize(struct kube_attempt *a, uint32_t n, const char *const *node);

#endif
