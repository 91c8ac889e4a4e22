/*
 * filter_opt.h - options that choose jobs, the same in aiq and aicancel
 *
 * Set functions for tables of options; the offset is that of a json_t * which
 * is NULL until something was given, then an array of strings as requests
 * take it.  Several options and commas add up.
 */
#ifndef LIBCOMMON_FILTER_OPT_H
#define LIBCOMMON_FILTER_OPT_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

opt_set_fn opt_add_items; /* "alice,bob" */
opt_set_fn
    opt_add_states; /* "RUNNING,pd" as full names; "all" is every state */

/*
 * Check that there is a user of each name: this machine knows the name, or
 * the daemon has jobs under it (those of users of a cluster, or, with
 * history, of accounts that were deleted).  users may be NULL.
 * Fails: ENOENT, names the first that is unknown; as client_call().
 */
int filter_check_users(struct client *client, const json_t *users, bool history,
                       struct err *err);

#endif
