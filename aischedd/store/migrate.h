/*
 * migrate.h - bring a database to this program's schema
 */
#ifndef AISCHEDD_STORE_MIGRATE_H
#define AISCHEDD_STORE_MIGRATE_H

#include "aischedd/store/db.h"

/* Run the missing steps, each a transaction of its own. Fails with EINVAL, and
 * changes nothing, if the database is not ours or newer; else as db_exec(). */
int store_migrate(struct db *db, struct err *err);

#endif
