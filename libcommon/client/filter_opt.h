/*
 * filter_opt.h - options of aiq and aicancel that select jobs
 *
 * Set functions for tables of options; the offset is that of a json_t * which
 * is NULL until something is given, then an array of strings as requests take
 * it. Several options, and values between commas, add up.
 */
#ifndef LIBCOMMON_CLIENT_FILTER_OPT_H
#define LIBCOMMON_CLIENT_FILTER_OPT_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/client/client.h"
#include "libcommon/err.h"
#include "libcommon/opt.h"

opt_set_fn opt_add_items;  /* "alice,bob" */
opt_set_fn opt_add_states; /* accepts "RUNNING,pd", stores full names; "all" is
                              every state */

/*
 * Check that there is a user of each name: this machine knows the name, or the
 * daemon has jobs under it (those of users of a cluster, or, with history, of
 * deleted accounts). users may be NULL. Fails with ENOENT and names the first
 * unknown one; or as client_call().
 */
int filter_check_users(struct client *client, const json_t *users, bool history,
                       struct err *err);

#endif
