/*
 * quota.h - a limit that the file system sets on a job's temporary folder
 *
 * XFS and ext4 have project quotas: a bound on the blocks that all files with
 * the same project id use together; a write beyond it fails. The temporary
 * folder of a job gets a project of its own, which new files in it inherit.
 *
 * Nobody keeps a list of the ids: one that no file has is free, and the kernel
 * counts the files. So if a shepherd is killed at any time, the folder shows
 * which id it has, and the id is free again when the folder is gone.
 */
#ifndef AISCHEDD_RUN_QUOTA_H
#define AISCHEDD_RUN_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* The ids that jobs get; others are never touched. aischedd.conf(5) tells
 * them. */
#define QUOTA_FIRST UINT32_C(1000000000)
#define QUOTA_IDS   UINT32_C(1000000000)

/* Returns why folders in tmp_dir cannot be limited; NULL: they can. */
const char *quota_lack(const char *tmp_dir);

/*
 * Give the new, empty folder a project of its own and limit it to mib MiB.
 * Returns the project's id, or 0 if the folder cannot be limited. secret: the
 * id is made from it, so that no other user can guess the id. The kernel lets
 * users move their files into any project, and these would use up its limit.
 */
uint32_t quota_open(int fd, uint32_t secret, int64_t mib);
/* Limit the project of quota_open() to another size. */
void quota_limit(int fd, uint32_t id, int64_t mib);
/* Take the limit of the folder's project back, if the project is one of ours,
 * and let any file be moved into the folder, as its removal does. */
void quota_close(int fd);

/* Returns the id to try in round i. */
uint32_t quota_id(uint32_t secret, uint32_t i);
/* Whether a line of /etc/projid (name:id) or /etc/projects (id:path) has
 * the id. */
bool quota_line_has(const char *line, uint32_t id);

#endif
