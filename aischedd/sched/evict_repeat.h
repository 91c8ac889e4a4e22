/*
 * evict_repeat.h - whether somebody who waits may take from those who start
 *
 * What starts or grows in a pass is nobody's victim in it; but who was refused
 * before may take from it by the rules (man aischedd.conf, "Who may take from
 * whom"): it brought its queue above its share, or it returns after it was
 * moved.  Nothing else need happen for that, so another pass is due at once.
 * It finds less to start, so there is an end.
 */
#ifndef AISCHEDD_SCHED_EVICT_REPEAT_H
#define AISCHEDD_SCHED_EVICT_REPEAT_H

#include "aischedd/sched/pass.h"

/* When all had their turn. */
bool again_is_due(const struct pass *p);

#endif
