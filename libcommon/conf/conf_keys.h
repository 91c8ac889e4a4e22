/*
 * conf_keys.h - the tables of all keys of the configuration
 *
 * Each key has one row. The options of the parser (conf_read.c), defaults and
 * checks of values (conf_value.c), --print-config (conf_print.c) and
 * conf_key_names() are made from these tables.
 */
#ifndef LIBCOMMON_CONF_CONF_KEYS_H
#define LIBCOMMON_CONF_CONF_KEYS_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

/* Maximum for numbers of jobs, licences and the like. */
#define KEY_MAX_COUNT 1000000000

enum key_kind {
	KEY_TEXT,  /* const char *; "" means not given */
	KEY_LIST,  /* struct strlist */
	KEY_INT,   /* int64_t, as are all kinds down to KEY_UNTIL */
	KEY_MILLI, /* thousandths */
	KEY_MICRO, /* millionths */
	KEY_MIB,   /* size in MiB */
	KEY_BYTES, /* size in bytes */
	KEY_TIME,  /* seconds */
	KEY_UNTIL, /* seconds or CONF_UNLIMITED */
	KEY_BOOL,  /* bool; `words`, if any, are its names for false and true */
	KEY_WORD,  /* an enum; `words` are in its order */
	KEY_POOL,  /* int: index of the pool */
	KEY_POOLS, /* uint64_t: bit i is pool i */
	KEY_PARENT, /* int: index of a queue; conf_queues.c sets it */
	KEY_GROUP,  /* section whose keys are members of the same struct */
	KEY_TITLED, /* sections with titles, each a struct of an array; the
	               first member is the name */
	KEY_FREE,   /* section whose keys are any names: licenses */
};

struct conf_key {
	const char *name;
	enum key_kind kind;
	/* Offset of the value in the struct of its section. The offset of a
	 * group is added to those of its keys. */
	size_t offset;
	const char *initial; /* default, written as in a file; NULL: none */
	int64_t min, max;    /* range of numbers */
	const char *const *words; /* names of values, then NULL */
	int (*check)(const char *text,
	             struct err *err); /* checks each text; may be NULL */
	bool special;   /* applies to some sections only: print it only if it is
	                   not the default */
	bool inherited; /* key of a queue that is inherited from its parent if
	                   not given */
	const struct conf_key_table *table; /* keys of the section, or NULL */
};

struct conf_key_table {
	const struct conf_key *key;
	size_t n;
	size_t size; /* size of the struct that the keys fill */
};

/* Returns the keys of a top-level section ("queue"), or of the top level itself
 * if section is NULL. */
const struct conf_key_table *conf_keys_of(const char *section);

/* Returns the built-in class of this name, or NULL. */
const struct conf_class *conf_standard_class(const char *name);

/* Check a name of a cluster, queue, pool, class or licence. Fails with
 * EINVAL. */
int conf_check_name(const char *name, struct err *err);
int conf_check_node_name(const char *name, struct err *err);

/*
 * Set a key's member of the struct `base` from n values as written: one, or any
 * number for lists. If the key refers to pools, conf must already have them.
 * Fails with EINVAL, and the text quotes the value.
 */
int key_set(const struct conf_key *key, void *base, const char *const *value,
            size_t n, const struct conf *conf, struct arena *arena,
            struct err *err);

/* Set the members of all keys of a table to their defaults: CONF_NONE, NULL or
 * empty for keys that have no default. */
void key_set_defaults(const struct conf_key_table *table, void *base,
                      const struct conf *conf, struct arena *arena);

/* Copy a key's member from another struct of the same type. */
void key_copy(const struct conf_key *key, void *base, const void *other);

/* Append a value in the form that key_set() takes. Returns false, and appends
 * nothing, if the key is not given. */
bool key_format(const struct conf_key *key, const void *base,
                const struct conf *conf, struct buf *out);

#endif
