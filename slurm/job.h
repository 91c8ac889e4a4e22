/*
 * job.h - values of a job as Slurm prints them, made from rows of the daemon's
 * listing `jobs`
 */
#ifndef SLURM_JOB_H
#define SLURM_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "slurm/format.h"

bool job_is_pending(const json_t *row);
bool job_is_over(const json_t *row);
/* Whether squeue shows the job's reason in NODELIST(REASON), instead of its
 * nodes. */
bool job_shows_reason(const json_t *row);
const char *job_reason(const json_t *row);
int64_t job_priority(const json_t *row); /* 0 while it is held */
/* the start or, if the job waits, its expected start; ROW_NONE: not known */
int64_t job_start(const json_t *row);
int64_t job_end(const json_t *row);
/* the highest exit code of the job's steps; 0 if they were not read */
int64_t job_derived(const json_t *row);
int64_t job_cpus(const json_t *row);
/* the tasks that the job asked for, even if they share CPUs: needs tasks and
 * shared_tasks */
int64_t job_tasks(const json_t *row);
int64_t job_mem_mib(const json_t *row); /* of all tasks */
/* Print the job's resources as "cpu=1,mem=100M,node=1,billing=1", those of a
 * step without billing. */
void put_job_tres(const json_t *row, const struct style *style,
                  struct buf *out);
/* Print "100M" or "2G": in the unit of the style, or else in the largest unit
 * that gives a whole number. */
void put_mib(int64_t mib, const struct style *style, struct buf *out);
/* Print "15728K", or the size in the unit of the style, with two decimals
 * unless it is a whole number. */
void put_kib(int64_t kib, const struct style *style, struct buf *out);
/* Print the disk requested on each node, "0" if none is. */
void put_job_tmp(const json_t *row, const struct style *style, struct buf *out);
/* Print the memory requested for each node, or for each CPU if the job
 * requested that. */
void put_job_memory(const json_t *row, const struct style *style,
                    struct buf *out);
/* Print the conditions of --dependency that are not yet met, each followed by
 * "(unfulfilled)", or "(failed)" if it can no longer be met. */
void put_job_dependency(const json_t *row, struct buf *out);
void put_group(int64_t gid, struct buf *out);
/* Print a duration as "[D-]HH:MM:SS". */
void put_clock(int64_t seconds, struct buf *out);
/* Print a time as "2026-11-22T12:00:00", or in the format of
 * $SLURM_TIME_FORMAT; ROW_NONE: print nothing. */
void put_moment(int64_t time, struct buf *out);

#endif
