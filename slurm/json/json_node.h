/*
 * json_node.h - nodes as sinfo --json prints them
 */
#ifndef SLURM_JSON_JSON_NODE_H
#define SLURM_JSON_JSON_NODE_H

#include <jansson.h>

/* Returns a node as an object. `partitions` has all partitions of the cluster;
 * the node is printed with its own. */
json_t *json_node(const json_t *node, const json_t *partitions);

#endif
