/*
 * filter_opt.h - options of aiq and aicancel that select jobs
 *
 * The set functions of these options collect strings in a JSON array, in the
 * form that requests have. The array is a json_t * at the option's offset, NULL
 * if the option is not given. An option may be repeated, and may have several
 * strings separated by commas.
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
 * Check that each name is that of a user: an account of this machine, or a name
 * under which the daemon has jobs (of users of a cluster or, with history, of
 * deleted accounts). users may be NULL. Fails with ENOENT, naming the first
 * unknown user, or like client_call().
 */
int filter_check_users(struct client *client, const json_t *users, bool history,
                       struct err *err);

#endif
