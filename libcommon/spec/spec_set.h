/*
 * spec_set.h - set the fields of a request from options of aisub
 *
 * These are the set functions in the table of aisub's options (spec_opt.c). ctx
 * is a struct submit, and the option's offset is that of a member in it.
 */
#ifndef LIBCOMMON_SPEC_SPEC_SET_H
#define LIBCOMMON_SPEC_SPEC_SET_H

#include "libcommon/opt.h"

opt_set_fn spec_set_text, spec_set_workdir, spec_set_flag, spec_set_int,
    spec_set_nodes, spec_set_nice, spec_set_cpus, spec_set_mib, spec_set_gpus,
    spec_set_gpus_per_task, spec_set_gres, spec_set_time_limit, spec_set_grace,
    spec_set_moment, spec_set_signal, spec_set_array, spec_set_no_requeue,
    spec_set_labels, spec_set_ports, spec_set_device, spec_set_yes,
    spec_set_open_mode, spec_set_launch, spec_set_export, spec_set_mail_types;

/* An option of recurring work. */
opt_set_fn spec_set_cron;

/* Slurm's --gres-flags; the offset is that of spec.numa. */
opt_set_fn spec_set_gres_flags;

/* For options that are accepted but have no effect. */
opt_set_fn spec_set_ignored;

#endif
