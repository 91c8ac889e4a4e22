/*
 * limits.h - bounds of everything that a peer can make the daemon hold
 *
 * Each bound has a test. If a bound can be configured, the value here is the
 * default or the ceiling of the key, as its comment says.
 */
#ifndef LIBCOMMON_LIMITS_H
#define LIBCOMMON_LIMITS_H

enum {
	LIMIT_TEXT = 4096,      /* bytes of one text in a request */
	LIMIT_ARGS = 64 * 1024, /* bytes of all script arguments, as JSON */
	LIMIT_TASKS = 65536,    /* tasks of one job */
	LIMIT_ARRAY = 1000001,  /* tasks of one array; highest index + 1 */
	LIMIT_DEPS = 1024,      /* jobs named by one dependency */
	LIMIT_HOSTS = 65536,    /* names in one hostlist */
	LIMIT_BULK = 10000,     /* jobs in one submit request */
	LIMIT_PAGE = 10000,     /* rows of one page of a listing */
	LIMIT_IDS = 10000,      /* job ids named by one request */
	LIMIT_CRED = 4096,      /* bytes of a MUNGE credential */
	LIMIT_JSON = 8 << 20,   /* bytes of JSON in one frame */
	LIMIT_RAW = 64 << 20,   /* bytes of a frame behind its JSON (ceiling) */
	LIMIT_SCRIPT = 4 << 20, /* bytes of a script (default) */
	LIMIT_SCRIPT_MAX = 32 << 20, /* ceiling of max_script_size */
	LIMIT_ENV = 2 << 20,         /* bytes of an environment */
	LIMIT_BARE = 256, /* bytes of a request without a credential */
	/* JSON values in a request; a list counts as four */
	LIMIT_VALUES = 65536,
	LIMIT_VALUES_SUBMIT = 1 << 18, /* in a request to submit jobs */
	LIMIT_CONNS = 1024,            /* connections of users at a time */
	LIMIT_CONNS_USER = 256,        /* connections of one user */
	LIMIT_ASKS_USER = 256, /* requests of one user being processed, besides
	                          one for each connection */
	LIMIT_CONNS_KEPT = 64, /* connections kept for root and admins */
	LIMIT_STRANGERS = 256, /* connections of peers not authenticated yet,
	                          on Unix sockets, and as many over TCP */
	LIMIT_NODES = 65536,
	LIMIT_GPUS = 64,    /* on one node */
	LIMIT_DEVICES = 64, /* on one node, of which jobs get particular ones */
	LIMIT_CPUS = 65535, /* on one node */
	LIMIT_SOCKETS = 32, /* NUMA nodes of a node */
	LIMIT_LEVELS = 16,  /* of the topology */
	LIMIT_QUEUES = 4096,
	LIMIT_POOLS = 64,
	LIMIT_NAMESPACES = 64, /* of one pool */
	LIMIT_RESERVATIONS = 256,
	LIMIT_LOGS = 256,     /* outputs of jobs being read */
	LIMIT_LOGS_USER = 64, /* outputs being read by one user */
	/* commands in jobs of clusters, and connections to ports of jobs */
	LIMIT_RELAYS = 64,
	LIMIT_RELAYS_KEPT = 8,  /* of these, kept for root and admins */
	LIMIT_RELAYS_USER = 16, /* of one user */
	LIMIT_EVICTIONS = 60,   /* of one job in an hour */
};

#endif
