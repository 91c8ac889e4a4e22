/*
 * scale.h - nodes that are added when jobs need them, and given back when idle
 *
 * Each template of the configuration has nodes NAME-1, NAME-2 and so on. They
 * are in the table of nodes even while they do not exist: snapshots have them
 * with the size of the template and the time at which they could be there, so
 * that jobs can be promised a start there (sched/future/coming.h). Effects tell
 * the daemon to add nodes that a plan asks for, and to remove nodes that no job
 * has used for long enough. The store knows which nodes are being added or
 * removed, so that the effects can be repeated after a restart.
 *
 * If a node is not ready in time, it is given back. Then no node of its
 * template is added during a wait, which doubles with each failure.
 *
 * An autoscaler that is asked by stand-ins or ProvisioningRequests chooses the
 * names of nodes itself. So nodes are known by the labels of the template: each
 * that appears becomes a member, and takes the place of one of NAME-1, NAME-2
 * and so on, until it is gone. Members are given back by the autoscaler. A
 * stand-in is no longer wanted once no promise needs its node.
 */
#ifndef AISCHEDD_STATE_CLUSTER_SCALE_H
#define AISCHEDD_STATE_CLUSTER_SCALE_H

#include "aischedd/run/runner.h"
#include "aischedd/sched/plan.h"
#include "aischedd/state/cluster/node.h"

struct state;

/* One template. */
struct scale {
	/* what is expected of its nodes that do not exist yet: at first what
	 * the configuration says, then the least that a node has had */
	int64_t cpu_milli, mem_mib, tmp_mib;
	uint32_t *place;  /* its nodes NAME-1 and so on, in this order */
	uint32_t places;  /* how many these are */
	uint32_t members; /* nodes that are there; above `places` if others
	                     added nodes */
	uint32_t asked;   /* how many nodes are being added */
	uint32_t fails;   /* how often adding nodes has failed in a row */
	int64_t retry_at; /* add no node before this time */
	char *trouble;    /* why adding a node failed last, or NULL */
	/* a member that is gone although no job had used it, or NULL */
	char *lost;
};

struct scale_table {
	struct scale
	    *scale; /* by number of the template in the configuration */
	size_t n;
	bool joining;   /* nodes known before are assigned to templates */
	bool simulated; /* see state_scale_simulate() */
};

/* Add the nodes of all templates to the table of nodes, and repeat the effects
 * for nodes that are being added or removed. Call it after the state was
 * loaded. */
void state_scale_begin(struct state *state);

/* Have nodes of all templates added and removed one by one, under the names
 * NAME-1 and so on, as in aisim. Call it before state_scale_begin(). */
void state_scale_simulate(struct state *state);

/* Note that the program that adds or removes the node begins only now: the time
 * for which it waited for another program does not count. */
void state_scale_started(struct state *state, uint32_t node, int64_t now);

/* Note how the program that adds the node (`add`) or removes it ended. why: the
 * error; NULL: it succeeded. */
void state_scale_done(struct state *state, uint32_t node, bool add,
                      const char *why, int64_t now);

/* Note that the autoscaler will not add the nodes of the template that it is
 * asked for. */
void state_scale_refused(struct state *state, const char *name, const char *why,
                         int64_t now);

/* Whether an autoscaler adds and removes the nodes of the template with this
 * number. If so, sets *ret to the stand-ins that it needs. */
bool state_scale_standins(const struct state *state, size_t number,
                          struct run_standin *ret);

/* Returns the template of the node, or NULL. */
const struct conf_scale *state_scale_of(const struct state *state,
                                        uint32_t node);

/* Returns why adding nodes of the node's template failed last; NULL if it has
 * not failed, or if a job has used an added node since. */
const char *state_scale_trouble(const struct state *state, uint32_t node);

/* --- for this folder ---------------------------------------------------- */

/* Load what the store has about a node. */
void scale_load(struct state *state, uint32_t node, enum node_want want,
                int64_t at);

/* Assign the nodes to the templates of a new configuration. */
void scale_reconf(struct state *state);

/* Returns the report about the node to use in place of the runner's: `info`, or
 * if the node is of a template and not there yet, `ret` with the size that it
 * would have. */
const struct node_info *scale_see(struct state *state, uint32_t node,
                                  const struct node_info *info,
                                  struct node_info *ret);

/* Note that the runner has reported the node: it may be a member of a template,
 * or no longer. */
void scale_match(struct state *state, uint32_t node);

/* Returns the words for constraints that the node's template adds to those that
 * its runner has reported. */
const struct strlist *scale_words(const struct state *state,
                                  const struct node *node);

/* Set what the runner does not report about a node of a template to what the
 * template says. */
void scale_complete(const struct state *state, struct node *node);

/* Returns whether the node exists, was asked for, or could be added. */
enum node_coming scale_coming(const struct node *node);

/* Returns when a node that is not there could be used. */
int64_t scale_ready_at(const struct state *state, const struct node *node,
                       int64_t now);

/* Ask for nodes that the plan needs, and give back nodes that it does not.
 * Lower *wake to the time of the next call. */
void scale_use_plan(struct state *state, const struct snap *snap,
                    const struct plan *plan, int64_t now, int64_t *wake);
void scales_free(struct scale_table *scales);

#endif
