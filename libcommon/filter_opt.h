/*
 * filter_opt.h - options that choose jobs, the same in aiq and aicancel
 *
 * Set functions for tables of options; the offset is that of a json_t * which
 * is NULL until something was given, then an array of strings as requests
 * take it.  Several options and commas add up.
 */
#ifndef LIBCOMMON_FILTER_OPT_H
#define LIBCOMMON_FILTER_OPT_H

#include "libcommon/err.h"
#include "libcommon/opt.h"

opt_set_fn opt_add_items; /* "alice,bob" */
opt_set_fn
    opt_add_states; /* "RUNNING,pd" as full names; "all" is every state */

#endif
