/*
 * cron.h - recurring work: its requests, and its runs
 */
#ifndef AISCHEDD_OP_CRON_H
#define AISCHEDD_OP_CRON_H

#include "aischedd/op/op.h"
#include "aischedd/state/life/cron.h"

/* Returns an entry as aictl shows it; with its next times if full is set. */
json_t *cron_json(struct daemon *d, const struct cron_entry *entry, bool full);

/* Append the entry as JSON (see cron_json()) on one line. */
void cron_row(struct daemon *d, const struct cron_entry *entry, bool full,
              struct buf *out);

/* Returns the name of the entry's queue; "": the entry names none, and there is
 * no default queue. */
const char *cron_queue(const struct daemon *d, const struct cron_entry *entry);

/* Returns the next times of a valid rule as [{"time", "unix"}]. */
json_t *cron_next_json(struct daemon *d, const struct cron_rule *rule);

/* Read a rule from {"cron": text, ...}, whose texts are borrowed. Fails with
 * EINVAL and names the field. */
int cron_read_rule(struct cron_rule *ret, json_t *set, struct err *err);

/* Check that a job may recur: its spec must not name a point in time. */
int cron_check_spec(const struct spec *spec, struct err *err);

#endif
