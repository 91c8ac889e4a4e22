/*
 * select.h - options of squeue, scancel and sacct that select jobs
 */
#ifndef SLURM_SELECT_H
#define SLURM_SELECT_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

/* Each list is an array of texts; NULL: not given. */
struct select {
	json_t *ids, *users, *queues, *states, *names, *nodes;
	/* the daemon has no filter for these: select_read() applies them */
	json_t *accounts, *classes, *reservations;
	bool me, all_states;
	/* says that there is no such state of jobs, and exits; NULL: as squeue
	 */
	void (*bad_state)(const char *name);
};

/* The offset of a member, for option tables whose ctx begins with a struct
 * select. */
#define SELECT_AT(member) .offset = offsetof(struct select, member)
opt_set_fn select_add_states, select_add_users;
opt_set_fn select_add_nodes; /* from a list such as "n[0-2],m" */

void select_free(struct select *by);
bool select_has_filter(const struct select *by);

/*
 * Read the selected jobs, with these fields and those that the filters need.
 * Ended jobs are left out unless by->states names their state. The caller owns
 * *ret_rows. Sets *ret_missing to the number of ids that the daemon does not
 * know. Fails as client_call() does.
 */
int select_read(const struct select *by, struct client *client, json_t *fields,
                json_t **ret_rows, size_t *ret_missing, struct err *err);

#endif
