/* mig.c - partitions of GPUs: which profiles a model has, and where each fits
 */
#include "libcommon/mig.h"

#include <string.h>

#include "libcommon/buf.h"

#define ON(model) (1 << MIG_##model)

/*
 * X(name, units, starts, units of its models, models), as the vendor's driver
 * lists them. The profile 1g.10gb of a100-40 is left out: it takes two units of
 * that model, but a profile of the same name takes one unit of other models.
 */
#define PROFILES(X)                                         \
	X("1g.5gb", 1, 0x7f, 8, ON(A100_40))                \
	X("2g.10gb", 2, 0x15, 8, ON(A100_40))               \
	X("3g.20gb", 4, 0x11, 8, ON(A100_40))               \
	X("4g.20gb", 4, 0x01, 8, ON(A100_40))               \
	X("7g.40gb", 8, 0x01, 8, ON(A100_40))               \
	X("1g.10gb", 1, 0x7f, 8, ON(A100_80) | ON(H100_80)) \
	X("1g.20gb", 2, 0x55, 8, ON(A100_80) | ON(H100_80)) \
	X("2g.20gb", 2, 0x15, 8, ON(A100_80) | ON(H100_80)) \
	X("3g.40gb", 4, 0x11, 8, ON(A100_80) | ON(H100_80)) \
	X("4g.40gb", 4, 0x01, 8, ON(A100_80) | ON(H100_80)) \
	X("7g.80gb", 8, 0x01, 8, ON(A100_80) | ON(H100_80)) \
	X("1g.18gb", 1, 0x7f, 8, ON(H200_141))              \
	X("1g.35gb", 2, 0x55, 8, ON(H200_141))              \
	X("2g.35gb", 2, 0x15, 8, ON(H200_141))              \
	X("3g.71gb", 4, 0x11, 8, ON(H200_141))              \
	X("4g.71gb", 4, 0x01, 8, ON(H200_141))              \
	X("7g.141gb", 8, 0x01, 8, ON(H200_141))             \
	X("1g.6gb", 1, 0x0f, 4, ON(A30))                    \
	X("2g.12gb", 2, 0x05, 4, ON(A30))                   \
	X("4g.24gb", 4, 0x01, 4, ON(A30))

const struct mig_profile mig_profile[] = { { "none", 0, 0, 1, 0 },
#define X(name, units, starts, all, models) \
	{ name, units, starts, all, models },
	                                   PROFILES(X)
#undef X
};

const char *const mig_profile_name[] = { "none",
#define X(name, units, starts, all, models) name,
	                                 PROFILES(X)
#undef X
	                                     NULL };

const char *const mig_model_name[] = {
#define X(symbol, name, units, gb) name,
	MIG_MODELS(X)
#undef X
	    NULL
};

uint8_t mig_nprofiles(void)
{
	return sizeof(mig_profile) / sizeof(mig_profile[0]);
}

static uint8_t find(const char *const *names, const char *name)
{
	for (uint8_t i = 1; name && names[i]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return 0;
}

uint8_t mig_find(const char *name)
{
	/* Look at the form first, which is faster than comparing the type with
	 * all names: snapshots call this for each request. */
	return mig_is_name(name) ? find(mig_profile_name, name) : 0;
}

uint8_t mig_find_model(const char *name)
{
	return find(mig_model_name, name);
}

bool mig_is_name(const char *type)
{
	size_t n;

	if (!type || *type < '1' || *type > '7' || strncmp(type + 1, "g.", 2))
		return false;
	n = strspn(type + 3, "0123456789");
	return n && !strncmp(type + 3 + n, "gb", 2) &&
	       (!type[3 + n + 2] || type[3 + n + 2] == '+');
}

uint8_t mig_units(uint8_t model)
{
	static const uint8_t units[] = {
#define X(symbol, name, n, gb) n,
		MIG_MODELS(X)
#undef X
	};

	return units[model];
}

bool mig_is_of_size(uint8_t model, int64_t mib)
{
	static const int64_t sizes[] = {
#define X(symbol, name, n, gb) gb,
		MIG_MODELS(X)
#undef X
	};
	int64_t gb = sizes[model], has = mib * 1024 * 1024 / 1000000000;

	return has * 10 >= gb * 9 && has * 10 <= gb * 11;
}

uint8_t mig_free_starts(uint8_t profile, uint8_t used)
{
	uint8_t ret = 0;

	for (uint32_t left = mig_profile[profile].starts; left;
	     left &= left - 1) {
		uint32_t start = (uint32_t)__builtin_ctz(left);

		if (!(mig_mask(profile, start) & used))
			ret |= (uint8_t)(1u << start);
	}
	return ret;
}

void mig_put_profiles(struct buf *out, unsigned models)
{
	const char *between = "";

	for (uint8_t i = 1; mig_profile_name[i]; i++) {
		if (!(mig_profile[i].models & models))
			continue;
		buf_puts(out, between);
		buf_puts(out, mig_profile[i].name);
		between = ", ";
	}
}
