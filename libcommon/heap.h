/*
 * heap.h - binary heaps of items of any type, stored in any way
 *
 * HEAP(NAME, ITEM, OF, AT, BEFORE, PUT) defines two functions:
 *
 *	NAME_rise(of, i, item)     put item at place i or nearer to the root
 *	NAME_sink(of, n, i, item)  put item at place i or further from the
 *	                           root, in a heap of n items
 *
 * OF is the type of the argument `of`, which identifies the heap to the other
 * macros. AT(of, i) is the item at place i, PUT(of, i, item) writes it there,
 * and BEFORE(of, a, b) tells whether item a must be nearer to the root than b;
 * each may be a function or a macro. Place 0 is the root.
 */
#ifndef LIBCOMMON_HEAP_H
#define LIBCOMMON_HEAP_H

#include <stddef.h>

#define HEAP(NAME, ITEM, OF, AT, BEFORE, PUT)                         \
	__attribute__((unused)) static inline void NAME##_rise(       \
	    OF of, size_t i, ITEM item)                               \
	{                                                             \
		for (; i && BEFORE(of, item, AT(of, (i - 1) / 2));    \
		     i = (i - 1) / 2)                                 \
			PUT(of, i, AT(of, (i - 1) / 2));              \
		PUT(of, i, item);                                     \
	}                                                             \
	__attribute__((unused)) static inline void NAME##_sink(       \
	    OF of, size_t n, size_t i, ITEM item)                     \
	{                                                             \
		for (size_t kid; (kid = 2 * i + 1) < n; i = kid) {    \
			if (kid + 1 < n &&                            \
			    BEFORE(of, AT(of, kid + 1), AT(of, kid))) \
				kid++;                                \
			if (!BEFORE(of, AT(of, kid), item))           \
				break;                                \
			PUT(of, i, AT(of, kid));                      \
		}                                                     \
		PUT(of, i, item);                                     \
	}

#endif
