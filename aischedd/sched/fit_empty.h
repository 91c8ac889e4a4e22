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
	uint8_t *known; /* by node: 1 if `empty` is filled in for it */
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
bool fit_empty_holds_up(const struct fit_empty *e, uint32_t row,
                        struct verdict *v);

#endif
