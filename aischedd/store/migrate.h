/*
 * migrate.h - bring a database to this program's schema
 */
#ifndef AISCHEDD_STORE_MIGRATE_H
#define AISCHEDD_STORE_MIGRATE_H

#include "aischedd/store/db.h"

/* Each step is a transaction of its own.  Fails: EINVAL not ours or newer,
 * nothing is changed then; else as db_exec(). */
int store_migrate(struct db *db, struct err *err);

#endif
