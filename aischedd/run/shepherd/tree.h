/*
 * tree.h - remove a folder with all that is in it
 */
#ifndef AISCHEDD_RUN_SHEPHERD_TREE_H
#define AISCHEDD_RUN_SHEPHERD_TREE_H

/*
 * Never follows a link, also when another user changes the tree meanwhile.
 * What cannot be removed stays.
 */
void tree_remove(int dirfd, const char *name);

#endif
