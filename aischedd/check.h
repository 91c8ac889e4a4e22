/*
 * check.h - warn if the configuration does not match this machine
 *
 * A valid configuration can still lock users out or have no effect: a group
 * does not exist, a node is another machine, or a node has fewer CPUs than
 * configured.
 */
#ifndef AISCHEDD_CHECK_H
#define AISCHEDD_CHECK_H

#include "libcommon/buf.h"
#include "libcommon/conf/conf.h"

/* Append the warnings, one in each line. Asks the name service, for at most
 * two seconds. */
void check_conf(const struct conf *conf, struct buf *warnings);

#endif
