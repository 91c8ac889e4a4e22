/*
 * sinfo.h - what the files of sinfo share: partitions, and groups of nodes
 *
 * A row of sinfo is a group of nodes that are alike in what is shown: the
 * first of them, with the keys of its partition, and "nodes": all of them.
 */
#ifndef SLURM_SINFO_H
#define SLURM_SINFO_H

#include "slurm/format.h"

enum { OF_SINFO = 1 };

/* Fields of -o and -O; ends with a field without a header. */
extern const struct slurm_field node_fields[];

/* Whether the value is one of all nodes of a group together, so that nodes with
 * different values stay together. */
bool node_field_gathers(const struct slurm_field *field);
/* Whether it is of the partition, so that each of them has rows. */
bool node_field_is_of_partition(const struct slurm_field *field);

/* Read all queues that jobs can be in as partitions with their keys, and all
 * nodes.  Owns: both.  Fails as client_call() does. */
struct client;
int partitions_read(struct client *client, json_t **ret_partitions,
                    json_t **ret_nodes, struct err *err);

/* Whether the node is one of the partition's. */
bool partition_has(const json_t *partition, const json_t *node);

/* "idle", "mixed", "drained": of a node; short: "idle", "mix", "drain". */
const char *node_state(const json_t *node, bool is_short);

/* "gpu:a100:2"; nothing if it has none. */
void put_node_gres(const json_t *node, struct buf *out);

#endif
