/*
 * fit_empty.h - what would fit if nothing ran
 */
#ifndef AISCHEDD_SCHED_FIT_EMPTY_H
#define AISCHEDD_SCHED_FIT_EMPTY_H

#include "aischedd/sched/domain.h"
#include "aischedd/sched/match.h"
#include "aischedd/sched/plan.h"
#include "aischedd/sched/work.h"

struct fit_empty {
	const struct snap *snap;
	struct match *match;
	struct work *empty;
	/* By node: one more than the first of the nodes before it that are
	 * equal to it while they are empty, without a break; 0: `empty` is not
	 * filled in for it. */
	uint32_t *like;
	/* the last answer: how many tasks of `last_req`, at most `last_max`,
	 * fit on `last_like`, which is a value of `like` or 0 */
	uint32_t last_like, last_req;
	int64_t last_max, last_fit;
	unsigned last_loose; /* of `empty` */
	const struct domains *domains;
	struct spread *spread;
	uint32_t *nodes_with; /* scratch, by number of tasks: how many nodes
	                         hold that many */
	uint8_t *usable;      /* scratch, by class: 1 if the request may use
	                         it */
	uint8_t *fits;        /* by request: 1 if known to fit */
};

struct fit_empty *fit_empty_new(const struct snap *snap, struct match *match,
                                const struct domains *domains,
                                struct arena *arena);

/*
 * Whether the nodes of the pools that the row may use, up or not, could hold
 * its first job. If not, *v says NeverFits, with numbers; or RunnerDown if the
 * runner of a pool is not ready, because this pool may have more nodes.
 */
bool fit_empty_holds(struct fit_empty *e, uint32_t row, struct verdict *v);

/* Whether the nodes that are up could hold the row's first job; if not, *v is
 * NodeDown or RunnerDown. */
bool fit_empty_holds_up(struct fit_empty *e, uint32_t row, struct verdict *v);

#endif
