/*
 * tree.h - remove a folder and everything in it
 *
 * A subfolder that is not empty is first moved up, directly below the folder to
 * be removed. So a tree of any depth needs only two open files, and each folder
 * is moved at most once.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_TREE_H
#define AISCHEDD_RUN_SHEPHERD_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_ALL SIZE_MAX

/*
 * Remove at most this many entries of the folder `name`, and the folder itself
 * if none is left. Never follows a link or enters another mount, even if
 * another user changes the tree meanwhile. Returns true if another call can
 * remove more; false once the folder is gone, or if the rest cannot be removed.
 */
bool tree_remove(int dirfd, const char *name, size_t most);

/* Open a folder without following links or entering another file system. Where
 * openat2() is missing (old kernels) or forbidden (containers), open it without
 * a check for other file systems. Returns a descriptor, or -1. */
int tree_open_beneath(int dirfd, const char *name, int flags);

#endif
