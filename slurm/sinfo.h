/*
 * sinfo.h - what the files of sinfo share: partitions, and groups of nodes
 *
 * A row of sinfo is a group of nodes that are alike in all that is shown. It
 * has the keys of the first of these nodes and of its partition, and "nodes":
 * all of them.
 */
#ifndef SLURM_SINFO_H
#define SLURM_SINFO_H

#include "slurm/format.h"

enum { OF_SINFO = 1 };

/* Fields of -o and -O; ends with a field without a header. */
extern const struct slurm_field node_fields[];

/* Whether the field describes all nodes of a group together; nodes with
 * different values then share a row. */
bool node_field_gathers(const struct slurm_field *field);
/* Whether the field is one of partitions; each partition then has rows of its
 * own. */
bool node_field_is_of_partition(const struct slurm_field *field);

/* Read the queues that take jobs, as partitions with their keys, and all nodes.
 * The caller owns both. Fails as client_call() does. */
struct client;
int partitions_read(struct client *client, json_t **ret_partitions,
                    json_t **ret_nodes, struct err *err);

/* Whether the node is in the partition. */
bool partition_has(const json_t *partition, const json_t *node);

/* Returns "idle", "mixed", "drained"; short: "idle", "mix", "drain". */
const char *node_state(const json_t *node, bool is_short);

/* "gpu:a100:2"; nothing if it has none. */
void put_node_gres(const json_t *node, struct buf *out);

#endif
