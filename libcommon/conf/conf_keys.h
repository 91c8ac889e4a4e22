/*
 * conf_keys.h - the tables of all keys of the configuration
 *
 * One row a key gives the option of the parser (conf_read.c), the default and
 * check of a value (conf_keys.c), --print-config (conf_print.c), and
 * conf_key_names().
 */
#ifndef LIBCOMMON_CONF_CONF_KEYS_H
#define LIBCOMMON_CONF_CONF_KEYS_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

#define KEY_MAX_COUNT 1000000000 /* for jobs, licences and the like */

enum key_kind {
	KEY_TEXT,   /* const char *; "" means not given */
	KEY_LIST,   /* struct strlist */
	KEY_INT,    /* int64_t, like all below up to KEY_UNTIL */
	KEY_MILLI,  /* thousandths */
	KEY_MICRO,  /* millionths */
	KEY_MIB,    /* size in MiB */
	KEY_BYTES,  /* size in bytes */
	KEY_TIME,   /* seconds */
	KEY_UNTIL,  /* seconds or CONF_UNLIMITED */
	KEY_BOOL,   /* bool; words: names of false and true, if it has any */
	KEY_WORD,   /* an enum; words in its order */
	KEY_POOL,   /* int: index of the pool */
	KEY_POOLS,  /* uint64_t: set of pools */
	KEY_PARENT, /* int: index of the queue; conf.c sets it */
	KEY_GROUP,  /* section whose keys are members of the same struct */
	KEY_TITLED, /* sections with titles: array of structs, name first */
	KEY_FREE,   /* section whose keys are names: licenses */
};

struct conf_key {
	const char *name;
	enum key_kind kind;
	/* of the member; of a group, added to those of its keys */
	size_t offset;
	const char *initial; /* default, as written in a file; NULL: none */
	int64_t min, max;    /* of numbers */
	const char *const *words; /* ends with NULL */
	int (*check)(const char *text,
	             struct err *err); /* check of each text */
	bool special;   /* for some sections only: printed if not the default */
	bool inherited; /* of a queue: inherited from its parent if not given */
	const struct conf_key_table *table; /* the keys of a section; or NULL */
};

struct conf_key_table {
	const struct conf_key *key;
	size_t n;
	size_t size; /* of the struct */
};

/* Returns the keys of a section of the top level ("queue"); NULL: those of the
 * top. */
const struct conf_key_table *conf_keys_of(const char *section);

/* Returns a class as it is without configuration, or NULL. */
const struct conf_class *conf_standard_class(const char *name);

/* Check a name of a cluster, queue, pool, class or licence. Fails with
 * EINVAL. */
int conf_check_name(const char *name, struct err *err);
int conf_check_node_name(const char *name, struct err *err);

/*
 * Set the member of base from values as written (one, or any number for lists).
 * conf must have the pools if a key refers to them. Fails with EINVAL and names
 * the value.
 */
int key_set(const struct conf_key *key, void *base, const char *const *value,
            size_t n, const struct conf *conf, struct arena *arena,
            struct err *err);

/* Set all members of a table to their defaults; without default to CONF_NONE,
 * NULL or empty. */
void key_set_defaults(const struct conf_key_table *table, void *base,
                      const struct conf *conf, struct arena *arena);

/* Copy the member from another struct of the same kind. */
void key_copy(const struct conf_key *key, void *base, const void *other);

/* Append the value in the form that key_set() takes; returns false, and adds
 * nothing, if it is not given. */
bool key_format(const struct conf_key *key, const void *base,
                const struct conf *conf, struct buf *out);

#endif
