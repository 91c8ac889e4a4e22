/*
 * listing_row.h - one row of a listing while it is written
 */
#ifndef AISCHEDD_READ_LISTING_ROW_H
#define AISCHEDD_READ_LISTING_ROW_H

#include "aischedd/read/listing.h"

/* A row being written. Values that several of its fields need are computed once
 * and kept here. */
struct row_view {
	struct buf *out;
	bool json;
	const struct state *state; /* NULL: the row is of an ended job */
	int64_t now;

	const struct job *job;
	struct spec spec;
	struct request req;
	const char *user, *queue;
	uint32_t array_limit;
	/* for each placed task the name of its node */
	char **node;
	uint32_t nnodes; /* number of placed tasks */
	bool explained;
	enum reason why;
	int64_t expected;
	uint32_t position;
	struct buf text;

	uint32_t index; /* index of the node or queue */
	const struct node_left *left;
	const struct share_row *share;
	const struct past_attempt *attempt;
};

typedef void field_fn(struct row_view *v);

struct field {
	const char *name;
	field_fn *write;
	/* JSON rows have this field if the request names no fields */
	bool usual;
};

/* The tables of fields, one for each kind of row; the last entry of each has
 * no name. */
extern const struct field listing_job_fields[], listing_node_fields[],
    listing_queue_fields[], listing_share_fields[], listing_attempt_fields[];

/* Defines a field that consists of one value, as in FIELD(j_uid,
 * put_int, v->job->uid). */
#define FIELD(fn, put, ...)                \
	static void fn(struct row_view *v) \
	{                                  \
		put(v, __VA_ARGS__);       \
	}

/* Write a value, in the form of the row: JSON or text. */
void put_null(struct row_view *v);
void put_int(struct row_view *v, int64_t value);
/* Write a time or an id; the value `none` is written as null. */
void put_int_or(struct row_view *v, int64_t value, int64_t none);
void put_text(struct row_view *v, const char *s);
void put_milli(struct row_view *v, int64_t milli);
void put_milli_or(struct row_view *v, int64_t milli, int64_t none);
/* Write a number given in millionths; the value `none` is written as null. */
void put_micro_or(struct row_view *v, int64_t micro, int64_t none);
/* Write the fraction of time, from 0 to 1, in which the GPUs were busy; null if
 * they were measured in less than 90 % of held_ms. */
void put_gpu_util(struct row_view *v, const struct gpu_use *use,
                  int64_t held_ms);
/* Write a quote in JSON, nothing in text. Call it before and after a value that
 * needs no escapes and is written directly to the row. */
void put_quote(struct row_view *v);
void put_buf(struct row_view *v, struct buf *text);
/* Write {"cpus":..,...}; an amount of CONF_NONE is written as null. */
void put_amounts(struct row_view *v, const int64_t amount[RES_N]);
void put_amounts_text(struct row_view *v, const int64_t amount[RES_N]);

#endif
