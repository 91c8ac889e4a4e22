/*
 * job.h - values of a job in Slurm's words, made from rows of `jobs`
 */
#ifndef SLURM_JOB_H
#define SLURM_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "slurm/format.h"

bool job_is_pending(const json_t *row);
bool job_is_over(const json_t *row);
/* Whether the job shows its reason where others show their nodes. */
bool job_shows_reason(const json_t *row);
const char *job_reason(const json_t *row);
int64_t job_priority(const json_t *row); /* 0 while it is held */
/* also of a planned start; ROW_NONE: not known */
int64_t job_start(const json_t *row);
int64_t job_end(const json_t *row);
int64_t job_cpus(const json_t *row);
int64_t job_mem_mib(const json_t *row); /* of all tasks */
/* "cpu=1,mem=100M,node=1,billing=1" */
void put_job_tres(const json_t *row, const struct style *style,
                  struct buf *out);
/* "100M", "2G": the largest unit of which it is a whole number. */
void put_mib(int64_t mib, const struct style *style, struct buf *out);
/* "15728K", or in the unit asked for, with two decimals unless it is a whole
 * number. */
void put_kib(int64_t kib, const struct style *style, struct buf *out);
/* Print the requested memory of a node, or of a CPU if that was asked for. */
void put_job_memory(const json_t *row, const struct style *style,
                    struct buf *out);
void put_group(int64_t gid, struct buf *out);
/* "[1-02:]03:04:05" */
void put_clock(int64_t seconds, struct buf *out);
/* "2026-11-22T12:00:00", or as $SLURM_TIME_FORMAT says; ROW_NONE: nothing. */
void put_moment(int64_t time, struct buf *out);

#endif
