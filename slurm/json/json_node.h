/*
 * json_node.h - nodes as sinfo --json tells them
 */
#ifndef SLURM_JSON_JSON_NODE_H
#define SLURM_JSON_JSON_NODE_H

#include <jansson.h>

/* partitions: all there are. */
json_t *json_node(const json_t *node, const json_t *partitions);

#endif
