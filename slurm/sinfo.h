/*
 * sinfo.h - what the files of sinfo share: partitions, and groups of nodes
 *
 * A row of sinfo is a group of nodes that have equal values in all columns. It
 * has the keys of the first of these nodes and of its partition, and "nodes",
 * an array of all of them.
 */
#ifndef SLURM_SINFO_H
#define SLURM_SINFO_H

#include "slurm/format.h"

enum { OF_SINFO = 1 };

/* Fields of -o and -O; ends with a field without a header. */
extern const struct slurm_field node_fields[];

/* Whether the field is computed from all nodes of a group, so that nodes with
 * different values share a row. */
bool node_field_gathers(const struct slurm_field *field);
/* Whether the field belongs to the partition, so that each partition has rows
 * of its own. */
bool node_field_is_of_partition(const struct slurm_field *field);

/* Read all nodes, and as partitions the queues that take jobs. The caller owns
 * both arrays. Fails as client_call() does. */
struct client;
int partitions_read(struct client *client, json_t **ret_partitions,
                    json_t **ret_nodes, struct err *err);

/* Whether the node is in the partition. */
bool partition_has(const json_t *partition, const json_t *node);

/* Returns the state, such as "idle", "mixed" or "drained"; if is_short, its
 * short form "idle", "mix" or "drain". */
const char *node_state(const json_t *node, bool is_short);

/* Print the GPUs as "gpu:a100:2"; nothing if the node has none. */
void put_node_gres(const json_t *node, struct buf *out);

#endif
