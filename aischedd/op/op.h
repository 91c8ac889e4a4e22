/*
 * op.h - one function for each kind of request (libcommon/msg.h)
 *
 * The function checks the request, changes the state and leaves an answer for
 * after the commit (daemon_answer()), or answers at once if nothing changed. It
 * returns -1 with *err set if the request is refused; then nothing has changed.
 */
#ifndef AISCHEDD_OP_OP_H
#define AISCHEDD_OP_OP_H

#include "aischedd/daemon.h"

typedef int op_fn(struct daemon *d, struct ask *ask,
                  const struct request_in *in, struct err *err);

op_fn op_submit;                                 /* submit.c */
op_fn op_mass;                                   /* mass.c */
op_fn op_wait;                                   /* wait.c */
op_fn op_drain, op_queue;                        /* node.c */
op_fn op_reserve, op_unreserve, op_reservations; /* reserve.c */
op_fn op_list;                                   /* aischedd/read/read.c */
op_fn op_dump;                                   /* aischedd/read/dump.c */
op_fn op_log;                                    /* log.c */
op_fn op_script;                                 /* script.c */
op_fn op_web, op_session;                        /* web.c */
op_fn op_excerpt;                                /* excerpt.c */
op_fn op_crons, op_cron, op_cron_file;           /* cron.c, cron_file.c */
op_fn op_audit;                                  /* audit.c */
op_fn op_steps;                                  /* steps.c */
op_fn op_step, op_exec;                          /* step.c */
op_fn op_forward, op_relay, op_relay_input;      /* step.c */
op_fn op_accounting;                             /* accounting.c */
op_fn op_history;                                /* history.c */
op_fn op_report;                                 /* aischedd/read/report.c */
op_fn op_alloc;                                  /* alloc.c */

#endif
