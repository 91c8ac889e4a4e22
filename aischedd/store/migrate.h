/*
 * migrate.h - bring a database to this program's schema
 */
#ifndef AISCHEDD_STORE_MIGRATE_H
#define AISCHEDD_STORE_MIGRATE_H

#include "aischedd/store/db.h"

/* Run the steps of the schema that the database lacks, each in a transaction of
 * its own. Fails with EINVAL, and changes nothing, if it is not a database of
 * aischedd or is newer than this program; otherwise fails like db_exec(). */
int store_migrate(struct db *db, struct err *err);

#endif
